/**
 * Limits the look-ups that wait for name servers, of each asker and in all: someone who calls thousands of names whose
 * servers are silent delays only their own calls, and c-ares never has more than a few hundred queries to wait for.
 */
import { createSemaphore } from '../limits/semaphore.ts'

export interface LookupBounds {
  perAsker: number
  inAll: number
  maxWaiting: number
  maxWaitMs: number
}

const usual: LookupBounds = { perAsker: 32, inAll: 256, maxWaiting: 100, maxWaitMs: 2_000 }

export function createLookupPlaces(bounds: Partial<LookupBounds> = {}) {
  const { perAsker, inAll, ...queue } = { ...usual, ...bounds }
  const all = createSemaphore(inAll, queue)
  const ofAskers = new Map<string, ReturnType<typeof createSemaphore>>()
  return {
    /** Waits for a place; resolves to a function that frees it. Rejects with `Busy` if that takes too long. */
    take: async (asker: string): Promise<() => void> => {
      const own = ofAskers.get(asker) ?? createSemaphore(perAsker, queue)
      ofAskers.set(asker, own)
      const forgetUnused = () => {
        if (own.taken() === 0) ofAskers.delete(asker)
      }
      const leave = await own.acquire()
      try {
        const leaveAll = await all.acquire()
        return () => {
          leaveAll()
          leave()
          forgetUnused()
        }
      } catch (error) {
        leave()
        forgetUnused()
        throw error
      }
    },
    askers: () => ofAskers.size,
  }
}
