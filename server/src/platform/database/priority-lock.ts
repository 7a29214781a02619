/** A mutex. Urgent callers come before all others; otherwise it is first come, first served. */
export interface PriorityLock {
  /** Resolves to a function that releases the lock. Calling it again has no effect. */
  take: (options?: { isUrgent?: boolean }) => Promise<() => void>
}

export function createPriorityLock(): PriorityLock {
  const urgent: (() => void)[] = []
  const others: (() => void)[] = []
  let isHeld = false
  const passOn = () => {
    const next = urgent.shift() ?? others.shift()
    if (next) next()
    else isHeld = false
  }
  return {
    take: ({ isUrgent = false } = {}) =>
      new Promise((resolve) => {
        const give = () => {
          let isOurs = true
          resolve(() => {
            if (!isOurs) return
            isOurs = false
            passOn()
          })
        }
        if (isHeld) {
          ;(isUrgent ? urgent : others).push(give)
          return
        }
        isHeld = true
        give()
      }),
  }
}
