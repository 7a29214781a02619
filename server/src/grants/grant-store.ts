import { sql } from 'kysely'
import type { Receipt } from '@sallyport/protocol/grants'
import type {} from '../agents/agent-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Page } from '../platform/database/paging.ts'
import type { ProviderStatus } from '../providers/provider.ts'
import type {} from '../providers/provider-store.ts'
import { foundationOf, isPast, isPaused, isRevoked, toGrant } from './grant-foundation-store.ts'
import { pageThrough } from './grant-list-store.ts'
import type { GrantPageRequest } from './grant-list-store.ts'
import { closeUsage, countCalls, openUsage, renewTerms } from './grant-usage-store.ts'
import type { Grant, JudgedGrant, RevokedBy } from './grant.ts'
import type { GrantTerms } from './narrower.ts'

/** What is shown of a grant besides its terms. */
export interface GrantDescription {
  agentName: string
  /** Null in the sandbox. */
  providerSlug: string | null
  providerName: string | null
  accountLabel: string | null
  isSigned: boolean
}

const maxGrants = 1_000

export const grantStore = {
  insert: async (tx: Queries, grant: Grant, receipt: Receipt | null): Promise<void> => {
    await tx
      .insertInto('grants')
      .values({
        grant_id: grant.grantId,
        agent_id: grant.agentId,
        kind: grant.kind,
        user_id: grant.userId,
        connection_id: grant.connectionId,
        access_request_id: grant.accessRequestId,
        ...termsColumns(grant),
        created_at: grant.createdAt.getTime(),
        revoked_at: null,
        revoked_by: null,
        ...receiptColumns(receipt),
      })
      .execute()
    await openUsage(tx, grant.grantId)
  },

  findOfAgent: async (queries: Queries, agentId: string, grantId: string): Promise<Grant | undefined> => {
    const row = await foundationOf(queries)
      .where('grants.grant_id', '=', grantId)
      .where('grants.agent_id', '=', agentId)
      .executeTakeFirst()
    return row && toGrant(row)
  },

  /** One that this user approved. */
  findOfUser: async (queries: Queries, userId: string, grantId: string): Promise<Grant | undefined> => {
    const row = await foundationOf(queries)
      .where('grants.grant_id', '=', grantId)
      .where('grants.user_id', '=', userId)
      .executeTakeFirst()
    return row && toGrant(row)
  },

  /** The same, locked until the transaction ends, so that changes of one grant run one at a time. */
  lockOfUser: async (
    { engine }: Database,
    tx: Queries,
    userId: string,
    grantId: string,
  ): Promise<Grant | undefined> => {
    if (engine === 'postgres') {
      await tx.selectFrom('grants').select('grant_id').where('grant_id', '=', grantId).forUpdate().execute()
    }
    return grantStore.findOfUser(tx, userId, grantId)
  },

  /** Calls that were judged by the terms before are not recorded any more. */
  changeTerms: async (tx: Queries, grantId: string, terms: GrantTerms, receipt: Receipt | null): Promise<void> => {
    await tx
      .updateTable('grants')
      .set({ ...termsColumns(terms), ...receiptColumns(receipt) })
      .where('grant_id', '=', grantId)
      .execute()
    await renewTerms(tx, grantId)
  },

  /** Those of these whose terms are others than calls in flight were judged by. */
  findChanged: async (queries: Queries, judged: readonly JudgedGrant[]): Promise<Grant[]> => {
    const versions = await queries
      .selectFrom('grant_usage')
      .select(['grant_id', 'terms_version'])
      .where(
        'grant_id',
        'in',
        judged.map(({ grantId }) => grantId),
      )
      .execute()
    const current = new Map(versions.map((row) => [row.grant_id, row.terms_version]))
    const changed = judged.filter(
      ({ grantId, termsVersion }) => (current.get(grantId) ?? termsVersion) !== termsVersion,
    )
    if (changed.length === 0) return []
    const rows = await foundationOf(queries)
      .where(
        'grants.grant_id',
        'in',
        changed.map(({ grantId }) => grantId),
      )
      .execute()
    return rows.map(toGrant)
  },

  listOfAgent: (queries: Queries, agentId: string, page: GrantPageRequest, now: Date): Promise<Page<Grant>> =>
    pageThrough(foundationOf(queries).where('grants.agent_id', '=', agentId), page, now),

  listOfUser: (queries: Queries, userId: string, page: GrantPageRequest, now: Date): Promise<Page<Grant>> =>
    pageThrough(foundationOf(queries).where('grants.user_id', '=', userId), page, now),

  /** Those of the user's newest grants that belong to one of these agents. */
  listBetween: async (queries: Queries, userId: string, agentIds: readonly string[]): Promise<Grant[]> => {
    if (agentIds.length === 0) return []
    const newest = foundationOf(queries)
      .where('grants.user_id', '=', userId)
      .orderBy('grants.grant_id', 'desc')
      .limit(maxGrants)
    const rows = await queries.selectFrom(newest.as('newest')).selectAll().where('agent_id', 'in', agentIds).execute()
    return rows.map(toGrant)
  },

  describe: async (queries: Queries, grantIds: readonly string[]): Promise<Map<string, GrantDescription>> => {
    if (grantIds.length === 0) return new Map()
    const rows = await queries
      .selectFrom('grants')
      .innerJoin('agents', 'agents.agent_id', 'grants.agent_id')
      .leftJoin('connections', 'connections.connection_id', 'grants.connection_id')
      .leftJoin('providers', 'providers.provider_id', 'connections.provider_id')
      .select(['grants.grant_id', 'grants.is_signed', 'agents.name as agent_name', 'connections.account_label'])
      .select(['providers.slug', 'providers.name as provider_name'])
      .where('grants.grant_id', 'in', grantIds)
      .execute()
    return new Map(
      rows.map((row) => [
        row.grant_id,
        {
          agentName: row.agent_name,
          providerSlug: row.slug,
          providerName: row.provider_name,
          accountLabel: row.account_label,
          isSigned: row.is_signed === 1,
        },
      ]),
    )
  },

  /** Those whose calls in flight have to end (usable.ts). */
  findEnded: async (
    queries: Queries,
    grantIds: readonly string[],
    now: Date,
  ): Promise<{ grant: Grant; provider: { status: ProviderStatus } | null }[]> => {
    const rows = await foundationOf(queries)
      .leftJoin('providers', 'providers.provider_id', 'connections.provider_id')
      .select('providers.status as provider_status')
      .where('grants.grant_id', 'in', grantIds)
      .where((eb) => eb.or([eb('providers.status', '<>', 'active'), isRevoked, isPast(now), sql<boolean>`${isPaused}`]))
      .execute()
    return rows.map((row) => ({
      grant: toGrant(row),
      provider: row.provider_status && { status: row.provider_status },
    }))
  },

  /** The hosts that their providers list, by grant. The sandbox has none. */
  apiHostsOf: async (queries: Queries, grantIds: readonly string[]): Promise<Map<string, string[]>> => {
    const rows = await queries
      .selectFrom('grants')
      .innerJoin('connections', 'connections.connection_id', 'grants.connection_id')
      .innerJoin('providers', 'providers.provider_id', 'connections.provider_id')
      .select(['grants.grant_id', 'providers.api_hosts'])
      .where('grants.grant_id', 'in', grantIds)
      .execute()
    return new Map(rows.map(({ grant_id, api_hosts }) => [grant_id, JSON.parse(api_hosts) as string[]]))
  },

  receiptOf: async (queries: Queries, grantId: string): Promise<Receipt | undefined> => {
    const row = await queries.selectFrom('grants').select('receipt').where('grant_id', '=', grantId).executeTakeFirst()
    return row?.receipt == null ? undefined : (JSON.parse(row.receipt) as Receipt)
  },

  countCalls,

  /** False if it was revoked already. */
  revoke: async (tx: Queries, grantId: string, by: RevokedBy, now: Date): Promise<boolean> => {
    const row = await tx
      .updateTable('grants')
      .set({ revoked_at: now.getTime(), revoked_by: by })
      .where('grant_id', '=', grantId)
      .where('revoked_at', 'is', null)
      .returning('grant_id')
      .executeTakeFirst()
    if (row) await closeUsage(tx, [grantId])
    return row !== undefined
  },

  /** All that still stand on this connection. */
  revokeOfConnection: async (
    tx: Queries,
    connectionId: string,
    now: Date,
  ): Promise<Pick<Grant, 'grantId' | 'agentId' | 'userId'>[]> => {
    const rows = await tx
      .updateTable('grants')
      .set({ revoked_at: now.getTime(), revoked_by: 'user' })
      .where('connection_id', '=', connectionId)
      .where('revoked_at', 'is', null)
      .returning(['grant_id', 'agent_id', 'user_id'])
      .execute()
    await closeUsage(
      tx,
      rows.map(({ grant_id }) => grant_id),
    )
    return rows.map((row) => ({ grantId: row.grant_id, agentId: row.agent_id, userId: row.user_id }))
  },

  /** All sandbox grants of the agent but this one. */
  revokeOtherSandboxes: async (tx: Queries, agentId: string, grantId: string, now: Date): Promise<void> => {
    const rows = await tx
      .updateTable('grants')
      .set({ revoked_at: now.getTime(), revoked_by: 'sandbox' })
      .where('agent_id', '=', agentId)
      .where('kind', '=', 'sandbox')
      .where('grant_id', '<>', grantId)
      .where('revoked_at', 'is', null)
      .returning('grant_id')
      .execute()
    const revoked = rows.map((row) => row.grant_id)
    await closeUsage(tx, revoked)
  },

  /** Grant and access request refer to each other. Call it before deleting the request. */
  detachRequests: async (tx: Queries, accessRequestIds: readonly string[]): Promise<void> => {
    if (accessRequestIds.length === 0) return
    await tx
      .updateTable('grants')
      .set({ access_request_id: null })
      .where('access_request_id', 'in', accessRequestIds)
      .execute()
  },

  /** All but those with an access request, which is deleted first. */
  dropSandboxesEndedBefore: (tx: Queries, before: Date): Promise<number> => {
    const ended = sql`kind = 'sandbox' and expires_at < ${before.getTime()} and access_request_id is null`
    return deleteBatch(tx, 'grants', 'grant_id', ended)
  },
}

export type GrantStore = typeof grantStore

function termsColumns(terms: GrantTerms) {
  return {
    allowed_hosts: JSON.stringify(terms.allowedHosts),
    allowed_methods: terms.allowedMethods && JSON.stringify(terms.allowedMethods),
    allowed_paths: terms.allowedPaths && JSON.stringify(terms.allowedPaths),
    max_calls: terms.maxCalls,
    expires_at: terms.expiresAt?.getTime() ?? null,
    mode: terms.mode,
    exceptions: JSON.stringify(terms.exceptions),
    max_access: terms.maxAccess,
  }
}

function receiptColumns(receipt: Receipt | null) {
  return { is_signed: receipt?.signed === true ? 1 : 0, receipt: receipt && JSON.stringify(receipt) }
}
