/** The tables of the audit log: inserts at the end of a transaction, and what verification and retention read. */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import { batchRunnerOf } from '../platform/database/database.ts'
import type { BatchStatement, Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import type { Sequence } from '../platform/database/tables.ts'
import { recordColumns } from './audit-hash.ts'
import type { Head, RecordRow } from './audit-hash.ts'
import type { SignedHead } from './chain-heads.ts'

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
    audit_heads: SignedHead
    audit_stubs: SignedHead
  }
}

export interface LinkedRow extends RecordRow, Head {
  mac: Uint8Array | null
}

const columns = [...recordColumns, 'chain', 'position', 'hash', 'mac'] as const satisfies (keyof LinkedRow)[]

export interface OutsideRecord {
  chain: string
  position: number | null
  auditId: string
}

/** A range of sequence numbers, `from` excluded. */
export interface SequenceRange {
  from: number
  to: number
}

const within = ({ from, to }: SequenceRange) => sql<boolean>`sequence > ${from} and sequence <= ${to}`

export const auditChainStore = {
  insert: async (tx: Queries, rows: readonly LinkedRow[]): Promise<void> => {
    const runBatch = batchRunnerOf(tx)
    await (runBatch ? runBatch(insertStatement(rows)) : insertAll(tx, { records: asJson(rows) }))
  },

  insertHead: async (tx: Queries, head: SignedHead): Promise<void> => {
    await tx
      .insertInto('audit_heads')
      .values(head)
      .onConflict((conflict) => conflict.columns(['chain', 'position']).doNothing())
      .execute()
  },

  /** The last record of every chain, in the order in which the chains began. */
  listHeads: (queries: Queries) => lastOfChains<Head>(queries, 'audit_records', 'chain, position, hash'),

  /** The details of the chains' first records, unless retention has deleted them. */
  listStarts: async (queries: Queries): Promise<string[]> => {
    const { rows } = await sql<{ detail: string }>`
      with recursive ${chainsIn('audit_records')}
      select detail from audit_records join (select chain as name from chains where chain is not null) starts
      on chain = name and position = 1`.execute(queries)
    return rows.map(({ detail }) => detail)
  },

  /** Records from before there were chains, in all or in a range. */
  countUnchained: async (queries: Queries, range?: SequenceRange): Promise<number> => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from audit_records
      where chain is null and ${range ? within(range) : sql`true`}`.execute(queries)
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
  listSigned: (queries: Queries, chain: string, from: number, to: number): Promise<SignedHead[]> => {
    const query = queries.selectFrom('audit_heads').selectAll().where('chain', '=', chain)
    return query.where('position', '>=', from).where('position', '<=', to).orderBy('position').execute()
  },

  /** The last signed head of every chain. */
  listLastSigned: (queries: Queries) => lastOfChains<SignedHead>(queries, 'audit_heads', 'audit_heads.*'),

  /** Of the newest `chn` chain. */
  findLastSigned: (queries: Queries): Promise<SignedHead | undefined> => {
    const query = queries.selectFrom('audit_heads').selectAll().where('chain', '<', 'chs_')
    return query.orderBy('chain', 'desc').orderBy('position', 'desc').limit(1).executeTakeFirst()
  },

  listStubs: (queries: Queries): Promise<SignedHead[]> =>
    queries.selectFrom('audit_stubs').selectAll().orderBy('chain').execute(),

  findStub: (queries: Queries, chain: string): Promise<SignedHead | undefined> =>
    queries.selectFrom('audit_stubs').selectAll().where('chain', '=', chain).executeTakeFirst(),

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
    await tx
      .insertInto('audit_stubs')
      .values(stub)
      .onConflict((conflict) => conflict.column('chain').doUpdateSet(stub).where('audit_stubs.position', '<', position))
      .execute()
    const removed = tx.deleteFrom('audit_records').where('chain', '=', chain).where('position', '<=', position)
    const { numDeletedRows } = await removed.executeTakeFirstOrThrow()
    await tx.deleteFrom('audit_heads').where('chain', '=', chain).where('position', '<=', position).execute()
    return Number(numDeletedRows)
  },

  /** The next `limit` records of the table. */
  nextRange: async (queries: Queries, from: number, limit: number): Promise<SequenceRange | undefined> => {
    const next = queries.selectFrom('audit_records').select('sequence').where('sequence', '>', from).orderBy('sequence')
    const last = await next
      .offset(limit - 1)
      .limit(1)
      .executeTakeFirst()
    if (last) return { from, to: last.sequence }
    return (await next.limit(1).executeTakeFirst()) && { from, to: Number.MAX_SAFE_INTEGER }
  },

  /** Before the first record of their chain, or below its stub. One query, because retention may be running. */
  listOutside: async (queries: Queries, range: SequenceRange): Promise<OutsideRecord[]> => {
    const { rows } = await sql<OutsideRecord>`
      select chain, position, audit_id as ${sql.ref('auditId')} from audit_records
      where ${within(range)} and chain is not null and (position is null or position <= coalesce(
        (select audit_stubs.position from audit_stubs where audit_stubs.chain = audit_records.chain), 0))
      order by sequence`.execute(queries)
    return rows
  },

  /** Records from before there were chains. Counts ten thousand at most. */
  countUnchainedBefore: async (queries: Queries, time: Date): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from (
        select 1 from audit_records where chain is null and at < ${time.getTime()} limit 10000
      ) old`.execute(queries)
    return rows[0]?.count ?? 0
  },

  /** Deletes a batch of records from before there were chains; returns how many. */
  dropUnchainedBefore: (tx: Queries, time: Date): Promise<number> =>
    deleteBatch(tx, 'audit_records', 'sequence', sql`chain is null and at < ${time.getTime()}`),
}

/** A loose index scan: jumps from one chain to the next instead of reading the whole index. */
function chainsIn(table: 'audit_records' | 'audit_heads'): RawBuilder<unknown> {
  return sql.raw(`chains (chain) as (
    select min(chain) from ${table} where chain is not null
    union all
    select (select min(chain) from ${table} where chain > chains.chain) from chains where chain is not null
  )`)
}

/** The row with the highest position of each chain, in the order of the chains: one for each, found by jumps in an index. */
async function lastOfChains<Row>(queries: Queries, table: 'audit_records' | 'audit_heads', selected: string) {
  const { rows } = await sql<Row>`
    with recursive ${chainsIn(table)}
    select ${sql.raw(selected)} from ${sql.table(table)} join (
      select chain as name, (select max(position) from ${sql.table(table)} t where t.chain = chains.chain) as last
      from chains where chain is not null
    ) lasts on chain = name and position = last
    order by chain`.execute(queries)
  return rows
}

export type AuditChainStore = typeof auditChainStore

/** The insert on SQLite. */
export function insertStatement(rows: readonly LinkedRow[]): BatchStatement {
  return { text: insertOne, rows: rows.map((row) => columns.map((column) => row[column])) }
}

const insertOne = `insert into audit_records (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`

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
