import { AccessDenied, AccessExpired, SallyportError } from '../errors.ts'
import { pause, timerMs } from '../retrying.ts'
import type { AccessRequest } from '../wire.ts'

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** How long to wait at most. Without it, until the access request expires. */
  timeoutMs?: number | undefined
  /** Called after each look that found nobody had decided yet. */
  onPending?: ((request: AccessRequest) => void) | undefined
}

const firstPauseMs = 1000
const longestPauseMs = 10_000
/** How long an answer may take. Whoever gives little time to a person still wants to hear what the service says. */
const shortestLookMs = 5000
const longestLookMs = 30_000
/** A service that is started anew is back by then. */
const mostFailures = 10

/** A person takes seconds or hours: looks often at first, then less and less. */
export async function waitForGrant(
  look: (signal: AbortSignal | undefined, timeoutMs: number) => Promise<AccessRequest>,
  { signal, timeoutMs, onPending }: WaitOptions = {},
): Promise<AccessRequest & { grant_id: string }> {
  // Not by a clock that somebody may set meanwhile.
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

/** Undefined while nobody has decided. */
function grantOf(request: AccessRequest): string | undefined {
  const { status, grant_id: grantId } = request
  if (status === 'denied') throw new AccessDenied(request)
  if (status === 'expired') throw new AccessExpired(request)
  if (status === 'cancelled') throw new SallyportError('access_cancelled', 'The access request was cancelled.')
  return grantId ?? undefined
}
