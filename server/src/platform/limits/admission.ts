/** A bounded number of places, and a bounded queue for them. Whoever can't be served in time is told so. */

export interface Admission {
  /** Resolves to the way to leave; rejects with `Busy` where the queue is full, or the wait too long. */
  enter: () => Promise<() => void>
  taken: () => number
  waiting: () => number
}

export interface AdmissionLimits {
  places: number
  maxWaiting: number
  maxWaitMs: number
}

/** There is more to do than can be done just now. Nothing of it was begun. */
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
      // The place is handed over, so that nobody who comes now is served first.
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
