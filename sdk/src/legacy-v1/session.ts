/**
 * What makes an operation go through once it was begun: a challenge that is fresh, one operation at a time, and another
 * try where an answer got lost. A challenge is used up by what it is sent with, unless the service refused that.
 */
import { authBinding } from '@sallyport/protocol/v1/binding'
import type { BoundMembers } from '@sallyport/protocol/v1/binding'
import { keyAlgorithm } from '@sallyport/protocol/v1/envelope'
import type { Action } from '@sallyport/protocol/v1/payloads'
import { authPayload, isStale, openChallenge } from './challenge.ts'
import type { Challenge } from './challenge.ts'
import { seal } from './envelope.ts'
import { hasCode, LegacyError } from './errors.ts'
import type { Answer, Exchange } from './exchange.ts'
import { publicPem } from './keys.ts'
import type { ClientKey, Key } from './keys.ts'
import { fetchServiceKey } from './service-key.ts'
import type { ServiceKey } from './service-key.ts'

export interface Operation<T> {
  action: Action
  path: string
  /** What goes with the auth_envelope: as it is sent, and as it is bound. */
  parts: (challenge: Challenge, serviceKey: Key) => Promise<{ body: object; bound: BoundMembers }>
  take: (answer: Answer, asked: { nonce: string; requestId: string }) => Promise<T>
  /** The key that the next challenge is for, where it is another one. */
  nextKey?: ClientKey
}

export interface Session {
  /** The active key. */
  key: () => ClientKey
  register: (key: ClientKey) => Promise<string>
  operate: <T>(operation: Operation<T>) => Promise<T>
}

export interface AboutRegistration {
  client_key_id?: string
  client_label?: string
  metadata?: Record<string, unknown>
}

const maxAttempts = 3
const challengeIsGone = ['challenge_not_found', 'challenge_expired', 'challenge_already_used']

/** Refusals that are decided before a challenge is looked for, or after it was found good. */
function leavesChallenge(error: unknown): boolean {
  if (!(error instanceof LegacyError) || error.status === undefined) return false
  return error.status < 500 && ![...challengeIsGone, 'challenge_nonce_mismatch'].includes(error.code)
}

export function startSession(
  exchange: Exchange,
  pinned: readonly string[],
  firstKey: ClientKey,
  about: AboutRegistration,
): Session {
  let key = firstKey
  let clientUuid: string | undefined
  let challenge: Challenge | undefined
  let serviceKey: ServiceKey | undefined
  /** A client that never did anything is forgotten by the service after a while, and becomes another one. */
  let hasOperated = false

  async function keepChallenge(answer: Answer, nextKey: ClientKey): Promise<string> {
    const next = await openChallenge(answer, nextKey.privateKey)
    if (hasOperated && next.clientUuid !== clientUuid) {
      throw new LegacyError('unexpected_answer', 'The answer is for another client.')
    }
    key = nextKey
    clientUuid = next.clientUuid
    challenge = next
    return next.clientUuid
  }

  /** Also when registered already: the service gives a challenge for the same identity, and disturbs nothing. */
  async function register(newKey: ClientKey): Promise<string> {
    // First, so that nothing is registered at a service that is not the one meant.
    serviceKey ??= await fetchServiceKey(exchange, pinned)
    const body = { client_public_key: await publicPem(newKey.publicKey), client_key_alg: keyAlgorithm, ...about }
    try {
      return await keepChallenge(await exchange('POST', '/v1/authai/register', body), newKey)
    } catch (error) {
      if (!hasCode(error, 'public_key_already_registered')) throw error
      throw new LegacyError('key_retired', 'This key was replaced by a newer one.', { status: 409, cause: error })
    }
  }

  async function freshChallenge(): Promise<Challenge> {
    if (!challenge || isStale(challenge)) await register(key)
    const taken = challenge
    if (!taken) throw new LegacyError('unexpected_answer', 'There is no challenge to be had.')
    challenge = undefined
    return taken
  }

  async function attempt<T>({ action, path, parts, take, nextKey }: Operation<T>, used: Challenge): Promise<T> {
    serviceKey ??= await fetchServiceKey(exchange, pinned)
    const { body, bound } = await parts(used, serviceKey.key)
    const requestId = crypto.randomUUID()
    const payload = authPayload(used, action, requestId)
    const auth_envelope = await seal(serviceKey.key, payload, await authBinding(bound))
    const answer = await exchange('POST', path, { auth_envelope, ...body })
    const result = await take(answer, { nonce: used.nonce, requestId })
    hasOperated = true
    await keepChallenge(answer, nextKey ?? key)
    return result
  }

  /** An envelope for a key that the service has given up can not be read there. */
  async function isForOldServiceKey(error: unknown): Promise<boolean> {
    if (!hasCode(error, 'invalid_auth_envelope')) return false
    const before = serviceKey?.fingerprint
    serviceKey = await fetchServiceKey(exchange, pinned)
    return serviceKey.fingerprint !== before
  }

  async function operate<T>(operation: Operation<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      const used = await freshChallenge()
      try {
        return await attempt(operation, used)
      } catch (error) {
        if (leavesChallenge(error)) challenge = used
        if (attempts === maxAttempts) throw error
        if (!hasCode(error, 'no_answer', ...challengeIsGone) && !(await isForOldServiceKey(error))) throw error
      }
    }
  }

  return { key: () => key, register, operate }
}

/** One after the other, in the order in which they were asked for. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
