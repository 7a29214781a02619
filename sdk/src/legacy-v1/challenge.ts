/** The one-time challenge for the next operation. */
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
  /** By the service's clock, which decides when it expires. */
  issuedAtMs: number
  lifetimeMs: number
  /** By the local clock, which only has to run at the right speed. */
  receivedAtMs: number
}

/** A challenge is not used in the last tenth of its lifetime: it could expire in transit. */
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

/** Only this client and the service know the request id: the service proves a read result with it. */
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
