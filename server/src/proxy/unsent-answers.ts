/**
 * Bounds the memory of buffered answers, from their first byte until they are sent, per agent and in total: a client
 * that does not read its answers must not use up the memory of all. Streamed answers need none: they have backpressure.
 */
import { createByteBudget } from '../platform/limits/byte-budget.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'

export interface UnsentAnswers {
  /** Throws if the agent's unread answers leave no room for another. */
  assertRoom: (agentId: string) => void
  /** For the answer of one call. Release it once the answer is sent or its connection is closed. */
  hold: (agentId: string, options?: { isSandbox?: boolean }) => Hold
}

type UnsentConfig = Pick<Config, 'proxyUnsentBytes' | 'proxyUnsentBytesPerAgent' | 'proxyAnswerBytes'>

/** Of the total: anyone may start a sandbox, without a user's approval. */
const shareOfSandbox = 1 / 4

export function createUnsentAnswers(config: UnsentConfig): UnsentAnswers {
  const budget = createByteBudget()
  // Never less than the largest answer takes in base64.
  const perAgent = Math.max(config.proxyUnsentBytesPerAgent, 2 * config.proxyAnswerBytes)
  const inAll = Math.max(config.proxyUnsentBytes, perAgent)
  const all = { key: 'all', maxBytes: inAll }
  const sandbox = { key: 'sandbox', maxBytes: inAll * shareOfSandbox }
  return {
    assertRoom: (agentId) => {
      // The other half is for calls that are in flight already.
      if (budget.held(agentId) > perAgent / 2)
        throw noRoom('This agent has too many unread responses. Read them first.')
      if (budget.held(all.key) >= inAll)
        throw noRoom('Too many responses are unread. Wait for the time in Retry-After.')
    },
    hold: (agentId, { isSandbox = false } = {}) =>
      budget.hold([{ key: agentId, maxBytes: perAgent }, all, ...(isSandbox ? [sandbox] : [])]),
  }
}

/** Before the request is sent. */
export function noRoom(message: string): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
}

/**
 * After the upstream has answered, so it must not look repeatable. Its room is released immediately for the other
 * answers that are coming in, or all of them would fail together.
 */
export function noRoomForAnswer(room: Hold): ServiceError {
  room.resize(0)
  return new ServiceError('upstream_body_too_large', {
    message:
      'The call was made, but unread responses leave no room for its response. ' +
      'Read them first, or set "stream" to true.',
  })
}
