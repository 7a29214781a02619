export interface QueueLimits {
  maxWaiting?: number
  maxWaitMs?: number
}

/** The service is overloaded. Nothing was done. */
export class Busy extends Error {
  constructor() {
    super('more work is waiting than can be done just now')
    this.name = 'Busy'
  }
}

/** A counting semaphore with a queue: urgent callers come first, otherwise it is first come, first served. */
export function createSemaphore(places: number, { maxWaiting = Infinity, maxWaitMs }: QueueLimits = {}) {
  let taken = 0
  const urgent: (() => void)[] = []
  const others: (() => void)[] = []
  const waiting = () => urgent.length + others.length

  const place = () => {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      // Hand the place over directly, so that a new caller can't overtake the queue.
      const next = urgent.shift() ?? others.shift()
      if (next) next()
      else taken--
    }
  }
  const wait = async (queue: (() => void)[], signal: AbortSignal | undefined) => {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const enter = () => {
      resolve(undefined)
    }
    const giveUp = (reason: Error) => {
      const at = queue.indexOf(enter)
      // It may have been given a place just now.
      if (at === -1) return
      queue.splice(at, 1)
      reject(reason)
    }
    const onAbort = () => {
      giveUp(signal?.reason as Error)
    }
    const timer =
      maxWaitMs === undefined
        ? undefined
        : setTimeout(() => {
            giveUp(new Busy())
          }, maxWaitMs)
    signal?.addEventListener('abort', onAbort)
    queue.push(enter)
    await promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  return {
    /**
     * Resolves to a function that releases the place; calling it again has no effect. Rejects with `Busy` if the queue is
     * full or the wait too long, and with the signal's reason when that is aborted.
     */
    acquire: async ({ isUrgent = false, signal }: { isUrgent?: boolean; signal?: AbortSignal } = {}) => {
      if (taken < places) taken++
      else if (waiting() >= maxWaiting) throw new Busy()
      else await wait(isUrgent ? urgent : others, signal)
      return place()
    },
    taken: () => taken,
    waiting,
  }
}
