import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { ServiceError } from '../errors.ts'
import { deleteBatch } from '../database/batches.ts'
import type { BatchStatement, Queries } from '../database/database.ts'
import { prepared, preparedBatch } from '../database/prepared.ts'
import type { KeyList } from '../database/prepared.ts'

/** A token bucket that holds `burst` calls and refills by one call every `periodMs`. */
export interface RateLimit {
  burst: number
  periodMs: number
}

const per =
  (ms: number) =>
  (count: number): RateLimit => ({ burst: count, periodMs: Math.ceil(ms / count) })

export const perMinute = per(60_000)
export const perHour = per(3_600_000)
export const perDay = per(86_400_000)

export function perSecond(count: number, burst: number): RateLimit {
  return { burst, periodMs: Math.ceil(1000 / count) }
}

/** Processes that share a database share its clock (database-clock.ts), to within this accuracy. */
const clockErrorMs = 1_000

interface Taking {
  limit: RateLimit
  now: Date
  calls: number
}

export interface Times {
  /** The `full_at` of a bucket after its first call. */
  first: number
  time: number
  takenMs: number
  latest: number
  impossible: number
}

// Ordered by key: all instances lock rows in the same order, which avoids deadlocks.
export function takingFromLimits(times: Times, keys: KeyList) {
  return sql<{ key: string }>`
    with taken (key) as (${keys.rows})
    insert into rate_limits (key, full_at)
    select distinct key, cast(${times.first} as bigint) from taken where true order by key
    on conflict (key) ${takingAgain(times)}
    returning key`
}

function takingAgain({ time, takenMs, latest, impossible }: Times): RawBuilder<unknown> {
  return sql`do update set full_at = ${takenMs} + case
      when rate_limits.full_at > ${impossible} then ${latest}
      when rate_limits.full_at > ${time} then rate_limits.full_at
      else ${time} end
    where rate_limits.full_at <= ${latest} or rate_limits.full_at > ${impossible}`
}

/** The same for SQLite, as a batch statement: each run changes the bucket's row, or none if the bucket is empty. */
export function takeStatement(queries: Queries, keys: readonly string[], times: Times): BatchStatement {
  const takings = keys.map((key) => ({ ...times, key }))
  return takeEach(queries, takings)
}

const takeEach = preparedBatch<KeyedTimes>((queries, taking) => takingFromLimit(taking).compile(queries))

const takeOne = prepared<KeyedTimes, { key: string }>(
  (queries, taking) => sql<{ key: string }>`${takingFromLimit(taking)} returning key`.compile(queries),
  { leavesCachesValid: true },
)

type KeyedTimes = Times & { key: string }

function takingFromLimit(taking: KeyedTimes): RawBuilder<unknown> {
  return sql`
    insert into rate_limits (key, full_at) values (${taking.key}, ${taking.first})
    on conflict (key) ${takingAgain(taking)}`
}

export function timesOf({ limit: { burst, periodMs }, now, calls }: Taking): Times {
  const time = now.getTime()
  const takenMs = calls * periodMs
  const latest = time + burst * periodMs - takenMs
  // Later times can only come from a clock that was ahead or has been set back: they would lock the caller out.
  return { first: time + takenMs, time, takenMs, latest, impossible: time + burst * periodMs + clockErrorMs }
}

/**
 * Takes one call from the bucket or throws `rate_limited`. One conditional write on a row that all instances share: a
 * transaction that is rolled back returns the call. The row holds the time at which the bucket will be full again.
 */
export async function takeFromLimit(queries: Queries, key: string, limit: RateLimit, now: Date): Promise<void> {
  if (await tryTakeFromLimit(queries, key, limit, now, 1)) return
  const { time, latest } = timesOf({ limit, now, calls: 1 })
  const row = await queries.selectFrom('rate_limits').select('full_at').where('key', '=', key).executeTakeFirst()
  const waitMs = (row?.full_at ?? time) - latest
  throw new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

/** Takes all of `calls`, or none. */
export async function tryTakeFromLimit(
  queries: Queries,
  key: string,
  limit: RateLimit,
  now: Date,
  calls: number,
): Promise<boolean> {
  return (await takeOne(queries, { key, ...timesOf({ limit, now, calls }) })).length > 0
}

/** Returns one call to the bucket. */
export async function giveBackToLimit(tx: Queries, key: string, { periodMs }: RateLimit): Promise<void> {
  await tx
    .updateTable('rate_limits')
    .set((eb) => ({ full_at: eb('full_at', '-', periodMs) }))
    .where('key', '=', key)
    .execute()
}

/** Deletes buckets that are full again. */
export function dropFullLimits(queries: Queries, now: Date): Promise<number> {
  return deleteBatch(queries, 'rate_limits', 'key', sql`full_at < ${now.getTime()}`)
}
