/** A semaphore with a bounded queue. Callers that would wait too long get an error instead. */

export interface Admission {
  /** Resolves to a function that releases the place. Rejects with `Busy` if the queue is full or the wait too long. */
  enter: () => Promise<() => void>
  taken: () => number
  waiting: () => number
}

export interface AdmissionLimits {
  places: number
  maxWaiting: number
  maxWaitMs: number
}

/** The service is overloaded. Nothing was done. */
export class Busy extends Error {
  constructor() {
    super('more work is waiting than can be done just now')
    this.name = 'Busy'
  }
}

export function createAdmission({ places, maxWaiting, maxWaitMs }: AdmissionLimits): Admission {
  let taken = 0
  const queue = new Set<() => void>()

  const place = () => {
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      const [next] = queue
      // Hand the place over directly, so that a new caller can't overtake the queue.
      if (next) next()
      else taken--
    }
  }

  return {
    enter: async () => {
      if (taken < places) {
        taken++
        return place()
      }
      if (queue.size >= maxWaiting) throw new Busy()
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          queue.delete(next)
          reject(new Busy())
        }, maxWaitMs)
        const next = () => {
          queue.delete(next)
          clearTimeout(timer)
          resolve()
        }
        queue.add(next)
      })
      return place()
    },
    taken: () => taken,
    waiting: () => queue.size,
  }
}
