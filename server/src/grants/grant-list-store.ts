/**
 * Lists grants: active ones first, then those that have ended, newest first within each part. Which part a grant is in
 * depends on the time when the first page was read: a grant that ends between two pages is neither skipped nor listed
 * twice. The status that is shown is the current one.
 */
import { sql } from 'kysely'
import { pageOf } from '../platform/database/paging.ts'
import type { Page } from '../platform/database/paging.ts'
import { cursorText } from './grant-cursor.ts'
import type { GrantCursor, GrantListPart } from './grant-cursor.ts'
import { isOver, isRevoked, toGrant } from './grant-foundation-store.ts'
import type { foundationOf } from './grant-foundation-store.ts'
import type { Grant, GrantStatus } from './grant.ts'

export interface GrantPageRequest {
  limit: number
  after: GrantCursor | undefined
  status: GrantStatus | undefined
  agentId: string | undefined
  connectionId: string | undefined
}

type Query = ReturnType<typeof foundationOf>

/** Exactly as in the index that finds active grants, however many have ended. */
export const endsAfter = (at: Date) =>
  sql<boolean>`coalesce(grants.revoked_at, grants.expires_at, 9007199254740991) > ${at.getTime()}`

/** statusOf (usable.ts) at a time in the past. A grant was used up by its last call. */
const hadEnded = (at: Date) => sql<boolean>`(coalesce(grants.revoked_at <= ${at.getTime()}, false)
  or coalesce(grants.expires_at <= ${at.getTime()}, false)
  or coalesce(users.disabled_at <= ${at.getTime()}, false)
  or coalesce(connections.status = 'revoked' and coalesce(connections.revoked_at, 0) <= ${at.getTime()}, false)
  or coalesce(grant_usage.calls >= grants.max_calls and coalesce(grant_usage.last_used_at, 0) <= ${at.getTime()}, false))`

export async function pageThrough(query: Query, page: GrantPageRequest, now: Date): Promise<Page<Grant>> {
  const { limit, after, status, agentId, connectionId } = page
  const since = after?.since ?? now
  const chosen = query
    .$if(agentId !== undefined, (one) => one.where('grants.agent_id', '=', agentId ?? ''))
    .$if(connectionId !== undefined, (one) => one.where('grants.connection_id', '=', connectionId ?? ''))
  const listed: { part: GrantListPart; grant: Grant }[] = []
  for (const part of partsOf(page)) {
    const rows = await (status ? withStatus(chosen, status, now) : inPart(chosen, part, since))
      .$if(after?.part === part, (one) => one.where('grants.grant_id', '<', after?.grantId ?? ''))
      .orderBy('grants.grant_id', 'desc')
      .limit(limit + 1 - listed.length)
      .execute()
    for (const row of rows) listed.push({ part, grant: toGrant(row) })
    if (listed.length > limit) break
  }
  const { records, nextCursor } = pageOf(listed, limit, ({ part, grant: { grantId } }) =>
    cursorText({ part, since, grantId }),
  )
  return { records: records.map(({ grant }) => grant), nextCursor }
}

function partsOf({ status, after }: GrantPageRequest): GrantListPart[] {
  if (status) return [after?.part ?? 'ended']
  return after?.part === 'ended' ? ['ended'] : ['active', 'ended']
}

function inPart(query: Query, part: GrantListPart, since: Date): Query {
  return part === 'active'
    ? query.where(sql<boolean>`${endsAfter(since)} and not ${hadEnded(since)}`)
    : query.where(hadEnded(since))
}

function withStatus(query: Query, status: GrantStatus, now: Date): Query {
  if (status === 'revoked') return query.where(isRevoked)
  if (status === 'expired') return query.where(sql<boolean>`not ${isRevoked} and ${isOver(now)}`)
  return query.where(sql<boolean>`${endsAfter(now)} and not ${isRevoked} and not ${isOver(now)}`)
}
