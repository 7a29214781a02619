/**
 * The database's time, for instances that share a database: each compares rates, leases and expiry times with what others
 * wrote. Between queries it runs on the monotonic clock, so changes of this machine's clock have no effect.
 */
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from './database.ts'

export interface DatabaseClock {
  now: Clock
  /** Asks the database again. If that fails, the clock keeps running. */
  adjust: () => Promise<void>
  /** How far this machine's clock is ahead of the database's. */
  offsetMs: () => number
}

/** The time is off by at most half the duration of the query: slower answers are ignored (see rate-limits.ts). */
const longestQuestionMs = 1_000

/** SQLite uses the machine's clock. */
export async function followDatabaseClock(
  { engine, queries }: Pick<Database, 'engine' | 'queries'>,
  system: Clock,
  monotonicMs: () => number = () => performance.now(),
): Promise<DatabaseClock> {
  if (engine === 'sqlite') return { now: system, adjust: () => Promise.resolve(), offsetMs: () => 0 }
  let base = { at: 0, askedAt: 0 }
  const adjust = async () => {
    const before = monotonicMs()
    const { rows } = await sql<{ at: number }>`
      select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as at`.execute(queries)
    const after = monotonicMs()
    if (base.at !== 0 && after - before > longestQuestionMs) return
    base = { at: rows[0]?.at ?? 0, askedAt: (before + after) / 2 }
  }
  const now = () => new Date(base.at + monotonicMs() - base.askedAt)
  await adjust()
  return { now, adjust, offsetMs: () => system().getTime() - now().getTime() }
}
