/**
 * Call rates are kept in the database, for all instances together. Each instance takes a few calls of an agent in
 * advance, so that not every call has to write there. A crash loses no more than those.
 */
import type { Queries } from '../platform/database/database.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import { takeFromLimit, tryTakeFromLimit } from '../platform/limits/rate-limits.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'

/** The part of an agent's burst that is taken in advance. */
const share = 1 / 20

export interface Rate {
  key: string
  limit: RateLimit
}

/** Rejects with rate_limited if the agent may not make another call. Undefined if a prepaid call was used. */
export type TakeCall = (tx: Queries, rate: Rate, now: Date) => Promise<void> | undefined

export interface PrepaidCalls {
  take: TakeCall
  /** What to take for all these calls. Undefined if one statement can't do it. */
  plan: (rates: readonly Rate[]) => PlannedTaking | undefined
}

export interface PlannedTaking {
  keys: readonly string[]
  limit: RateLimit
  /** To be taken for each key. */
  calls: number
  /** Call it with whether they were taken. */
  ended: (isTaken: boolean) => void
}

const noLimit: RateLimit = { burst: 0, periodMs: 0 }

export function createPrepaidCalls(): PrepaidCalls {
  const chunkOf = ({ burst }: RateLimit) => Math.floor(burst * share)
  const left = new Map<string, number>()
  const spend = (key: string): boolean => {
    const calls = left.get(key) ?? 0
    if (calls > 0) left.set(key, calls - 1)
    return calls > 0
  }
  const add = (key: string, calls: number) => {
    setBounded(left, key, (left.get(key) ?? 0) + calls)
  }
  const takeMore = async (tx: Queries, key: string, limit: RateLimit, now: Date) => {
    const chunk = chunkOf(limit)
    if (chunk > 1 && (await tryTakeFromLimit(tx, key, limit, now, chunk))) {
      add(key, chunk - 1)
      return
    }
    // A concurrent call may have taken more than it needs.
    if (!spend(key)) await takeFromLimit(tx, key, limit, now)
  }

  return {
    take: (tx, { key, limit }, now) => (spend(key) ? undefined : takeMore(tx, key, limit, now)),

    plan: (rates) => {
      const spent: string[] = []
      const wanted = new Map<string, number>()
      let limit: RateLimit | undefined
      let isPossible = true
      for (const rate of rates) {
        if (spend(rate.key)) {
          spent.push(rate.key)
          continue
        }
        limit ??= rate.limit
        wanted.set(rate.key, (wanted.get(rate.key) ?? 0) + 1)
        if (rate.limit.burst !== limit.burst || rate.limit.periodMs !== limit.periodMs) isPossible = false
      }
      const calls = limit ? Math.max(1, chunkOf(limit)) : 0
      const ended = (isTaken: boolean) => {
        if (isTaken) for (const [key, count] of wanted) add(key, calls - count)
        else for (const key of spent) add(key, 1)
      }
      if (isPossible && [...wanted.values()].every((count) => count <= calls)) {
        return { keys: [...wanted.keys()], limit: limit ?? noLimit, calls, ended }
      }
      ended(false)
      return undefined
    },
  }
}
