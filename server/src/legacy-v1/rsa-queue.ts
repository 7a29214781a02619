/**
 * RSA is by far the most that a v1 call costs, and anyone can make one. Web Crypto runs it on the process's thread
 * pool, beside the event loop; here only a few run at once, so that threads are left for others, and few may wait.
 */
import { ServiceError } from '../platform/errors.ts'

export interface RsaQueue {
  /** Throws `rate_limited` where too many wait already. */
  run: <T>(work: () => Promise<T>) => Promise<T>
}

/** Half of the pool's usual four threads. */
const atOnce = 2

export function createRsaQueue(maxWaiting: number): RsaQueue {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    run: async (work) => {
      if (running === atOnce) {
        if (waiting.length >= maxWaiting) throw new ServiceError('rate_limited', { retryAfterSeconds: 1 })
        // Whoever ends hands its place over: `running` stays as it is.
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else running++
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}
