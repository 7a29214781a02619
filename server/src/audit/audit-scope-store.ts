/** The records of an agent, those that concern a user, or all: newest first, in the order of an index. */
import { followUps } from '@sallyport/protocol/audit'
import type { AuditEvent } from '@sallyport/protocol/audit'
import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import { lowestId } from '../platform/ids.ts'
import type { RecordRow } from './audit-hash.ts'
import { idSlackMs } from './audit-record.ts'

/** Whose records: an agent's, those that concern a user, or all. Never both. */
export interface AuditScope {
  agentId?: string
  userId?: string
  /** The events that may be shown. All if undefined. */
  events?: readonly AuditEvent[]
}

/** The part to read: between two times, and below a cursor. */
export interface AuditSpan {
  since?: Date | undefined
  until?: Date | undefined
  before?: string | undefined
}

/**
 * Lists show follow-ups with the record that they belong to. Exactly the condition of the partial indexes, or they are
 * not used.
 */
export const isListed = sql<boolean>`event not in (${sql.raw(followUps.map((event) => `'${event}'`).join(', '))})`

/** Above every id. */
const highestId = 'aud_z'

/**
 * Rows are compared and sorted by both columns of the index: by `audit_id` alone PostgreSQL may prefer the index of all
 * records, and read those of others too.
 */
export function recordsIn<Column extends keyof RecordRow>(
  queries: Queries,
  { agentId, userId }: AuditScope,
  { since, until, before = highestId }: AuditSpan,
  columns: readonly Column[],
) {
  const own = agentId !== undefined ? 'agent_id' : userId !== undefined ? 'user_id' : undefined
  const id = agentId ?? userId
  const from = since ? idAt(since, -idSlackMs) : ''
  const below = until ? idAt(until, idSlackMs) : highestId
  const row = own ? sql`(${sql.ref(own)}, audit_id)` : sql`audit_id`
  const at = (auditId: string) => (own ? sql`(${id}, ${auditId})` : sql`${auditId}`)
  const found = queries
    .selectFrom('audit_records')
    .select(columns)
    .where(isListed)
    .where(sql<boolean>`${row} >= ${at(from)} and ${row} < ${at(before < below ? before : below)}`)
  const sorted = own ? found.where(own, 'is not', null).orderBy(own, 'desc') : found
  return sorted.orderBy('audit_id', 'desc').$castTo<Pick<RecordRow, Column>>()
}

function idAt(time: Date, offsetMs: number): string {
  return lowestId('aud', new Date(time.getTime() + offsetMs))
}
