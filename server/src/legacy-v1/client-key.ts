/** A client's public key, normalized: however it is encoded, it has one fingerprint. */
import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { publicKeyFingerprint, toPem } from '@sallyport/protocol/v1/public-key'
import { ServiceError } from '../platform/errors.ts'

export interface ClientKey {
  /** SPKI in DER. */
  spki: Uint8Array<ArrayBuffer>
  pem: string
  fingerprint: string
}

const pemForm = /^\s*-----BEGIN (?<kind>(?:RSA )?PUBLIC KEY)-----[A-Za-z0-9+/=\s]+-----END \k<kind>-----\s*$/

/** `field` is the member to name in errors. */
export async function readClientKey(pem: string, field: string): Promise<ClientKey> {
  const key = pemForm.test(pem) ? parsed(pem.trim()) : undefined
  if (!key || !isAccepted(key)) throw new ServiceError('invalid_public_key', { field })
  const spki = new Uint8Array(key.export({ type: 'spki', format: 'der' }))
  return { spki, pem: toPem(spki), fingerprint: await publicKeyFingerprint(spki) }
}

function parsed(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem)
  } catch {
    return undefined
  }
}

/** Encrypting with large exponents and moduli is too expensive; small ones are not secure. */
function isAccepted(key: KeyObject): boolean {
  const { asymmetricKeyType } = key
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return (
    asymmetricKeyType === 'rsa' &&
    modulusLength >= 2048 &&
    modulusLength <= 4096 &&
    modulusLength % 8 === 0 &&
    publicExponent >= 65_537n &&
    publicExponent < 2n ** 32n &&
    publicExponent % 2n === 1n &&
    isOdd(key)
  )
}

/** An even modulus is not the product of two large primes, and encryption with it fails. */
function isOdd(key: KeyObject): boolean {
  const modulus = Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url')
  return (modulus.at(-1) ?? 0) % 2 === 1
}
