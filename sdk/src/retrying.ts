import { SallyportError } from './errors.ts'

export interface RetryRules {
  retries: number
  /** It went with an Idempotency-Key. */
  isKeyed: boolean
  /** How long a call that exceeds a rate limit may wait in all. Such a call did not happen, so any may be repeated. */
  rateWaitMs: number
  signal: AbortSignal | undefined
}

/** Who is told to wait longer than this is told that instead. */
const longestWaitSeconds = 20

/** Makes a call that does no harm when it is made twice until it succeeds, or fails for good. */
export async function retrying<T>(attempt: () => Promise<T>, rules: RetryRules): Promise<T> {
  const { retries, isKeyed, rateWaitMs, signal } = rules
  const startedAt = performance.now()
  for (let tried = 0, waits = 0; ;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      const waitMs = error.code === 'rate_limited' ? pastLimitMs(error.retryAfterSeconds, waits) : Infinity
      if (performance.now() - startedAt + waitMs <= rateWaitMs) {
        waits++
        await pause(waitMs, signal)
        continue
      }
      if (tried++ >= retries || !isWorthwhile(error, isKeyed)) throw error
      const seconds = error.retryAfterSeconds ?? 0
      if (seconds > longestWaitSeconds) throw error
      await pause(Math.max(seconds * 1000, backOffMs(tried - 1)), signal)
    }
  }
}

/** As long as the service says, and somewhat longer each time, so that calls that wait together spread out. */
function pastLimitMs(seconds: number | undefined, waits: number): number {
  return seconds === undefined ? Infinity : seconds * 1000 + Math.random() * Math.min(500 * 2 ** waits, 10_000)
}

function isWorthwhile({ code, retryable, retryAfterSeconds }: SallyportError, isKeyed: boolean): boolean {
  // The first of two calls with one key is still under way: the service says when to ask for its answer.
  return retryable || (isKeyed && code === 'conflict' && retryAfterSeconds !== undefined)
}

/** Twice as long each time, and never just when everybody else does. */
export function backOffMs(tried: number, firstMs = 200, longestMs = 5000): number {
  return Math.min(firstMs * 2 ** tried, longestMs) * (0.75 + Math.random() / 2)
}

/** What a timer can wait for: one of more than 24 days would be over at once. */
export function timerMs(ms: number): number {
  if (ms >= 0) return Math.min(ms, 2 ** 31 - 1)
  throw new TypeError('timeoutMs must be a number of milliseconds.')
}

/** Rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      then()
    }
    const onAbort = () => {
      settle(() => {
        reject(signal?.reason as Error)
      })
    }
    const timer = setTimeout(() => {
      settle(resolve)
    }, ms)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
  })
}
