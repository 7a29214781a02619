import { SallyportError } from './errors.ts'

export interface RetryRules {
  retries: number
  /** The call has an Idempotency-Key. */
  isKeyed: boolean
  /** How long a rate-limited call may wait in total. It was not made, so any call can be retried. */
  rateWaitMs: number
  signal: AbortSignal | undefined
}

/** If Retry-After is longer than this, the error is thrown instead. */
const longestWaitSeconds = 20

/**
 * Repeats a call until it succeeds or fails permanently. The caller sets `retries` to 0 unless the call is idempotent.
 */
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

/** As long as the service asks for plus increasing jitter, so that waiting calls spread out. */
function pastLimitMs(seconds: number | undefined, waits: number): number {
  return seconds === undefined ? Infinity : seconds * 1000 + Math.random() * Math.min(500 * 2 ** waits, 10_000)
}

function isWorthwhile({ code, retryable, retryAfterSeconds }: SallyportError, isKeyed: boolean): boolean {
  // The first call with this key is still in progress. Retry-After says when to ask for its response.
  return retryable || (isKeyed && code === 'conflict' && retryAfterSeconds !== undefined)
}

/** Exponential backoff with jitter. */
export function backOffMs(tried: number, firstMs = 200, longestMs = 5000): number {
  return Math.min(firstMs * 2 ** tried, longestMs) * (0.75 + Math.random() / 2)
}

/** Caps at the longest delay of a timer, about 24 days: a longer one would fire immediately. */
export function timerMs(ms: number): number {
  if (ms >= 0) return Math.min(ms, 2 ** 31 - 1)
  throw new TypeError('timeoutMs must be a number of milliseconds.')
}

/** Waits. Rejects with the signal's reason as soon as it is aborted. */
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
