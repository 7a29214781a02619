/** The one-time challenge that the next operation is made with. */
import { readChallengePayload } from '@sallyport/protocol/v1/payloads'
import type { Action, AuthPayload, ChallengePayload } from '@sallyport/protocol/v1/payloads'
import { openEnvelope } from './envelope.ts'
import { LegacyError } from './errors.ts'
import { textIn } from './exchange.ts'
import type { Answer } from './exchange.ts'
import type { Key } from './keys.ts'

export interface Challenge {
  clientUuid: string
  challengeId: string
  nonce: string
  /** By the service's clock, which is the one that counts. */
  issuedAtMs: number
  lifetimeMs: number
  /** By ours, which only has to run evenly. */
  receivedAtMs: number
}

/** The last tenth of a challenge's time is not used: it would end on its way. */
const usableShare = 0.9
const authLifetimeMs = 60_000

export async function openChallenge(answer: Answer, privateKey: Key): Promise<Challenge> {
  const payload = readPayload(await openEnvelope(privateKey, answer['challenge_for_client']))
  const isOfAnswer =
    payload?.client_uuid === textIn(answer, 'client_uuid') && payload.challenge_id === textIn(answer, 'challenge_id')
  if (!payload || !isOfAnswer) {
    throw new LegacyError(
      'unexpected_answer',
      'The challenge cannot be decrypted with this key, or is for another client.',
    )
  }
  const issuedAtMs = Date.parse(payload.issued_at)
  return {
    clientUuid: payload.client_uuid,
    challengeId: payload.challenge_id,
    nonce: payload.nonce,
    issuedAtMs,
    lifetimeMs: Date.parse(payload.expires_at) - issuedAtMs,
    receivedAtMs: Date.now(),
  }
}

function readPayload(message: object | undefined): ChallengePayload | undefined {
  try {
    return readChallengePayload(message)
  } catch {
    return undefined
  }
}

export function isStale({ receivedAtMs, lifetimeMs }: Challenge): boolean {
  const ageMs = Date.now() - receivedAtMs
  return ageMs < 0 || ageMs > lifetimeMs * usableShare
}

/** The request's id is known to us and the service alone: a result is proven with it. */
export function authPayload(challenge: Challenge, action: Action, requestId: string): AuthPayload {
  const nowMs = challenge.issuedAtMs + Date.now() - challenge.receivedAtMs
  return {
    v: 'ksp1',
    type: 'auth',
    action,
    client_uuid: challenge.clientUuid,
    challenge_id: challenge.challengeId,
    request_id: requestId,
    nonce: challenge.nonce,
    issued_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + authLifetimeMs).toISOString(),
  }
}
