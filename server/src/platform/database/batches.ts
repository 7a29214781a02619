/**
 * Work on many rows, in batches. On SQLite a statement blocks the event loop, and so do statements in a row: so each
 * statement is limited, and each batch waits for a slice (time-slices.ts).
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { nextSlice } from '../event-loop/time-slices.ts'
import type { Database, Queries } from './database.ts'
import type { Tables } from './tables.ts'

/** The most rows that one statement reads or deletes: one or two milliseconds on SQLite. */
export const rowsPerBatch = 100

/** Repeats `step` until it returns 'done'. */
export async function inBatches(step: () => Promise<'more' | 'done'>): Promise<void> {
  while ((await step()) === 'more') await nextSlice()
}

/** Deletes one batch of the rows that match the condition; returns how many. `key` is the primary key. */
export async function deleteBatch(
  tx: Queries,
  table: keyof Tables,
  key: string | readonly string[],
  condition: RawBuilder<unknown>,
): Promise<number> {
  const columns = sql.join([key].flat().map((name) => sql.ref(name)))
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${condition} limit ${sql.lit(rowsPerBatch)}
    )`.execute(tx)
  return Number(numAffectedRows)
}

/** Deletes batch after batch, each in its own transaction, until nothing is left. */
export async function deleteAll(database: Database, deleteSome: (tx: Queries) => Promise<number>): Promise<void> {
  await inBatches(async () => ((await database.transaction(deleteSome)) < rowsPerBatch ? 'done' : 'more'))
}
