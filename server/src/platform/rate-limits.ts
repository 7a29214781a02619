import { ServiceError } from './errors.ts'
import type { Queries } from './database/database.ts'
import { prepared } from './database/prepared.ts'

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

const dayMs = 86_400_000

interface Taking {
  key: string
  /** Where the bucket stands after the first call ever. */
  first: number
  time: number
  periodMs: number
  latest: number
  impossible: number
}

const take = prepared((queries: Queries, { key, first, time, periodMs, latest, impossible }: Taking) =>
  queries
    .insertInto('rate_limits')
    .values({ key, full_at: first })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet((eb) => ({
          full_at: eb(
            eb
              .case()
              .when('rate_limits.full_at', '>', impossible)
              .then(eb.val(latest))
              .when('rate_limits.full_at', '>', time)
              .then(eb.ref('rate_limits.full_at'))
              .else(eb.val(time))
              .end(),
            '+',
            periodMs,
          ),
        }))
        .where((eb) => eb.or([eb('rate_limits.full_at', '<=', latest), eb('rate_limits.full_at', '>', impossible)])),
    )
    .returning('full_at'),
)

/**
 * Takes one call out of the bucket, or refuses. It is one conditional write on a row that all instances share; in
 * a transaction that fails later it is given back. The row holds the moment at which the bucket will be full again.
 */
export async function takeFromLimit(
  queries: Queries,
  key: string,
  { burst, periodMs }: RateLimit,
  now: Date,
): Promise<void> {
  const time = now.getTime()
  const latest = time + (burst - 1) * periodMs
  // Only a clock that was far ahead can have written that: taken at its word, it would lock the caller out until then.
  const impossible = latest + periodMs + dayMs
  const first = time + periodMs
  const [taken] = await take(queries, { key, first, time, periodMs, latest, impossible })
  if (taken) return
  const row = await queries.selectFrom('rate_limits').select('full_at').where('key', '=', key).executeTakeFirst()
  const waitMs = (row?.full_at ?? time) - latest
  throw new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
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
export async function dropFullLimits(queries: Queries, now: Date): Promise<void> {
  await queries.deleteFrom('rate_limits').where('full_at', '<', now.getTime()).execute()
}
