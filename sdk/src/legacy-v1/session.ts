/**
 * Runs one operation at a time, each with a fresh challenge, and retries when a response is lost. A challenge is used
 * up by sending it, unless the service refuses the request.
 */
import { authBinding } from '@sallyport/protocol/v1/binding'
import { keyAlgorithm } from '@sallyport/protocol/v1/envelope'
import { authPayload, isStale, openChallenge } from './challenge.ts'
import type { Challenge } from './challenge.ts'
import { seal } from './envelope.ts'
import { hasCode, LegacyError } from './errors.ts'
import type { Answer, Exchange } from './exchange.ts'
import { publicPem } from './keys.ts'
import type { ClientKey } from './keys.ts'
import { readOperation } from './operations.ts'
import type { Operation } from './operations.ts'
import { fetchServiceKey } from './service-key.ts'
import type { ServiceKey } from './service-key.ts'

export interface Session {
  /** The active key. */
  key: () => ClientKey
  /** Can be repeated: the service then returns a new challenge for the same client. */
  register: () => Promise<string>
  operate: <T>(operation: Operation<T>) => Promise<T>
}

export interface AboutRegistration {
  client_key_id?: string
  client_label?: string
  metadata?: Record<string, unknown>
}

const maxAttempts = 3
const challengeIsGone = ['challenge_not_found', 'challenge_expired', 'challenge_already_used']

/** Refusals that are decided before the challenge is checked or after it was accepted. They do not use it up. */
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
  /** The new key of the last rotation, which may or may not have succeeded. */
  let askedFor: ClientKey | undefined
  /** This client's id, once the service has proven it. It never changes. */
  let clientUuid: string | undefined
  let challenge: Challenge | undefined
  let serviceKey: ServiceKey | undefined
  async function openNext(answer: Answer, { privateKey }: ClientKey): Promise<Challenge> {
    const next = await openChallenge(answer, privateKey)
    if (next.clientUuid === (clientUuid ?? next.clientUuid)) return next
    throw new LegacyError('unexpected_answer', 'The response is for another client.')
  }

  /**
   * Anyone could have made the response to a rotation or registration. Its challenge could be another client's, who
   * would then own what is saved with it, and a discarded old key can't be recovered. So the key and the client's id
   * are accepted only after the service has proven both, by answering a read with that challenge.
   */
  async function moveTo(newKey: ClientKey, answer: Answer): Promise<void> {
    const first = await openNext(answer, newKey)
    const proven = await send(
      readOperation(() => newKey, 'identity', ['proof']),
      first,
    )
    clientUuid = first.clientUuid
    challenge = await openNext(proven.answer, newKey)
    key = newKey
  }

  async function registerKey({ publicKey }: ClientKey): Promise<Answer> {
    const body = { client_public_key: await publicPem(publicKey), client_key_alg: keyAlgorithm, ...about }
    return exchange('POST', '/v1/authai/register', body)
  }

  async function register(): Promise<string> {
    // Check the service's key first, so as not to register with the wrong service.
    serviceKey ??= await fetchServiceKey(exchange, pinned)
    // If the response to a rotation was lost, try the old key first: the new one is active only if the old one is
    // retired. Registering the new key earlier would create another client.
    for (const one of new Set([key, askedFor ?? key])) {
      try {
        const answer = await registerKey(one)
        if (one === key && clientUuid !== undefined) challenge = await openNext(answer, key)
        else await moveTo(one, answer)
        return clientUuid ?? ''
      } catch (error) {
        if (!hasCode(error, 'public_key_already_registered')) throw error
      }
    }
    throw new LegacyError('key_retired', 'This key was replaced by a newer one.', { status: 409 })
  }

  async function freshChallenge(): Promise<Challenge> {
    if (!challenge || isStale(challenge)) await register()
    const taken = challenge
    if (!taken) throw new LegacyError('unexpected_answer', 'No challenge is available.')
    challenge = undefined
    return taken
  }

  async function send<T>({ action, path, parts, take, next }: Operation<T>, used: Challenge) {
    serviceKey ??= await fetchServiceKey(exchange, pinned)
    const { body, bound } = await parts(used, serviceKey.key)
    const requestId = crypto.randomUUID()
    const payload = authPayload(used, action, requestId)
    const auth_envelope = await seal(serviceKey.key, payload, await authBinding(bound))
    askedFor = next?.key ?? askedFor
    const answer = await exchange('POST', path, { auth_envelope, ...body })
    return { answer, result: await take(answer, { ...used, requestId }) }
  }

  async function attempt<T>(operation: Operation<T>, used: Challenge): Promise<T> {
    const { answer, result } = await send(operation, used)
    if (operation.next) await moveTo(operation.next.key, answer)
    else challenge = await openNext(answer, key)
    return result
  }

  /** After a key rotation the service can't decrypt envelopes for its old key. Returns whether there is a new one. */
  async function refetchServiceKey(): Promise<boolean> {
    const before = serviceKey?.fingerprint
    serviceKey = await fetchServiceKey(exchange, pinned)
    return serviceKey.fingerprint !== before
  }

  async function retrying<T>(work: () => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await work()
      } catch (error) {
        if (attempts === maxAttempts) throw error
        if (hasCode(error, 'no_answer', ...challengeIsGone)) continue
        if (!hasCode(error, 'invalid_auth_envelope') || !(await refetchServiceKey())) throw error
      }
    }
  }

  async function operateOnce<T>(operation: Operation<T>): Promise<T> {
    const used = await freshChallenge()
    try {
      if (operation.next?.key !== key) return await attempt(operation, used)
      challenge = used
      return operation.next.inPlace
    } catch (error) {
      if (leavesChallenge(error)) challenge = used
      throw error
    }
  }

  return {
    key: () => key,
    register: () => retrying(register),
    operate: (operation) => retrying(() => operateOnce(operation)),
  }
}

/** Runs tasks one at a time, in the order of the calls. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}
