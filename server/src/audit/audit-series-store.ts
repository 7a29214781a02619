/** Reads the calls on record for counting, newest first, so many at a time. */
import { sql } from 'kysely'
import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import type { AuditFilter, AuditScope } from './audit-list-store.ts'
import { candidatesOf, outcomeOf } from './audit-list-store.ts'

export interface SeriesRow {
  auditId: string
  event: AuditEvent
  at: number
  agentId: string | null
  grantId: string | null
  connectionId: string | null
  provider: string | null
  outcome: AuditOutcome | null
  /** Of what stands for several refusals: how many of which kind. */
  summary: string | null
}

export const auditSeriesStore = {
  /** All that was looked at, calls or not, so that whoever goes on knows from where. */
  read: (
    queries: Queries,
    scope: AuditScope,
    span: Pick<AuditFilter, 'since' | 'until'>,
    { limit, before }: { limit: number; before: string | undefined },
  ): Promise<SeriesRow[]> =>
    queries
      .selectFrom(candidatesOf(queries, scope, span, before).selectAll().limit(limit).as('r'))
      .select(['r.audit_id as auditId', 'r.event', 'r.at', 'r.agent_id as agentId', 'r.grant_id as grantId'])
      .select(['r.connection_id as connectionId', 'r.provider', outcomeOf.as('outcome')])
      .select(
        sql<string | null>`case when r.event = 'proxy.refused' and r.outcome is null then r.detail end`.as('summary'),
      )
      .orderBy('r.audit_id', 'desc')
      .$castTo<SeriesRow>()
      .execute(),
}

export type AuditSeriesStore = typeof auditSeriesStore
