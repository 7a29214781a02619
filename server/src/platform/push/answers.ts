/** How an answer, or the lack of one, is taken wherever the services agree. */
import { retryAfterTime } from '../backoff.ts'
import { isEgressFailure } from '../egress/failures.ts'
import type { PushOutcome } from './notification.ts'

/** Undefined where the service's own rules have to say. */
export function commonOutcome(answer: Response, reason: string, now: Date): PushOutcome | undefined {
  if (answer.ok) return { kind: 'sent' }
  if (answer.status !== 429 && answer.status < 500) return undefined
  const notBefore = retryAfterTime(answer.headers.get('retry-after') ?? '', now)
  return { kind: 'later', reason, ...(notBefore && { notBefore }) }
}

/** What lies on the way passes; what we may not reach at all stays so. */
function outcomeOfFailure(error: unknown): PushOutcome {
  if (!isEgressFailure(error)) throw error
  const passes = ['upstream_unreachable', 'upstream_tls_error', 'upstream_timeout'].includes(error.code)
  return { kind: passes ? 'later' : 'refused', reason: error.code }
}

/** What a service gives as its reason, as far as it looks like a code: anything else might hold what was sent. */
export function reasonOf(given: unknown, status: number): string {
  return typeof given === 'string' && /^\w{1,60}$/.test(given) ? given : `status_${status}`
}

export async function jsonOf(answer: Response): Promise<unknown> {
  try {
    return await answer.json()
  } catch {
    return undefined
  }
}

/** For what is asked for on the way to a push and can't be had. */
export class PushFailed extends Error {
  readonly outcome: PushOutcome

  constructor(outcome: PushOutcome & { reason: string }) {
    super(outcome.reason)
    this.name = 'PushFailed'
    this.outcome = outcome
  }
}

export async function settled(send: () => Promise<PushOutcome>): Promise<PushOutcome> {
  try {
    return await send()
  } catch (error) {
    if (error instanceof PushFailed) return error.outcome
    return outcomeOfFailure(error)
  }
}
