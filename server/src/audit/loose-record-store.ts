/**
 * Records that hang on no chain, because there was none yet, that stand outside of theirs, where nobody put them, or that
 * stand in no list, because somebody took that away.
 */
import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import type {} from './audit-chain-store.ts'
import { isListed } from './audit-pair-store.ts'

export interface OutsideRecord {
  chain: string
  position: number | null
  auditId: string
}

export const looseRecordStore = {
  /** Before the beginning of their chain, or where retention took all away. In one query: retention may be at work. */
  listOutside: async (queries: Queries, limit: number): Promise<OutsideRecord[]> => {
    const { rows } = await sql<OutsideRecord>`
      select chain, position, audit_id as ${sql.ref('auditId')} from audit_records
      where chain is not null and (position is null or position <= coalesce(
        (select audit_stubs.position from audit_stubs where audit_stubs.chain = audit_records.chain), 0))
      order by chain, position limit ${limit}`.execute(queries)
    return rows
  },

  /** Of records between a user and an agent one each of those whose lists do not lead to it. */
  listUnlisted: async (queries: Queries, limit: number): Promise<OutsideRecord[]> => {
    const { rows } = await sql<OutsideRecord>`
      select coalesce(chain, 'none') as chain, position, audit_id as ${sql.ref('auditId')} from audit_records join (
        select min(audit_id) as first from audit_records
        where user_id is not null and agent_id is not null and ${isListed} and not exists (
          select 1 from audit_pairs
          where audit_pairs.user_id = audit_records.user_id and audit_pairs.agent_id = audit_records.agent_id)
        group by user_id, agent_id order by 1 limit ${limit}
      ) unlisted on audit_id = first where ${isListed}`.execute(queries)
    return rows
  },

  /** Of those from before there were chains; however many there are, no more than a million are counted. */
  countUnchainedBefore: async (queries: Queries, time: Date): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from (
        select 1 from audit_records where chain is null and at < ${time.getTime()} limit 1000000
      ) old`.execute(queries)
    return rows[0]?.count ?? 0
  },

  /** So many of before there were chains; returns how many. */
  dropUnchainedBefore: async (tx: Queries, time: Date, limit: number): Promise<number> => {
    const old = tx.selectFrom('audit_records').select('sequence').where('chain', 'is', null)
    const { numDeletedRows } = await tx
      .deleteFrom('audit_records')
      .where('sequence', 'in', old.where('at', '<', time.getTime()).limit(limit))
      .executeTakeFirstOrThrow()
    return Number(numDeletedRows)
  },
}

export type LooseRecordStore = typeof looseRecordStore
