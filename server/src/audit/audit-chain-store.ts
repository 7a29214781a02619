/** The tables of the audit log: inserts at the end of a transaction, and what verification and retention read. */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { batchRunnerOf } from '../platform/database/database.ts'
import type { BatchStatement, Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import type { Sequence } from '../platform/database/tables.ts'
import { recordColumns, recordValues } from './audit-hash.ts'
import type { Head, RecordRow } from './audit-hash.ts'
import type { SignedHead } from './chain-heads.ts'

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
      /** Null in records from before there were chains. */
      chain: string | null
      position: number | null
      hash: Uint8Array | null
      /** Only in the last record of each commit. */
      mac: Uint8Array | null
    }
    audit_heads: SignedRow
    audit_stubs: SignedRow
  }
}

export interface LinkedRow extends RecordRow, Head {
  mac: Uint8Array | null
}

const columns = [...recordColumns, 'chain', 'position', 'hash', 'mac'] as const satisfies (keyof LinkedRow)[]

export const auditChainStore = {
  insert: async (tx: Queries, rows: readonly LinkedRow[]): Promise<void> => {
    const runBatch = batchRunnerOf(tx)
    if (!runBatch) {
      await insertAll(tx, { records: asJson(rows) })
      return
    }
    await runBatch(insertStatement(rows))
  },

  insertHead: async (tx: Queries, head: SignedHead): Promise<void> => {
    await tx
      .insertInto('audit_heads')
      .values(toSignedRow(head))
      .onConflict((conflict) => conflict.columns(['chain', 'position']).doNothing())
      .execute()
  },

  /** The last record of every chain, in the order in which the chains began. */
  listHeads: async (queries: Queries): Promise<Head[]> => {
    const { rows } = await sql<Head>`
      with recursive ${chainsIn('audit_records')}
      select chain, position, hash from audit_records join (
        select chain as name, (select max(position) from audit_records r where r.chain = chains.chain) as last
        from chains where chain is not null
      ) heads on chain = name and position = last
      order by chain`.execute(queries)
    return rows
  },

  /** The details of the chains' first records, unless retention has deleted them. */
  listStarts: async (queries: Queries): Promise<string[]> => {
    const { rows } = await sql<{ detail: string }>`
      with recursive ${chainsIn('audit_records')}
      select detail from audit_records join (select chain as name from chains where chain is not null) starts
      on chain = name and position = 1`.execute(queries)
    return rows.map(({ detail }) => detail)
  },

  countUnchained: async (queries: Queries): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from audit_records where chain is null`.execute(queries)
    return rows[0]?.count ?? 0
  },

  /** The next records of a chain. */
  listAfter: (queries: Queries, chain: string, position: number, limit: number): Promise<LinkedRow[]> =>
    queries
      .selectFrom('audit_records')
      .select(columns)
      .where('chain', '=', chain)
      .where('position', '>', position)
      .orderBy('position')
      .limit(limit)
      .$castTo<LinkedRow>()
      .execute(),

  /** The signed heads between two positions, both included. */
  listSigned: async (queries: Queries, chain: string, from: number, to: number): Promise<SignedHead[]> => {
    const query = queries.selectFrom('audit_heads').selectAll().where('chain', '=', chain)
    const rows = await query.where('position', '>=', from).where('position', '<=', to).orderBy('position').execute()
    return rows.map(toSigned)
  },

  /** The last signed head of every chain. */
  listLastSigned: async (queries: Queries): Promise<SignedHead[]> => {
    const { rows } = await sql<SignedRow>`
      with recursive ${chainsIn('audit_heads')}
      select audit_heads.* from audit_heads join (
        select chain as name, (select max(position) from audit_heads h where h.chain = chains.chain) as last
        from chains where chain is not null
      ) lasts on chain = name and position = last
      order by chain`.execute(queries)
    return rows.map(toSigned)
  },

  /** Of the newest `chn` chain. */
  findLastSigned: async (queries: Queries): Promise<SignedHead | undefined> => {
    const query = queries.selectFrom('audit_heads').selectAll().where('chain', '<', 'chs_')
    const row = await query.orderBy('chain', 'desc').orderBy('position', 'desc').limit(1).executeTakeFirst()
    return row && toSigned(row)
  },

  listStubs: async (queries: Queries): Promise<SignedHead[]> => {
    const rows = await queries.selectFrom('audit_stubs').selectAll().orderBy('chain').execute()
    return rows.map(toSigned)
  },

  findStub: async (queries: Queries, chain: string): Promise<SignedHead | undefined> => {
    const row = await queries.selectFrom('audit_stubs').selectAll().where('chain', '=', chain).executeTakeFirst()
    return row && toSigned(row)
  },

  /** Estimates how many records of a chain are older, by binary search: times almost always grow along a chain. */
  countBefore: async (queries: Queries, chain: string, time: Date): Promise<number> => {
    const from = async (position: number) =>
      queries
        .selectFrom('audit_records')
        .select(['position', 'at'])
        .where('chain', '=', chain)
        .where('position', '>=', position)
        .orderBy('position')
        .limit(1)
        .executeTakeFirst()
    const first = (await from(1))?.position ?? 0
    let [low, high] = [first, first + 1]
    const isOld = async (position: number) => ((await from(position))?.at ?? Infinity) < time.getTime()
    for (; await isOld(high - 1); high = first + 2 * (high - first)) low = high
    // The first record that is not old is at `low` or after it, and before `high`.
    while (low < high - 1) {
      const middle = Math.floor((low + high - 1) / 2)
      if (await isOld(middle)) low = middle + 1
      else high = middle + 1
    }
    return low - first
  },

  /** Deletes a chain's records and signed heads up to the stub. Returns the number of records. */
  putStub: async (tx: Queries, stub: SignedHead): Promise<number> => {
    const { chain, position } = stub
    const row = toSignedRow(stub)
    await tx
      .insertInto('audit_stubs')
      .values(row)
      .onConflict((conflict) => conflict.column('chain').doUpdateSet(row).where('audit_stubs.position', '<', position))
      .execute()
    const removed = tx.deleteFrom('audit_records').where('chain', '=', chain).where('position', '<=', position)
    const { numDeletedRows } = await removed.executeTakeFirstOrThrow()
    await tx.deleteFrom('audit_heads').where('chain', '=', chain).where('position', '<=', position).execute()
    return Number(numDeletedRows)
  },
}

/** A loose index scan: jumps from one chain to the next instead of reading the whole index. */
function chainsIn(table: 'audit_records' | 'audit_heads'): RawBuilder<unknown> {
  return sql.raw(`chains (chain) as (
    select min(chain) from ${table} where chain is not null
    union all
    select (select min(chain) from ${table} where chain > chains.chain) from chains where chain is not null
  )`)
}

function toSigned({ chain, position, hash, at, signature }: SignedRow): SignedHead {
  return { chain, position, hash, at: new Date(at), signature }
}

function toSignedRow({ chain, position, hash, at, signature }: SignedHead): SignedRow {
  return { chain, position, hash, at: at.getTime(), signature }
}

export type AuditChainStore = typeof auditChainStore

/** The insert on SQLite. */
export function insertStatement(rows: readonly LinkedRow[]): BatchStatement {
  return { text: insertOne, rows: rows.map(valuesOf) }
}

const insertOne = `insert into audit_records (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`

function valuesOf(row: LinkedRow): unknown[] {
  return [...recordValues(row), row.chain, row.position, row.hash, row.mac]
}

const types: Partial<Record<keyof LinkedRow, string>> = {
  at: 'bigint',
  position: 'bigint',
  hash: 'bytea',
  mac: 'bytea',
}

const nothing = sql``

/** The insert on PostgreSQL: one plan for any number of rows. `given` adds a `with` clause, and to the `from` clause. */
export function insertingRecords(
  records: string,
  given: { with: RawBuilder<unknown>; where: RawBuilder<unknown> } = { with: nothing, where: nothing },
): RawBuilder<object> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const typed = sql.join(columns.map((column) => sql`${sql.ref(column)} ${sql.raw(types[column] ?? 'text')}`))
  return sql<object>`
    ${given.with} insert into audit_records (${names})
    select ${names}
    from rows from (json_to_recordset(cast(${records} as json)) as (${typed}))
      with ordinality as given (${names}, place)
    ${given.where} order by place`
}

/** Much faster to encode than an array for each column. */
export function asJson(rows: readonly LinkedRow[]): string {
  return JSON.stringify(rows.map((row) => ({ ...row, hash: bytea(row.hash), mac: row.mac && bytea(row.mac) })))
}

function bytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

const insertAll = prepared((tx: Queries, { records }: { records: string }) => insertingRecords(records).compile(tx))
