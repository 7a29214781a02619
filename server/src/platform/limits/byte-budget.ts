/**
 * Limits the memory that is held for callers. Held bytes count against several shares, such as the caller's and that of
 * all callers together; a hold grows only while every share has room.
 */
export interface Share {
  key: string
  maxBytes: number
}

export type ByteBudget = ReturnType<typeof createByteBudget>
export type Hold = ReturnType<ByteBudget['hold']>

export function createByteBudget() {
  const held = new Map<string, number>()
  const add = (key: string, bytes: number) => {
    const sum = (held.get(key) ?? 0) + bytes
    if (sum === 0) held.delete(key)
    else held.set(key, sum)
  }
  return {
    held: (key: string): number => held.get(key) ?? 0,
    hold: (shares: readonly Share[]) => {
      let taken = 0
      let isReleased = false
      /** Returns false, and takes nothing, if a share has no room. */
      const grow = (bytes: number): boolean => {
        if (bytes > 0 && isReleased) return false
        if (bytes > 0 && shares.some(({ key, maxBytes }) => (held.get(key) ?? 0) + bytes > maxBytes)) return false
        for (const { key } of shares) add(key, bytes)
        taken += bytes
        return true
      }
      return {
        grow,
        /** Sets the total number of bytes. Shrinking always succeeds. */
        resize: (bytes: number) => grow(bytes - taken),
        /** Returns all bytes. After that the hold can't grow again. */
        release: () => {
          isReleased = true
          grow(-taken)
        },
      }
    },
  }
}
