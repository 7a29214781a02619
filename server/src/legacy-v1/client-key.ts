/** A client's public key: one form for every way of writing it, so that a fingerprint names one key. */
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

/** `field`: the member that it came in. */
export async function readClientKey(pem: string, field: string): Promise<ClientKey> {
  const key = pemForm.test(pem) ? parsed(pem.trim()) : undefined
  if (!key || !isTaken(key)) throw new ServiceError('invalid_public_key', { field })
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

/** Large exponents and moduli cost whoever encrypts to them more than a call is worth; small ones protect nothing. */
function isTaken(key: KeyObject): boolean {
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

/** An even modulus is no product of two primes, and nothing can be encrypted with it. */
function isOdd(key: KeyObject): boolean {
  const modulus = Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url')
  return (modulus.at(-1) ?? 0) % 2 === 1
}
