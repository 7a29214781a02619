/** Reads the record for those whom it concerns, newest first. */
import { sql } from 'kysely'
import { followUps } from '@sallyport/protocol/audit'
import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import type { Page } from '../platform/database/paging.ts'
import { lowestId } from '../platform/ids.ts'
import { recordColumns } from './audit-hash.ts'
import type { RecordRow } from './audit-hash.ts'

/** Whose records: those of an agent, those that concern a user, or all. */
export interface AuditScope {
  agentId?: string
  userId?: string
  /** The events that may be shown; all where it is not given. */
  events?: readonly AuditEvent[]
}

export interface AuditFilter {
  agentId?: string | undefined
  grantId?: string | undefined
  provider?: string | undefined
  event?: AuditEvent | undefined
  outcome?: AuditOutcome | undefined
  since?: Date | undefined
  until?: Date | undefined
}

/** A record with those that belong to it. */
export interface ListedRecord extends RecordRow {
  followUps: RecordRow[]
}

/** So many records are looked at for one page, so that no filter, however rare what it seeks, keeps others waiting. */
const lookedAt = 5_000
/** An audit_id is made a moment before or after the time on its record. */
const slackMs = 600_000

/** Word for word as in the indexes, which serve only queries that repeat it. */
const isListed = sql<boolean>`event not in ('proxy.hop', 'proxy.outcome')`

const outcomeOf = sql<string>`coalesce(
  (select o.outcome from audit_records o where o.audit_id = r.audit_id and o.event = 'proxy.outcome' limit 1),
  r.outcome,
  case r.event when 'proxy.attempt' then 'unknown' when 'proxy.refused' then 'refused' end)`

export const auditListStore = {
  /** A page may hold fewer records than it could, or none, before the end: what was looked at held no more. */
  list: async (
    queries: Queries,
    scope: AuditScope,
    filter: AuditFilter,
    { limit, before }: { limit: number; before: string | undefined },
  ): Promise<Page<ListedRecord>> => {
    const { agentId, grantId, provider, event, outcome, since, until } = filter
    const candidates = queries
      .selectFrom('audit_records')
      .where(isListed)
      .$if(scope.agentId !== undefined, (query) => query.where('agent_id', '=', scope.agentId ?? ''))
      .$if(scope.userId !== undefined, (query) => query.where('user_id', '=', scope.userId ?? ''))
      .$if(before !== undefined, (query) => query.where('audit_id', '<', before ?? ''))
      .$if(since !== undefined, (query) => query.where('audit_id', '>=', idAt(since, -slackMs)))
      .$if(until !== undefined, (query) => query.where('audit_id', '<', idAt(until, slackMs)))
      .orderBy('audit_id', 'desc')
    const rows: RecordRow[] = await queries
      .selectFrom(candidates.select(recordColumns).limit(lookedAt).as('r'))
      .select(recordColumns)
      .$if(scope.events !== undefined, (query) => query.where('event', 'in', scope.events ?? []))
      .$if(agentId !== undefined, (query) => query.where('agent_id', '=', agentId ?? ''))
      .$if(grantId !== undefined, (query) => query.where('grant_id', '=', grantId ?? ''))
      .$if(provider !== undefined, (query) => query.where('provider', '=', provider ?? ''))
      .$if(event !== undefined, (query) => query.where('event', '=', event ?? ''))
      .$if(outcome !== undefined, (query) => query.where(outcomeOf, '=', outcome ?? ''))
      .$if(since !== undefined, (query) => query.where('at', '>=', since?.getTime() ?? 0))
      .$if(until !== undefined, (query) => query.where('at', '<', until?.getTime() ?? 0))
      .orderBy('audit_id', 'desc')
      .limit(limit + 1)
      .execute()
    const page = rows.slice(0, limit)
    const records = await withFollowUps(queries, page)
    if (rows.length > limit) return { records, nextCursor: page.at(-1)?.audit_id ?? null }
    const last = await candidates
      .select('audit_id')
      .offset(lookedAt - 1)
      .limit(1)
      .executeTakeFirst()
    return { records, nextCursor: last?.audit_id ?? null }
  },
}

export type AuditListStore = typeof auditListStore

async function withFollowUps(queries: Queries, rows: readonly RecordRow[]): Promise<ListedRecord[]> {
  const calls = rows.filter(({ event }) => event === 'proxy.attempt').map(({ audit_id }) => audit_id)
  const found: RecordRow[] =
    calls.length === 0
      ? []
      : await queries
          .selectFrom('audit_records')
          .select(recordColumns)
          .where('audit_id', 'in', calls)
          .where('event', 'in', followUps)
          .orderBy('sequence')
          .execute()
  const byCall = Map.groupBy(found, ({ audit_id }) => audit_id)
  return rows.map((row) => ({ ...row, followUps: byCall.get(row.audit_id) ?? [] }))
}

function idAt(time: Date | undefined, offsetMs: number): string {
  return lowestId('aud', new Date((time?.getTime() ?? 0) + offsetMs))
}
