import { Type, type Static } from 'typebox'
import { Strict } from './schema.ts'

/**
 * 32 bytes in base64url. The last character has only four significant bits, so that there is one encoding of the bytes.
 */
const Coordinate = Type.String({
  pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
  description: '32 bytes in base64url without padding',
  // From RFC 7515, appendix A.3.
  examples: ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'],
})

/** A device's public key. Refuses other members, private ones above all. */
export const DeviceKey = Strict(
  { kty: Type.Literal('EC'), crv: Type.Literal('P-256'), x: Coordinate, y: Coordinate },
  { description: 'The public key of the device as a JWK. The private key never leaves the device.' },
)
export type DeviceKey = Static<typeof DeviceKey>
