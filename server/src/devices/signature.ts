/**
 * Parses a device's signature strictly: two DER integers, in base64url without padding. A lenient parser would accept
 * several encodings of one signature.
 */
import { verify } from 'node:crypto'
import { toP1363 } from '@sallyport/protocol/ecdsa-signature'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { ServiceError } from '../platform/errors.ts'
import { toKeyObject } from './device-key.ts'

/** The order of P-256: both integers have to be smaller. `toP1363` rejects zero. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

export function readSignature(text: string): Buffer {
  const der = Buffer.from(text, 'base64url')
  if (der.toString('base64url') !== text || !isSignature(der)) {
    const message = '"signature" must be a DER-encoded ECDSA signature in base64url without padding.'
    throw new ServiceError('invalid_field', { field: 'signature', message })
  }
  return der
}

export function isSignedBy(key: DeviceKey, message: string, signature: Buffer): boolean {
  return verify('sha256', Buffer.from(message), { key: toKeyObject(key), dsaEncoding: 'der' }, signature)
}

/** RFC 3279 §2.2.3, in DER, with both integers in range. */
function isSignature(der: Buffer): boolean {
  const pair = toP1363(der)
  return pair !== undefined && isBelowOrder(pair.subarray(0, 32)) && isBelowOrder(pair.subarray(32))
}

function isBelowOrder(bytes: Uint8Array): boolean {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`) < order
}
