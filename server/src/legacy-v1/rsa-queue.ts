/**
 * RSA is by far the most expensive part of a v1 call, which anyone can make. Web Crypto runs it on Node's thread pool.
 * Only a few operations run at once, so that threads are left for other work, and only a limited number may wait.
 */
import { ServiceError } from '../platform/errors.ts'
import { createSemaphore } from '../platform/limits/semaphore.ts'

export interface RsaQueue {
  /** Throws `rate_limited` if too many operations are waiting already. */
  run: <T>(work: () => Promise<T>) => Promise<T>
}

/** Half of the pool's usual four threads. */
const concurrency = 2

export function createRsaQueue(maxWaiting: number): RsaQueue {
  const { acquire } = createSemaphore(concurrency, { maxWaiting })
  return {
    run: async (work) => {
      const release = await acquire().catch(() => {
        throw new ServiceError('rate_limited', { retryAfterSeconds: 1 })
      })
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
