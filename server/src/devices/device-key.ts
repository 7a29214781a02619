import { createHash, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { thumbprintText } from '@sallyport/protocol/thumbprint'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { ServiceError } from '../platform/errors.ts'

/** The key as stored. The schema has checked its members; this checks that it is a point on the curve. */
export function readDeviceKey({ kty, crv, x, y }: DeviceKey): DeviceKey {
  const key: DeviceKey = { kty, crv, x, y }
  try {
    toKeyObject(key)
  } catch (cause) {
    const message = '"public_key_jwk" is not a point on the P-256 curve.'
    throw new ServiceError('invalid_field', { field: 'public_key_jwk', message, cause })
  }
  return key
}

export function toKeyObject(key: DeviceKey): KeyObject {
  return createPublicKey({ key: { ...key }, format: 'jwk' })
}

export function thumbprintOf(key: DeviceKey): string {
  return createHash('sha256').update(thumbprintText(key)).digest('base64url')
}
