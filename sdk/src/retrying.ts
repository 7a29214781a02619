import { SallyportError } from './errors.ts'

export interface RetryRules {
  retries: number
  /** It went with an Idempotency-Key. */
  isKeyed: boolean
  signal: AbortSignal | undefined
}

/** Who is told to wait longer than this is told that instead. */
const longestWaitSeconds = 20

/** Makes a call that does no harm when it is made twice until it succeeds, or fails for good. */
export async function retrying<T>(attempt: () => Promise<T>, { retries, isKeyed, signal }: RetryRules): Promise<T> {
  for (let tried = 0; ; tried++) {
    try {
      return await attempt()
    } catch (error) {
      if (tried >= retries || !(error instanceof SallyportError) || !isWorthwhile(error, isKeyed)) throw error
      const seconds = error.retryAfterSeconds ?? 0
      if (seconds > longestWaitSeconds) throw error
      await pause(Math.max(seconds * 1000, backOffMs(tried)), signal)
    }
  }
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
  throw new TypeError('timeoutMs is a number of milliseconds.')
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
