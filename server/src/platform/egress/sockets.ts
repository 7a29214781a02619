/**
 * How many sockets stand or are being opened, in all. Whoever comes when there is no room waits for one that closes;
 * before that, whoever holds an idle one is asked to let it go.
 */
export interface Sockets {
  /** Resolves once there is room, with the way to give it back. Gives up when `late` does. */
  enter: (late: AbortSignal) => Promise<() => void>
  /** Sockets that stand or are being opened. */
  count: () => number
  /** Somebody waits for room. */
  isShort: () => boolean
}

export function createSockets(max: number, letOneGo: () => void): Sockets {
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
      letOneGo()
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
