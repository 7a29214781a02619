/** A challenge can be decrypted only by its client, and is consumed by one operation. */
import { timingSafeEqual } from 'node:crypto'
import type { Auth } from '@sallyport/protocol/v1/payloads'
import { ServiceError } from '../platform/errors.ts'

export interface Challenge {
  challengeId: string
  clientUuid: string
  nonceHash: Uint8Array
  status: 'active' | 'used' | 'revoked'
  createdAt: Date
  expiresAt: Date
}

/** The allowed difference between the clocks of client and service. */
const skewMs = 5 * 60_000

export function assertTimely({ issuedAt, expiresAt }: Auth, now: Date): void {
  const isEarly = issuedAt.getTime() > now.getTime() + skewMs
  const isLate = expiresAt.getTime() < now.getTime() - skewMs
  if (isEarly || isLate) {
    const detail = isEarly ? 'issued_at: in the future' : 'expires_at: in the past'
    throw new ServiceError('invalid_auth_envelope', { field: 'auth_envelope', detail })
  }
}

/** Checks in the order of the contract (Authentication 3). Another client's challenge counts as not found. */
export function assertUsable(
  challenge: Challenge | undefined,
  { clientUuid, nonceHash }: { clientUuid: string; nonceHash: Uint8Array },
  now: Date,
): asserts challenge is Challenge {
  if (challenge?.clientUuid !== clientUuid) throw new ServiceError('challenge_not_found')
  if (challenge.status !== 'active') throw new ServiceError('challenge_already_used')
  if (challenge.expiresAt <= now) throw new ServiceError('challenge_expired')
  if (!timingSafeEqual(challenge.nonceHash, nonceHash)) throw new ServiceError('challenge_nonce_mismatch')
}
