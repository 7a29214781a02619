/** Requests and responses of the legacy protocol (v1), which is deprecated: agents use v4. */
import { Type, type Static } from 'typebox'
import { Dictionary, Nullable, Strict, Text, Timestamp } from '../schema.ts'
import { envelopeAlg, envelopeEnc, keyAlgorithm, maxKeyIdLength, version } from './envelope.ts'

const Base64url = (description: string) =>
  Type.String({ description: `${description}, in base64url; padding is optional` })

/** For documentation. `readEnvelope` validates it, with a specific error code for each member. */
export const EnvelopeSchema = Strict(
  {
    v: Type.Literal(version),
    alg: Type.Literal(envelopeAlg),
    enc: Type.Literal(envelopeEnc),
    key_id: Type.Optional(Type.String({ description: 'The id of the key it is encrypted to' })),
    encrypted_key: Base64url('The content key of 32 bytes, encrypted by RSA-OAEP with SHA-256'),
    iv: Base64url('12 bytes'),
    ciphertext: Base64url('The plaintext, a JSON object, encrypted by AES-256-GCM'),
    tag: Base64url('16 bytes'),
    aad: Type.Optional(Base64url('What is authenticated besides: its bytes are the associated data')),
  },
  { description: 'An envelope of the legacy protocol' },
)

const Pem = Text({ maxLength: 8192, description: 'PEM of an RSA public key of 2048 to 4096 bits (SPKI or PKCS#1)' })
const KeyAlgorithm = Type.Optional(Type.Literal(keyAlgorithm, { default: keyAlgorithm }))
const KeyId = Type.Optional(Text({ minLength: 1, maxLength: maxKeyIdLength }))
const Label = Type.Optional(Text({ minLength: 1, maxLength: 200 }))
export const maxClientMetadataBytes = 4096
const Metadata = Type.Optional(
  Dictionary(Type.Unknown(), { description: `Any JSON, up to ${maxClientMetadataBytes} bytes of JSON` }),
)

export const RegisterClientBody = Strict({
  client_public_key: Pem,
  client_key_alg: KeyAlgorithm,
  client_key_id: KeyId,
  client_label: Label,
  metadata: Metadata,
})

export const RefreshBody = Strict({ auth_envelope: EnvelopeSchema })

export const RotateKeyBody = Strict({
  auth_envelope: EnvelopeSchema,
  new_client_public_key: Pem,
  new_client_key_alg: KeyAlgorithm,
  new_client_key_id: KeyId,
  new_client_label: Label,
  metadata: Metadata,
})

export const SaveBody = Strict({ auth_envelope: EnvelopeSchema, data_envelope: EnvelopeSchema })

export const ReadBody = Strict({
  auth_envelope: EnvelopeSchema,
  query_envelope: EnvelopeSchema,
  recipient_public_key: Type.Optional(Pem),
})

const nextChallenge = {
  client_uuid: Type.String(),
  challenge_id: Type.String(),
  challenge_for_client: EnvelopeSchema,
  expires_at: Timestamp,
}

export const PublicKeyReply = Type.Object({
  authai_public_key: Type.String({
    description: 'PEM (SPKI) of the key that envelopes for the service are encrypted to',
  }),
  authai_key_id: Type.String(),
  fingerprint: Type.String({
    description: 'SHA256: followed by the base64url-encoded SHA-256 of the DER-encoded SPKI',
  }),
})
export type PublicKeyReply = Static<typeof PublicKeyReply>

export const RegisterClientReply = Type.Object({
  ...nextChallenge,
  authai_public_key: Type.String(),
  authai_key_id: Type.String(),
})
export type RegisterClientReply = Static<typeof RegisterClientReply>

export const RefreshReply = Type.Object(nextChallenge)
export type RefreshReply = Static<typeof RefreshReply>

export const RotateKeyReply = Type.Object({
  ...nextChallenge,
  client_key_id: Nullable(Type.String()),
  public_key_fingerprint: Type.String(),
})
export type RotateKeyReply = Static<typeof RotateKeyReply>

export const SaveReply = Type.Object({ ...nextChallenge, saved_count: Type.Integer() })
export type SaveReply = Static<typeof SaveReply>

export const ReadReply = Type.Object({
  ...nextChallenge,
  result_envelope: EnvelopeSchema,
  result_proof: Type.String({
    description: 'HMAC-SHA-256 under the consumed nonce over the request_id and the hash of result_envelope',
  }),
})
export type ReadReply = Static<typeof ReadReply>
