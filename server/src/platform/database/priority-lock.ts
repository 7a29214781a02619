/** One holder at a time. Those in a hurry go before all others, and otherwise whoever came first. */
export interface PriorityLock {
  /** Resolves to what gives it back, which does so once however often it is called. */
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
