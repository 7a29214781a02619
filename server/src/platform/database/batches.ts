/**
 * Work on many rows, in batches. On SQLite a statement blocks the event loop, and statements in a row never let go of it:
 * so each statement is bounded, and each batch waits for its turn among all long work (slices.ts).
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { nextSlice } from '../event-loop/time-slices.ts'
import type { Database, Queries } from './database.ts'
import type { Tables } from './tables.ts'

/** One statement reads or deletes at most this many rows: a millisecond or two of the event loop on SQLite. */
export const rowsPerBatch = 100

/** Takes steps until one says that it was the last. */
export async function inBatches(step: () => Promise<'more' | 'done'>): Promise<void> {
  while ((await step()) === 'more') await nextSlice()
}

/** Deletes a batch of the rows for which the condition holds; returns how many. `key` is the table's primary key. */
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

/** Runs what deletes a batch, each in a transaction of its own, until there is nothing left to delete. */
export async function deleteAll(database: Database, deleteSome: (tx: Queries) => Promise<number>): Promise<void> {
  await inBatches(async () => ((await database.transaction(deleteSome)) < rowsPerBatch ? 'done' : 'more'))
}
