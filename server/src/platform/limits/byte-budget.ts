/**
 * Bounds memory that is held on behalf of callers. What is held counts for every share it belongs to, such as its
 * caller's and the whole; it grows only while all of them have room.
 */
export interface Share {
  key: string
  maxBytes: number
}

export interface Hold {
  /** False, and nothing is taken, where a share has no room for so much more. */
  grow: (bytes: number) => boolean
  /** To so much in all; smaller always succeeds. */
  resize: (bytes: number) => boolean
  /** For good: from then on it does not grow. */
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
