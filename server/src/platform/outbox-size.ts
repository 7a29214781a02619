import { sql } from 'kysely'
import type { Queries } from './database/database.ts'

export interface OutboxSize {
  waiting: number
  due: number
  oldestDueAt: Date | null
}

/** However much waits, no more is counted. */
const mostCounted = 10_000

/** Of a table whose rows are tried at `attempt_after`, or are under way until then. */
export async function outboxSize(queries: Queries, table: 'callbacks' | 'pushes', now: Date): Promise<OutboxSize> {
  const isDue = sql`is_leased = 0 and attempt_after <= ${now.getTime()}`
  const { rows } = await sql<{ waiting: number | string; due: number | string; oldest: number | string | null }>`
    select count(*) as waiting, count(case when ${isDue} then 1 end) as due,
      min(case when ${isDue} then attempt_after end) as oldest
    from (
      select is_leased, attempt_after from ${sql.table(table)}
      where attempt_after is not null order by attempt_after limit ${mostCounted}
    ) waiting`.execute(queries)
  const [row] = rows
  const oldest = row?.oldest ?? null
  return {
    waiting: Number(row?.waiting ?? 0),
    due: Number(row?.due ?? 0),
    oldestDueAt: oldest === null ? null : new Date(Number(oldest)),
  }
}
