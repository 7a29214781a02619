import { ServiceError } from '../platform/errors.ts'

/** What a device is given to sign, once, within a short time. */
export interface Challenge {
  challengeId: string
  deviceId: string
  userId: string
  /** What it is about: an access request by its id, or a change of who may decide (`off`, `remove:…`, `enrol:…`). */
  subject: string
  /** base64url of 32 random bytes, followed by the SHA-256 of the decision where there is one. */
  nonce: string
  /** The decision that the signature will cover, in the form of RFC 8785. */
  decision: string | null
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

/** What a caller sends in place of their word alone. */
export interface Signed {
  challengeId: string
  signature: string
}

/** The members are sent together or not at all. */
export function readSigned(body: {
  challenge_id?: string | undefined
  signature?: string | undefined
}): Signed | undefined {
  const { challenge_id: challengeId, signature } = body
  if (challengeId === undefined && signature === undefined) return undefined
  if (challengeId === undefined) throw missing('challenge_id', 'signature')
  if (signature === undefined) throw missing('signature', 'challenge_id')
  return { challengeId, signature }
}

function missing(field: string, other: string): ServiceError {
  const message = `"${field}" is missing. Send both "${field}" and "${other}", or neither.`
  return new ServiceError('missing_field', { field, message })
}
