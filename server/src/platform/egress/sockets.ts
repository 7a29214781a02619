/**
 * Limits the total number of sockets that are open or being opened. When there is no room, an idle pool is closed, and the
 * caller waits for a socket to close.
 */
export interface Sockets {
  /** Resolves, once there is room, to a function that frees it. Rejects when `late` is aborted. */
  enter: (late: AbortSignal) => Promise<() => void>
  /** Sockets that are open or being opened. */
  count: () => number
  /** Whether a caller is waiting for room. */
  isShort: () => boolean
}

export function createSockets(max: number, closeIdlePool: () => void): Sockets {
  let taken = 0
  const waiting = new Set<() => void>()

  const leave = () => {
    taken--
    const [next] = waiting
    next?.()
  }
  const take = () => {
    taken++
    let isGivenBack = false
    return () => {
      if (!isGivenBack) leave()
      isGivenBack = true
    }
  }

  return {
    count: () => taken,
    isShort: () => waiting.size > 0,
    enter: async (late) => {
      if (taken < max) return take()
      closeIdlePool()
      late.throwIfAborted()
      return new Promise((resolve, reject) => {
        const stop = () => {
          waiting.delete(enter)
          reject(late.reason as Error)
        }
        const enter = () => {
          waiting.delete(enter)
          late.removeEventListener('abort', stop)
          resolve(take())
        }
        late.addEventListener('abort', stop, { once: true })
        waiting.add(enter)
      })
    },
  }
}
