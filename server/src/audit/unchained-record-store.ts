/**
 * Records that a walk along the chains does not find: on no chain (from before there were chains), or outside of their
 * chain (not inserted by the service).
 */
import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import type {} from './audit-chain-store.ts'

export interface OutsideRecord {
  chain: string
  position: number | null
  auditId: string
}

/** A range of sequence numbers, `from` excluded. */
export interface Stretch {
  from: number
  to: number
}

const within = ({ from, to }: Stretch) => sql<boolean>`sequence > ${from} and sequence <= ${to}`

export const unchainedRecordStore = {
  /** The next `limit` records of the table. */
  nextStretch: async (queries: Queries, from: number, limit: number): Promise<Stretch | undefined> => {
    const next = queries.selectFrom('audit_records').select('sequence').where('sequence', '>', from).orderBy('sequence')
    const last = await next
      .offset(limit - 1)
      .limit(1)
      .executeTakeFirst()
    if (last) return { from, to: last.sequence }
    return (await next.limit(1).executeTakeFirst()) && { from, to: Number.MAX_SAFE_INTEGER }
  },

  /** Before the first record of their chain, or below its stub. One query, because retention may be running. */
  listOutside: async (queries: Queries, stretch: Stretch): Promise<OutsideRecord[]> => {
    const { rows } = await sql<OutsideRecord>`
      select chain, position, audit_id as ${sql.ref('auditId')} from audit_records
      where ${within(stretch)} and chain is not null and (position is null or position <= coalesce(
        (select audit_stubs.position from audit_stubs where audit_stubs.chain = audit_records.chain), 0))
      order by sequence`.execute(queries)
    return rows
  },

  /** From before there were chains. */
  countUnchained: async (queries: Queries, stretch: Stretch): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from audit_records where ${within(stretch)} and chain is null`.execute(queries)
    return rows[0]?.count ?? 0
  },

  /** Records from before there were chains. Counts ten thousand at most. */
  countUnchainedBefore: async (queries: Queries, time: Date): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from (
        select 1 from audit_records where chain is null and at < ${time.getTime()} limit 10000
      ) old`.execute(queries)
    return rows[0]?.count ?? 0
  },

  /** Deletes up to `limit` records from before there were chains; returns how many. */
  dropUnchainedBefore: async (tx: Queries, time: Date, limit: number): Promise<number> => {
    const old = tx.selectFrom('audit_records').select('sequence').where('chain', 'is', null)
    const { numDeletedRows } = await tx
      .deleteFrom('audit_records')
      .where('sequence', 'in', old.where('at', '<', time.getTime()).limit(limit))
      .executeTakeFirstOrThrow()
    return Number(numDeletedRows)
  },
}

export type UnchainedRecordStore = typeof unchainedRecordStore
