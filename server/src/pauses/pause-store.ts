import { sql } from 'kysely'
import type { Expression } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'

interface PauseRow {
  /** A user, or the whole service. */
  scope: string
  paused_at: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    pauses: PauseRow
  }
}

const service = 'service'

/** Null stands for the whole service. */
export type Paused = string | null

/** Whether calls on grants of this user are paused. A grant of the sandbox may have no user. */
// A scalar subquery instead of `exists`, for which PostgreSQL might hash a whole table.
export const isPausedFor = (userId: Expression<string | null>) =>
  sql<
    boolean | number
  >`((select count(*) from pauses where scope in (${sql.lit(service)}, coalesce(${userId}, ''))) > 0)`

export const pauseStore = {
  find: async (queries: Queries, paused: Paused): Promise<Date | null> => {
    const row = await queries
      .selectFrom('pauses')
      .select('paused_at')
      .where('scope', '=', paused ?? service)
      .executeTakeFirst()
    return fromTime(row?.paused_at ?? null)
  },

  /** False if they are paused already. */
  insert: async (tx: Queries, paused: Paused, now: Date): Promise<boolean> => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('pauses')
      .values({ scope: paused ?? service, paused_at: now.getTime() })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  },

  /** False if they are not paused. */
  delete: async (tx: Queries, paused: Paused): Promise<boolean> => {
    const { numDeletedRows } = await tx
      .deleteFrom('pauses')
      .where('scope', '=', paused ?? service)
      .executeTakeFirst()
    return numDeletedRows === 1n
  },
}

export type PauseStore = typeof pauseStore
