/**
 * A transactional outbox: a commit also stores the deliveries that have to follow, so a crash loses none. An item is
 * leased to the instance that claims it; if it is never settled, the lease runs out and it is claimed again.
 */
import { sql } from 'kysely'
import type { Queries } from './database/database.ts'
import type { Tables } from './database/tables.ts'
import { fromTime } from './database/times.ts'
import type { Log } from './operations/log.ts'

interface OutboxNeeds<Item> {
  /** For the log. */
  what: string
  /** Leases up to `limit` due items to this instance. */
  claim: (limit: number) => Promise<Item[]>
  /** Delivers the item and stores the result: done, given up, or due again later. */
  carryOut: (item: Item) => Promise<void>
  concurrency: number
  log: Log
}

export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox<Item>({ what, claim, carryOut, concurrency, log }: OutboxNeeds<Item>) {
  const underWay = new Set<Promise<void>>()
  let isEnding = false
  let round: Promise<void> | undefined
  let news = Promise.withResolvers<undefined>()

  const begin = (item: Item) => {
    const work = carryOut(item)
      .catch((error: unknown) => {
        log.error({ err: error }, `${what}: a delivery could not be completed and will be retried`)
      })
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  // A slow delivery blocks only its own slot: when another one ends, the next item is claimed.
  const work = async () => {
    for (;;) {
      const wakened = news.promise
      const free = isEnding ? 0 : concurrency - underWay.size
      const items = free > 0 ? await claim(free) : []
      items.forEach(begin)
      if (items.length > 0 && items.length === free) continue
      // An item that was added during the claim may have been missed by it.
      const isNews = !isEnding && wakened !== news.promise
      if (underWay.size === 0 && !isNews) return
      await Promise.race([...underWay, ...(isEnding ? [] : [wakened])])
    }
  }

  const due = (): Promise<void> => {
    news.resolve(undefined)
    news = Promise.withResolvers()
    round ??= work().finally(() => {
      round = undefined
    })
    return round
  }

  return {
    /** Delivers everything that is due; resolves when nothing is left. */
    due,
    /** Call it when something new may be due. */
    kick: (): void => {
      due().catch((error: unknown) => {
        log.error({ err: error }, `${what}: due deliveries could not be read`)
      })
    },
    /** Starts no further deliveries; resolves once none is running. */
    ended: async (): Promise<void> => {
      isEnding = true
      news.resolve(undefined)
      await round?.catch(() => undefined)
      // A round whose claim failed has left its deliveries running.
      await Promise.all(underWay)
    },
  }
}

export interface OutboxSize {
  waiting: number
  due: number
  oldestDueAt: Date | null
}

/** Rows beyond this number are not counted. */
const mostCounted = 10_000

/** For a table whose rows are attempted at `attempt_after`, or leased until then. */
export async function outboxSize(queries: Queries, table: keyof Tables, now: Date): Promise<OutboxSize> {
  const isDue = sql`is_leased = 0 and attempt_after <= ${now.getTime()}`
  const { rows } = await sql<{ waiting: number; due: number; oldest: number | null }>`
    select count(*) as waiting, count(case when ${isDue} then 1 end) as due,
      min(case when ${isDue} then attempt_after end) as oldest
    from (
      select is_leased, attempt_after from ${sql.table(table)}
      where attempt_after is not null order by attempt_after limit ${mostCounted}
    ) waiting`.execute(queries)
  const [{ waiting, due, oldest } = { waiting: 0, due: 0, oldest: null }] = rows
  return { waiting, due, oldestDueAt: fromTime(oldest) }
}
