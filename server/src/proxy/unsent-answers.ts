/**
 * Bounds the memory of whole answers from their first byte until they are sent, per agent and in all: a caller that asks
 * and does not read must not take the memory of everyone. Streamed answers take none, as they are read as they are sent.
 */
import { createByteBudget } from '../platform/limits/byte-budget.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'

export interface UnsentAnswers {
  /** Throws where the answers that the agent has not read yet leave no room for another. */
  assertRoom: (agentId: string) => void
  /** For the answer of one call. Released once it is sent, or its connection closed. */
  hold: (agentId: string, options?: { isSandbox?: boolean }) => Hold
}

type UnsentConfig = Pick<Config, 'proxyUnsentBytes' | 'proxyUnsentBytesPerAgent' | 'proxyAnswerBytes'>

/** Of the whole: no person stands behind the sandbox, and anyone may start one. */
const shareOfSandbox = 1 / 4

export function createUnsentAnswers(config: UnsentConfig): UnsentAnswers {
  const budget = createByteBudget()
  // The largest answer, in base64, fits in any case.
  const perAgent = Math.max(config.proxyUnsentBytesPerAgent, 2 * config.proxyAnswerBytes)
  const inAll = Math.max(config.proxyUnsentBytes, perAgent)
  const all = { key: 'all', maxBytes: inAll }
  const sandbox = { key: 'sandbox', maxBytes: inAll * shareOfSandbox }
  return {
    assertRoom: (agentId) => {
      // Half is left to the calls that are under way already.
      if (budget.held(agentId) > perAgent / 2) throw noRoom('Answers of this agent wait to be read. Read them first.')
      if (budget.held(all.key) >= inAll) throw noRoom('Too many answers wait to be read. Wait as Retry-After says.')
    },
    hold: (agentId, { isSandbox = false } = {}) =>
      budget.hold([{ key: agentId, maxBytes: perAgent }, all, ...(isSandbox ? [sandbox] : [])]),
  }
}

/** Before anything went out. */
export function noRoom(message: string): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
}

/**
 * After the upstream has answered: to send the call again would make it twice. The other answers that are coming in get
 * its room at once, or they would all fail together.
 */
export function noRoomForAnswer(room: Hold): ServiceError {
  room.resize(0)
  return new ServiceError('upstream_body_too_large', {
    message:
      'The call was made, but answers that were not read yet leave no room for its answer. ' +
      'Read them first, or set "stream" to true.',
  })
}
