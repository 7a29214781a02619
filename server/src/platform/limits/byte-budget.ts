/**
 * Limits the memory that is held for callers. Held bytes count against several shares, such as the caller's and that of
 * all callers together; a hold grows only while every share has room.
 */
export interface Share {
  key: string
  maxBytes: number
}

export interface Hold {
  /** Returns false, and takes nothing, if a share has no room. */
  grow: (bytes: number) => boolean
  /** Sets the total number of bytes. Shrinking always succeeds. */
  resize: (bytes: number) => boolean
  /** Returns all bytes. After that the hold can't grow again. */
  release: () => void
}

export interface ByteBudget {
  hold: (shares: readonly Share[]) => Hold
  held: (key: string) => number
}

export function createByteBudget(): ByteBudget {
  const held = new Map<string, number>()
  const add = (key: string, bytes: number) => {
    const sum = (held.get(key) ?? 0) + bytes
    if (sum === 0) held.delete(key)
    else held.set(key, sum)
  }
  return {
    held: (key) => held.get(key) ?? 0,
    hold: (shares) => {
      let taken = 0
      let isReleased = false
      const grow = (bytes: number): boolean => {
        if (bytes > 0 && isReleased) return false
        if (bytes > 0 && shares.some(({ key, maxBytes }) => (held.get(key) ?? 0) + bytes > maxBytes)) return false
        for (const { key } of shares) add(key, bytes)
        taken += bytes
        return true
      }
      return {
        grow,
        resize: (bytes) => grow(bytes - taken),
        release: () => {
          isReleased = true
          grow(-taken)
        },
      }
    },
  }
}
