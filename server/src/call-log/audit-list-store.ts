/** Lists audit records, newest first. A call is one record with its hops and its outcome. */
import { sql } from 'kysely'
import { callEvents, followUps } from '@sallyport/protocol/audit'
import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'
import { recordColumns } from '../audit/audit-hash.ts'
import type { RecordRow } from '../audit/audit-hash.ts'
import { isListed, recordsIn } from '../audit/audit-scope-store.ts'
import type { AuditScope } from '../audit/audit-scope-store.ts'
import { inBatches, rowsPerBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { Page } from '../platform/database/paging.ts'
import { holdsWords } from './call-search.ts'

export interface AuditFilter {
  agentId?: string | undefined
  grantId?: string | undefined
  connectionId?: string | undefined
  provider?: string | undefined
  event?: AuditEvent | undefined
  outcome?: AuditOutcome | undefined
  since?: Date | undefined
  until?: Date | undefined
  /** Calls whose method, host and path contain all these words. */
  words?: readonly string[] | undefined
}

/** A record with its follow-ups. */
export interface ListedRecord extends RecordRow {
  followUps: RecordRow[]
}

/** Read for one page at most: if the filter matches few, the search continues with the next page. */
const maxRead = 5_000
export const outcomeOf = sql<AuditOutcome>`coalesce(
  (select o.outcome from audit_records o where o.audit_id = r.audit_id and o.event = 'proxy.outcome' limit 1),
  r.outcome,
  case r.event when 'proxy.attempt' then 'unknown' when 'proxy.refused' then 'refused' end)`

interface Wanted {
  limit: number
  before: string | undefined
}

export interface AuditListPage extends Page<ListedRecord> {
  /** Upper bound of how many records were read. */
  looked: number
}

export const auditListStore = {
  /** A page can have fewer records than the limit, or none, before the end of the list. */
  list: async (
    queries: Queries,
    scope: AuditScope,
    filter: AuditFilter,
    { limit, before }: Wanted,
  ): Promise<AuditListPage> => {
    const { words } = filter
    const found: RecordRow[] = []
    let cursor: string | null = before ?? null
    let looked = 0
    await inBatches(async () => {
      // Words are searched for here and not by the database, so all candidates are read.
      const rowsWanted = words ? rowsPerBatch : limit - found.length
      const wanted = { limit: rowsWanted, before: cursor ?? undefined }
      const piece = await readPiece(queries, { scope, filter, wanted })
      found.push(...(words ? piece.rows.filter(({ detail }) => holdsWords(detail, words)) : piece.rows))
      cursor = piece.nextCursor
      looked += piece.looked
      return cursor !== null && found.length < limit && looked < maxRead ? 'more' : 'done'
    })
    const rows = found.slice(0, limit)
    const nextCursor = found.length > limit ? (rows.at(-1)?.audit_id ?? null) : cursor
    return { records: await withFollowUps(queries, rows), nextCursor, looked }
  },

  find: async (queries: Queries, scope: AuditScope, auditId: string): Promise<ListedRecord | undefined> => {
    const { agentId, userId, events } = scope
    const rows: RecordRow[] = await queries
      .selectFrom('audit_records')
      .select(recordColumns)
      .where('audit_id', '=', auditId)
      .where(isListed)
      .$if(agentId !== undefined, (query) => query.where('agent_id', '=', agentId ?? ''))
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? ''))
      .$if(events !== undefined, (query) => query.where('event', 'in', events ?? []))
      .limit(1)
      .execute()
    return (await withFollowUps(queries, rows))[0]
  },
}

export type AuditListStore = typeof auditListStore

interface PieceWanted {
  scope: AuditScope
  filter: AuditFilter
  wanted: Wanted
}

/** Newest first, complete down to the cursor, or to the end if it is null. */
interface Piece {
  rows: RecordRow[]
  nextCursor: string | null
  /** Upper bound of how many records were read. */
  looked: number
}

/** Matches among the next records. */
async function readPiece(queries: Queries, { scope, filter, wanted: { limit, before } }: PieceWanted): Promise<Piece> {
  const span = { since: filter.since, until: filter.until, before }
  const mostRead = Math.max(limit, rowsPerBatch)
  const candidates = recordsIn(queries, scope, span, recordColumns).limit(mostRead)
  const found = await matching(queries, candidates, scope.events, filter)
    .limit(limit + 1)
    .execute()
  const rows = found.slice(0, limit)
  if (found.length > limit) return { rows, nextCursor: rows.at(-1)?.audit_id ?? null, looked: limit }
  const last = recordsIn(queries, scope, span, ['audit_id'])
    .limit(1)
    .offset(mostRead - 1)
  return { rows, nextCursor: (await last.executeTakeFirst())?.audit_id ?? null, looked: mostRead }
}

function matching(
  queries: Queries,
  candidates: ReturnType<typeof recordsIn<keyof RecordRow>>,
  events: readonly AuditEvent[] | undefined,
  { agentId, grantId, connectionId, provider, event, outcome, since, until, words }: AuditFilter,
) {
  return queries
    .selectFrom(candidates.as('r'))
    .select(recordColumns)
    .$if(events !== undefined, (query) => query.where('event', 'in', events ?? []))
    .$if(words !== undefined, (query) => query.where('event', 'in', callEvents))
    .$if(agentId !== undefined, (query) => query.where('agent_id', '=', agentId ?? ''))
    .$if(grantId !== undefined, (query) => query.where('grant_id', '=', grantId ?? ''))
    .$if(connectionId !== undefined, (query) => query.where('connection_id', '=', connectionId ?? ''))
    .$if(provider !== undefined, (query) => query.where('provider', '=', provider ?? ''))
    .$if(event !== undefined, (query) => query.where('event', '=', event ?? ''))
    .$if(outcome !== undefined, (query) => query.where(outcomeOf, '=', outcome ?? 'unknown'))
    .$if(since !== undefined, (query) => query.where('at', '>=', since?.getTime() ?? 0))
    .$if(until !== undefined, (query) => query.where('at', '<', until?.getTime() ?? 0))
    .orderBy('audit_id', 'desc')
}

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
