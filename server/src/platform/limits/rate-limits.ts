import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { ServiceError } from '../errors.ts'
import { deleteBatch } from '../database/batches.ts'
import type { BatchStatement, Queries } from '../database/database.ts'
import { preparedForKeys, preparedBatch } from '../database/prepared.ts'
import type { KeyList } from '../database/prepared.ts'
import { groupsWithUniqueKeys, batchLookup } from '../database/batch-lookup.ts'

/** A bucket that holds `burst` calls and fills again at one call every `periodMs`. */
export interface RateLimit {
  burst: number
  periodMs: number
}

export function perMinute(count: number): RateLimit {
  return { burst: count, periodMs: Math.ceil(60_000 / count) }
}

export function perHour(count: number): RateLimit {
  return { burst: count, periodMs: Math.ceil(3_600_000 / count) }
}

export function perDay(count: number): RateLimit {
  return { burst: count, periodMs: Math.ceil(86_400_000 / count) }
}

export function perSecond(count: number, burst: number): RateLimit {
  return { burst, periodMs: Math.ceil(1000 / count) }
}

/** Processes that share a database share a clock (database-clock.ts), and know it to within this. */
const differenceMs = 1_000

export interface Taking {
  key: string
  limit: RateLimit
  now: Date
  calls: number
}

export interface Times {
  /** Where a bucket stands after the first call ever. */
  first: number
  time: number
  takenMs: number
  latest: number
  impossible: number
}

// All instances take in the same order, so that none waits for another that waits for it.
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

/** The same on SQLite, as a note: each time it changes the bucket's row, or none. */
export function noteOfTakings(queries: Queries, keys: readonly string[], times: Times): BatchStatement {
  return takeEach(
    queries,
    keys.map((key) => ({ ...times, key })),
  )
}

const takeEach = preparedBatch<Times & { key: string }>((queries, taking) =>
  sql`
    insert into rate_limits (key, full_at) values (${taking.key}, ${taking.first})
    on conflict (key) ${takingAgain(taking)}`.compile(queries),
)

const takeAll = preparedForKeys<Times, { key: string }>(
  (queries, times, keys) => takingFromLimits(times, keys).compile(queries),
  { leavesCachesValid: true },
)

const take = batchLookup(async (queries: Queries, takings: readonly Taking[]): Promise<boolean[]> => {
  const taken = new Set<Taking>()
  const limits = Map.groupBy(takings, ({ limit, calls }) => `${limit.burst} ${limit.periodMs} ${calls}`)
  for (const alike of limits.values()) {
    for (const wave of groupsWithUniqueKeys(alike, ({ key }) => key)) {
      const [first] = wave
      if (!first) continue
      const keys = wave.map(({ key }) => key)
      const rows = await takeAll(queries, timesOf(first), keys)
      const through = new Set(rows.map(({ key }) => key))
      for (const taking of wave) if (through.has(taking.key)) taken.add(taking)
    }
  }
  return takings.map((taking) => taken.has(taking))
})

export function timesOf({ limit: { burst, periodMs }, now, calls }: Omit<Taking, 'key'>): Times {
  const time = now.getTime()
  const takenMs = calls * periodMs
  const latest = time + burst * periodMs - takenMs
  // Only a clock that was ahead, or has been set back since, can have written that: taken at its word, it would lock the
  // caller out until then.
  return { first: time + takenMs, time, takenMs, latest, impossible: time + burst * periodMs + differenceMs }
}

/**
 * Takes one call out of the bucket, or refuses. It is one conditional write on a row that all instances share; in
 * a transaction that fails later it is given back. The row holds the moment at which the bucket will be full again.
 */
export async function takeFromLimit(queries: Queries, key: string, limit: RateLimit, now: Date): Promise<void> {
  const taking = { key, limit, now, calls: 1 }
  if (await take(queries, taking)) return
  const { time, latest } = timesOf(taking)
  const row = await queries.selectFrom('rate_limits').select('full_at').where('key', '=', key).executeTakeFirst()
  const waitMs = (row?.full_at ?? time) - latest
  throw new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

/** Takes so many at once, or none. */
export function tryTakeFromLimit(
  queries: Queries,
  key: string,
  limit: RateLimit,
  now: Date,
  calls: number,
): Promise<boolean> {
  return take(queries, { key, limit, now, calls })
}

/** Puts back one call that was taken. */
export async function giveBackToLimit(tx: Queries, key: string, { periodMs }: RateLimit): Promise<void> {
  await tx
    .updateTable('rate_limits')
    .set((eb) => ({ full_at: eb('full_at', '-', periodMs) }))
    .where('key', '=', key)
    .execute()
}

/** A bucket that is full again says nothing. */
export function dropFullLimits(queries: Queries, now: Date): Promise<number> {
  return deleteBatch(queries, 'rate_limits', 'key', sql`full_at < ${now.getTime()}`)
}
