/** What the push services' responses and failures mean, where they all agree. */
import { retryAfterTime } from '../backoff.ts'
import { isEgressFailure } from '../egress/failures.ts'
import type { PushOutcome } from './notification.ts'

/** Undefined if it depends on the service. */
export function commonOutcome(answer: Response, reason: string, now: Date): PushOutcome | undefined {
  if (answer.ok) return { kind: 'sent' }
  if (answer.status !== 429 && answer.status < 500) return undefined
  const notBefore = retryAfterTime(answer.headers.get('retry-after') ?? '', now)
  return { kind: 'later', reason, ...(notBefore && { notBefore }) }
}

/** Network failures are temporary; an address that is not allowed is permanent. */
function outcomeOfFailure(error: unknown): PushOutcome {
  if (!isEgressFailure(error)) throw error
  const passes = ['upstream_unreachable', 'upstream_tls_error', 'upstream_timeout'].includes(error.code)
  return { kind: passes ? 'later' : 'refused', reason: error.code }
}

/** The service's reason if it looks like a code: other text might contain what was sent. */
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

/** Something that the push needs, such as an access token, could not be obtained. */
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
