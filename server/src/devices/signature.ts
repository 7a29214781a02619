/**
 * Reads a device's signature in the one form that it may have: DER of two integers, in base64url without padding.
 * Parsers that forgive let several texts pass for one signature; this one takes exactly what a signer writes.
 */
import { verify } from 'node:crypto'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { ServiceError } from '../platform/errors.ts'
import { toKeyObject } from './device-key.ts'

/** How many points the curve P-256 has: both integers lie between 1 and one less. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const sequence = 0x30
const integer = 0x02

export function readSignature(text: string): Buffer {
  const der = Buffer.from(text, 'base64url')
  if (der.toString('base64url') !== text || !isSignature(der)) {
    const message = '"signature" takes an ECDSA signature in DER, as base64url without padding.'
    throw new ServiceError('invalid_field', { field: 'signature', message })
  }
  return der
}

export function isSignedBy(key: DeviceKey, message: string, signature: Buffer): boolean {
  return verify('sha256', Buffer.from(message), { key: toKeyObject(key), dsaEncoding: 'der' }, signature)
}

/** RFC 3279 §2.2.3, in the distinguished encoding: short lengths, no byte more than needed, nothing after the end. */
function isSignature(der: Buffer): boolean {
  if (der[0] !== sequence || der[1] !== der.length - 2) return false
  const r = readInteger(der.subarray(2))
  const s = r && readInteger(r.rest)
  return s !== undefined && s.rest.length === 0
}

function readInteger(bytes: Buffer): { rest: Buffer } | undefined {
  const [tag, length = 0, first = 0, second = 0] = bytes
  if (tag !== integer || length < 1 || length > 33 || bytes.length < 2 + length) return undefined
  const isNegative = first >= 0x80
  const isPadded = first === 0 && length > 1 && second < 0x80
  const value = BigInt(`0x${bytes.subarray(2, 2 + length).toString('hex')}`)
  if (isNegative || isPadded || value < 1n || value >= order) return undefined
  return { rest: bytes.subarray(2 + length) }
}
