/** The tables of the record: what is put there at the end of a transaction, and what verify and retention read. */
import { CompiledQuery, sql } from 'kysely'
import type { Engine, Queries } from '../platform/database/database.ts'
import type { Sequence } from '../platform/database/tables.ts'
import type { Head, RecordRow } from './audit-hash.ts'
import type { SignedHead } from './signed-head.ts'

interface SignedRow {
  chain: string
  position: number
  hash: Uint8Array
  at: number
  signature: Uint8Array
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    audit_records: RecordRow & {
      sequence: Sequence
      /** Null in records of before there were chains. */
      chain: string | null
      position: number | null
      hash: Uint8Array | null
    }
    audit_heads: SignedRow
    audit_stubs: SignedRow
  }
}

export interface LinkedRow extends RecordRow, Head {}

const columns = [
  'audit_id',
  'event',
  'at',
  'request_id',
  'agent_id',
  'user_id',
  'grant_id',
  'connection_id',
  'provider',
  'outcome',
  'detail',
  'chain',
  'position',
  'hash',
] as const satisfies (keyof LinkedRow)[]

/** A statement is prepared for each number of rows; more than this go in several. */
const rowsAtOnce = 64

export const auditChainStore = {
  insert: async (engine: Engine, tx: Queries, rows: readonly LinkedRow[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      const batch = rows.slice(from, from + rowsAtOnce)
      const values: unknown[] = []
      for (const row of batch) for (const column of columns) values.push(row[column])
      await tx.executeQuery(CompiledQuery.raw(insertOf(engine, batch.length), values))
    }
  },

  insertHead: async (tx: Queries, { at, ...head }: SignedHead): Promise<void> => {
    await tx
      .insertInto('audit_heads')
      .values({ ...head, at: at.getTime() })
      .onConflict((conflict) => conflict.columns(['chain', 'position']).doNothing())
      .execute()
  },

  /** The last record of every chain that has any, in the order in which the chains began. */
  listHeads: async (queries: Queries): Promise<Head[]> => {
    const { rows } = await sql<Head>`
      with recursive chains (chain) as (
        select min(chain) from audit_records where chain is not null
        union all
        select (select min(chain) from audit_records where chain > chains.chain) from chains where chain is not null
      )
      select chain, position, hash from audit_records join (
        select chain as name, (select max(position) from audit_records r where r.chain = chains.chain) as last
        from chains where chain is not null
      ) heads on chain = name and position = last
      order by chain`.execute(queries)
    return rows
  },
}

export type AuditChainStore = typeof auditChainStore

const inserts: Record<Engine, string[]> = { sqlite: [], postgres: [] }

/** Built by hand: Kysely would take longer over it than the database. */
function insertOf(engine: Engine, count: number): string {
  return (inserts[engine][count] ??= (() => {
    let parameters = 0
    const parameter = () => (engine === 'sqlite' ? '?' : `$${++parameters}`)
    const row = () => `(${columns.map(parameter).join(', ')})`
    return `insert into audit_records (${columns.join(', ')}) values ${Array.from({ length: count }, row).join(', ')}`
  })())
}
