/** The newest records, whichever process wrote them. */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import type { LinkedRow } from './audit-chain-store.ts'
import { recordColumns } from './audit-hash.ts'

export interface TailRecord {
  sequence: number
  chain: string | null
  event: AuditEvent
  userId: string | null
}

/** A whole record, with its place in its chain. */
export type WholeRecord = LinkedRow & { sequence: number }

const wholeIn = (queries: Queries) =>
  queries
    .selectFrom('audit_records')
    .select([...recordColumns, 'sequence', 'chain', 'position', 'hash', 'mac'])
    .$castTo<WholeRecord>()

const recordsIn = (queries: Queries) =>
  queries.selectFrom('audit_records').select(['sequence', 'chain', 'event', 'user_id as userId']).$castTo<TailRecord>()

export const auditTailStore = {
  /** 0 if there is no record. */
  lastSequence: async (queries: Queries): Promise<number> => {
    const query = queries.selectFrom('audit_records').select('sequence').orderBy('sequence', 'desc').limit(1)
    return (await query.executeTakeFirst())?.sequence ?? 0
  },

  listAfter: (queries: Queries, sequence: number, limit: number): Promise<TailRecord[]> =>
    recordsIn(queries).where('sequence', '>', sequence).orderBy('sequence').limit(limit).execute(),

  listThese: (queries: Queries, sequences: readonly number[]): Promise<TailRecord[]> =>
    recordsIn(queries).where('sequence', 'in', sequences).execute(),
}

/** The same with whole records. */
export const wholeTailStore = {
  lastSequence: auditTailStore.lastSequence,

  listAfter: (queries: Queries, sequence: number, limit: number): Promise<WholeRecord[]> =>
    wholeIn(queries).where('sequence', '>', sequence).orderBy('sequence').limit(limit).execute(),

  listThese: (queries: Queries, sequences: readonly number[]): Promise<WholeRecord[]> =>
    wholeIn(queries).where('sequence', 'in', sequences).execute(),
}

export type AuditTailStore = typeof auditTailStore
