/** Reads recorded calls for counting, newest first, in batches. */
import { sql } from 'kysely'
import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import { recordColumns } from '../audit/audit-hash.ts'
import { candidatesOf, rangesOf, readInPieces } from '../audit/audit-range-store.ts'
import type { AuditScope, Part } from '../audit/audit-range-store.ts'
import { outcomeOf } from './audit-list-store.ts'
import type { AuditFilter } from './audit-list-store.ts'

export interface SeriesRow {
  auditId: string
  event: AuditEvent
  at: number
  agentId: string | null
  grantId: string | null
  connectionId: string | null
  provider: string | null
  outcome: AuditOutcome | null
  /** The detail of a record that stands for several refusals. */
  summary: string | null
}

export const callSeriesStore = {
  /** All records that were read, calls or not: the last one is the cursor of the next batch. */
  read: async (
    queries: Queries,
    scope: AuditScope,
    { since, until }: Pick<AuditFilter, 'since' | 'until'>,
    { limit, before }: { limit: number; before: string | undefined },
  ): Promise<SeriesRow[]> => {
    const { ranges } = await rangesOf(queries, scope, before)
    const idOf = ({ auditId }: SeriesRow) => auditId
    const { rows } = await readInPieces(ranges, limit, idOf, async (some, from) => {
      const part = { ranges: some, since, until, before, from }
      const found = await readPart(queries, part, limit)
      return { rows: found, nextCursor: found.length < limit ? null : (found.at(-1)?.auditId ?? null) }
    })
    return rows
  },
}

export type CallSeriesStore = typeof callSeriesStore

function readPart(queries: Queries, part: Part, limit: number): Promise<SeriesRow[]> {
  return queries
    .selectFrom(candidatesOf(queries, part, recordColumns, { limit }).as('r'))
    .select(['r.audit_id as auditId', 'r.event', 'r.at', 'r.agent_id as agentId', 'r.grant_id as grantId'])
    .select(['r.connection_id as connectionId', 'r.provider', outcomeOf.as('outcome')])
    .select(
      sql<string | null>`case when r.event = 'proxy.refused' and r.outcome is null then r.detail end`.as('summary'),
    )
    .orderBy('r.audit_id', 'desc')
    .$castTo<SeriesRow>()
    .execute()
}
