import { toDer } from '@sallyport/protocol/ecdsa-signature'
import { thumbprintText } from '@sallyport/protocol/thumbprint'
import { toBase64url } from '@sallyport/protocol/v1/base64url'
import type { Key } from '../legacy-v1/keys.ts'
import type { DeviceKey as PublicJwk } from '../wire.ts'

/** A device's key pair: a Web Crypto `CryptoKeyPair` for ECDSA over P-256. */
export interface DeviceKeyPair {
  publicKey: Key
  privateKey: Key
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' }

/**
 * Creates a key. By default the private key can't be exported: a browser can store it in IndexedDB as it is. Where that
 * isn't available, pass `extractable` and store the exported key yourself.
 */
export async function generateDeviceKey({ extractable = false } = {}): Promise<DeviceKeyPair> {
  return crypto.subtle.generateKey(curve, extractable, ['sign', 'verify'])
}

/** The public key as a JWK. */
export async function publicJwkOf({ publicKey }: Pick<DeviceKeyPair, 'publicKey'>): Promise<PublicJwk> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw new TypeError('The device key must be an ECDSA P-256 key.')
  }
  return { kty, crv, x, y }
}

/** The key's thumbprint (RFC 7638), which the service shows to identify it. */
export async function thumbprintOf(key: Pick<DeviceKeyPair, 'publicKey'>): Promise<string> {
  const text = new TextEncoder().encode(thumbprintText(await publicJwkOf(key)))
  return toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', text)))
}

/** Returns the DER signature as base64url. */
export async function signText({ privateKey }: DeviceKeyPair, text: string): Promise<string> {
  const how = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(how, privateKey, new TextEncoder().encode(text))
  return toBase64url(toDer(new Uint8Array(signature)))
}
