export interface Mutex {
  /** Resolves when it is ours, to what gives it back. Whoever asked first has it first. */
  take: () => Promise<() => void>
}

export function createMutex(): Mutex {
  let last: Promise<void> = Promise.resolve()
  return {
    take: async () => {
      const before = last
      const { promise, resolve } = Promise.withResolvers<undefined>()
      last = promise
      await before
      return () => {
        resolve(undefined)
      }
    },
  }
}
