/**
 * Bounds how many bytes callers can have stored. Bytes count against several shares, such as that of the caller, of its
 * address and of all callers together; each refills evenly. All instances share them: each takes a chunk from the
 * database and spends it in memory.
 */
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { setBounded } from '../cache/memoize.ts'
import { tryTakeFromLimit } from './rate-limits.ts'
import { createSemaphore } from './semaphore.ts'

export interface StorageShare {
  key: string
  maxBytes: number
  /** How long an empty share takes to refill. */
  refillMs: number
}

export type StorageLimits = ReturnType<typeof createStorageLimits>

const kibibyte = 1024
/** Few writes to the database, and little that is lost when the process stops. */
const chunk = { min: 16 * kibibyte, max: 256 * kibibyte, ofShare: 1 / 64 }
class NoRoom extends Error {}

export function createStorageLimits({ database, clock }: { database: Database; clock: Clock }) {
  /** Bytes drawn from a share and not yet spent. */
  const left = new Map<string, number>()
  /** One draw at a time: those who wait find what the first one has drawn. */
  const lock = createSemaphore(1)
  const has = (key: string, bytes: number) => (left.get(key) ?? 0) >= bytes
  const add = (key: string, bytes: number) => {
    setBounded(left, key, (left.get(key) ?? 0) + bytes)
  }

  const drawOne = async (tx: Queries, { key, maxBytes, refillMs }: StorageShare, bytes: number): Promise<number> => {
    const burst = Math.floor(maxBytes / kibibyte)
    const limit = { burst, periodMs: Math.ceil(refillMs / burst) }
    const usual = Math.min(chunk.max, Math.max(chunk.min, maxBytes * chunk.ofShare))
    for (const wanted of [Math.max(usual, bytes), bytes]) {
      const kibibytes = Math.ceil(wanted / kibibyte)
      if (await tryTakeFromLimit(tx, key, limit, clock(), kibibytes)) return kibibytes * kibibyte
    }
    throw new NoRoom()
  }

  /** From all of them, or from none. False if one is used up. */
  const draw = async (shares: readonly StorageShare[], bytes: number): Promise<boolean> => {
    try {
      const drawn = await database.transaction(async (tx) => {
        const amounts: [string, number][] = []
        for (const share of shares) amounts.push([share.key, await drawOne(tx, share, bytes)])
        return amounts
      })
      for (const [key, amount] of drawn) add(key, amount)
      return true
    } catch (error) {
      if (error instanceof NoRoom) return false
      throw error
    }
  }

  return {
    /** Takes the bytes from all shares, or from none if one is used up. */
    trySpend: async (shares: readonly StorageShare[], bytes: number): Promise<boolean> => {
      // All instances lock the rows in the same order, which avoids deadlocks.
      const sorted = shares.toSorted((one, other) => (one.key < other.key ? -1 : 1))
      const lacking = () => sorted.filter(({ key }) => !has(key, bytes))
      const release = lacking().length > 0 ? await lock.acquire() : undefined
      try {
        for (let empty = lacking(); empty.length > 0; empty = lacking()) if (!(await draw(empty, bytes))) return false
        for (const { key } of sorted) add(key, -bytes)
        return true
      } finally {
        release?.()
      }
    },
    /** For what was not stored after all. */
    giveBack: (shares: readonly StorageShare[], bytes: number): void => {
      for (const { key } of shares) add(key, bytes)
    },
  }
}
