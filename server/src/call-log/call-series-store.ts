/** Reads recorded calls for counting, newest first, in batches. */
import { sql } from 'kysely'
import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import { recordColumns } from '../audit/audit-hash.ts'
import { recordsIn } from '../audit/audit-scope-store.ts'
import type { AuditScope, AuditSpan } from '../audit/audit-scope-store.ts'
import { outcomeOf } from './audit-list-store.ts'

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
  /** The detail of the outcome. */
  result: string | null
  /** The detail of a call, if it was asked for. */
  call: string | null
}

const resultOf = sql<string | null>`
  (select o.detail from audit_records o where o.audit_id = r.audit_id and o.event = 'proxy.outcome' limit 1)`

export const callSeriesStore = {
  /** All records that were read, calls or not: the last one is the cursor of the next batch. */
  read: (
    queries: Queries,
    scope: AuditScope,
    span: AuditSpan,
    { limit, withCalls }: { limit: number; withCalls: boolean },
  ): Promise<SeriesRow[]> =>
    queries
      .selectFrom(recordsIn(queries, scope, span, recordColumns).limit(limit).as('r'))
      .select(['r.audit_id as auditId', 'r.event', 'r.at', 'r.agent_id as agentId', 'r.grant_id as grantId'])
      .select(['r.connection_id as connectionId', 'r.provider', outcomeOf.as('outcome')])
      .select(
        sql<string | null>`case when r.event = 'proxy.refused' and r.outcome is null then r.detail end`.as('summary'),
      )
      .select(resultOf.as('result'))
      .select(withCalls ? 'r.detail as call' : sql<null>`null`.as('call'))
      .orderBy('r.audit_id', 'desc')
      .$castTo<SeriesRow>()
      .execute(),
}

export type CallSeriesStore = typeof callSeriesStore
