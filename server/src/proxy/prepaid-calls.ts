/**
 * The rate of calls is settled in the database, for all instances together. Each instance takes a few calls of an agent
 * in advance, so that not every call has to write there; a crash loses an agent no more than those.
 */
import type { Queries } from '../platform/database/database.ts'
import { takeFromLimit, tryTakeFromLimit } from '../platform/rate-limits.ts'
import type { RateLimit } from '../platform/rate-limits.ts'

/** Of what an agent may call at once. */
const share = 1 / 20
const mostKept = 10_000

/** Undefined, or resolves, where the agent may make one call more; otherwise rate_limited. */
export type TakeCall = (tx: Queries, rate: { key: string; limit: RateLimit }, now: Date) => Promise<void> | undefined

export function createPrepaidCalls(): TakeCall {
  const left = new Map<string, number>()
  const spend = (key: string): boolean => {
    const calls = left.get(key) ?? 0
    if (calls > 0) left.set(key, calls - 1)
    return calls > 0
  }
  const takeMore = async (tx: Queries, key: string, limit: RateLimit, now: Date) => {
    const few = Math.floor(limit.burst * share)
    if (few > 1 && (await tryTakeFromLimit(tx, key, limit, now, few))) {
      if (left.size >= mostKept) left.clear()
      left.set(key, (left.get(key) ?? 0) + few - 1)
      return
    }
    // A call that came at the same time may have taken more than it needs.
    if (!spend(key)) await takeFromLimit(tx, key, limit, now)
  }
  return (tx, { key, limit }, now) => (spend(key) ? undefined : takeMore(tx, key, limit, now))
}
