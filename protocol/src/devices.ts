import { Type, type Static } from 'typebox'
import { DeviceKey } from './jwk.ts'
import { ListQuery, Page } from './lists.ts'
import { DisplayName, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const platforms = ['ios', 'android', 'web'] as const
export type Platform = (typeof platforms)[number]

export const deviceStatuses = ['active', 'revoked'] as const

export const Device = Type.Object({
  device_id: RecordId('dev'),
  device_name: Nullable(Type.String()),
  platform: Type.Enum(platforms),
  status: Type.Enum(deviceStatuses),
  key: Nullable(
    Type.Object(
      {
        thumbprint: Type.String({ description: 'SHA-256 JWK thumbprint of the public key (RFC 7638)' }),
        enrolled: Type.Boolean({
          description: 'Whether the device can approve; otherwise an enrolled device has to confirm it first',
        }),
      },
      { description: 'null: the device is notified but cannot approve' },
    ),
  ),
  push: Type.Boolean({ description: 'Whether the device has a push token' }),
  created_at: Timestamp,
  last_seen_at: Timestamp,
  revoked_at: Nullable(Timestamp),
})
export type Device = Static<typeof Device>

export const ListDevicesQuery = ListQuery('dev', deviceStatuses)
export type ListDevicesQuery = Static<typeof ListDevicesQuery>
export const DevicePage = Page('devices', Device)
export type DevicePage = Static<typeof DevicePage>

export const PairingCodeReply = Type.Object({
  pairing_code: Type.String({
    description: 'To be entered on the device; works once. Case and the dash do not matter.',
  }),
  expires_at: Timestamp,
  pairing_url: Type.String({ description: 'The authenticator page with the code in the URL fragment' }),
})
export type PairingCodeReply = Static<typeof PairingCodeReply>

export const PairBody = Strict({
  pairing_code: Text({ maxLength: 100 }),
  device_name: Type.Optional(DisplayName({ minLength: 1, maxLength: 200 })),
  platform: Type.Optional(Type.Enum(platforms, { default: 'ios' })),
  public_key_jwk: Type.Optional(DeviceKey),
})
export type PairBody = Static<typeof PairBody>

export const PairReply = Type.Object({
  device: Device,
  session_token: Type.String({ description: "The device's own session token. It is shown only once." }),
  vapid_public_key: Type.String({ description: "The key for a browser's Web Push subscription" }),
})
export type PairReply = Static<typeof PairReply>

/** The members of a signature, wherever one may be sent: both or neither. */
export const signedMembers = {
  challenge_id: Type.Optional(Text({ maxLength: 100, description: 'The id of the challenge that a device signed' })),
  signature: Type.Optional(
    Text({ maxLength: 200, description: 'ECDSA P-256 with SHA-256 over its signing_input, DER in base64url' }),
  ),
}

/** In receipts: the device that signed, and its key. */
export const SigningDevice = Type.Object({
  device_id: RecordId('dev'),
  public_key_jwk: Type.Object({
    kty: Type.Literal('EC'),
    crv: Type.Literal('P-256'),
    x: Type.String(),
    y: Type.String(),
  }),
})

export const SignedBody = Type.Optional(Strict(signedMembers))
export type SignedBody = Static<typeof SignedBody>

/**
 * `off` turns off "approve on device only". The others remove a device or let a new one decide. None contains a dot.
 */
export const DeviceAction = Type.String({
  pattern: '^(?:off|remove:dev_[0-9a-hjkmnp-tv-z]{26}|enrol:[A-Za-z0-9_-]{43})$',
  description:
    'off: approval on a device is no longer required. remove:{device_id}: remove that device. ' +
    'enrol:{thumbprint}: allow the device with that key to approve',
  examples: ['off', 'remove:dev_01k9x3v7qmf5v8t2w4y6z8abcd', 'enrol:oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U'],
})

export const DeviceChallengeBody = Strict({ action: DeviceAction })

export const DeviceChallengeReply = Type.Object({
  challenge_id: RecordId('chl'),
  nonce: Type.String(),
  expires_at: Timestamp,
  signing_input: Type.String({ description: 'The text to sign' }),
})
export type DeviceChallengeReply = Static<typeof DeviceChallengeReply>
