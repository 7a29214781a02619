import { AccessDenied, AccessExpired, SallyportError } from '../errors.ts'
import { pause, timerMs } from '../retrying.ts'
import type { AccessRequest } from '../wire.ts'

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** Maximum time to wait. By default, until the access request expires. */
  timeoutMs?: number | undefined
  /** Called after each poll while the request is undecided. */
  onPending?: ((request: AccessRequest) => void) | undefined
}

const firstPauseMs = 1000
const longestPauseMs = 10_000
/** Timeout of a poll. It is longer than a short `timeoutMs`, so that the service can still respond. */
const shortestLookMs = 5000
const longestLookMs = 30_000
/** Consecutive failures to tolerate: enough time for the service to restart. */
const mostFailures = 10

/** Polls often at first and less often later: a decision may take seconds or hours. */
export async function waitForGrant(
  look: (signal: AbortSignal | undefined, timeoutMs: number) => Promise<AccessRequest>,
  { signal, timeoutMs, onPending }: WaitOptions = {},
): Promise<AccessRequest & { grant_id: string }> {
  // Monotonic clock: the system time may change meanwhile.
  const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timerMs(timeoutMs)
  let failures = 0
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.3, longestPauseMs)) {
    const lookMs = Math.min(Math.max(until - performance.now(), shortestLookMs), longestLookMs)
    const request = await look(signal, lookMs).catch((error: unknown) => {
      if (++failures > mostFailures || !(error instanceof SallyportError) || !error.retryable) throw error
      return undefined
    })
    if (request) {
      failures = 0
      const grantId = grantOf(request)
      if (grantId !== undefined) return { ...request, grant_id: grantId }
      onPending?.(request)
    }
    const leftMs = until - performance.now()
    if (leftMs <= 0)
      throw new SallyportError('timeout', 'The access request has not been decided yet.', { retryable: true })
    await pause(Math.min(pauseMs, leftMs), signal)
  }
}

/** The grant's id. Undefined while the request is undecided. */
function grantOf(request: AccessRequest): string | undefined {
  const { status, grant_id: grantId } = request
  if (status === 'denied') throw new AccessDenied(request)
  if (status === 'expired') throw new AccessExpired(request)
  if (status === 'cancelled') throw new SallyportError('access_cancelled', 'The access request was cancelled.')
  return grantId ?? undefined
}
