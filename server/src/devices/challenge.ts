import { ServiceError } from '../platform/errors.ts'

/** A one-time, short-lived challenge for a device to sign. */
export interface Challenge {
  challengeId: string
  deviceId: string
  userId: string
  /**
   * What is signed: the id of an access request, or a change to the deciding devices (`off`, `remove:…`, `enrol:…`).
   */
  subject: string
  /** base64url of 32 random bytes, followed by the SHA-256 of the decision if there is one. */
  nonce: string
  /** The decision that the signature will cover, in canonical JSON (RFC 8785). */
  decision: string | null
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

/** A signed challenge, as sent by the caller. */
export interface Signed {
  challengeId: string
  signature: string
}

/** Both members are required together. */
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
