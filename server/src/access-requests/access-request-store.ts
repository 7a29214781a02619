import { sql } from 'kysely'
import type {} from '../agents/agent-store.ts'
import type {} from '../grants/grant-store.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { fromTime } from '../platform/database/times.ts'
import type {} from '../providers/provider-store.ts'
import type {} from '../sessions/user-store.ts'
import type { AccessRequest, WrittenStatus } from './access-request.ts'
import type {} from './muted-agent-store.ts'

interface AccessRequestRow {
  access_request_id: string
  agent_id: string
  provider_id: string | null
  user_hint: string | null
  user_id: string | null
  hosts: string | null
  methods: string | null
  paths: string | null
  max_calls: number | null
  reason: string | null
  status: WrittenStatus
  created_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  decided_on: string | null
  denial_reason: string | null
  grant_id: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    access_requests: AccessRequestRow
  }
}

export type Ending =
  | { status: 'approved'; by: string | null; on: string | null; grantId: string }
  | { status: 'denied'; by: string; on: string | null; reason: string | null }
  | { status: 'cancelled' }

export const accessRequestStore = {
  insert: async (tx: Queries, request: AccessRequest): Promise<void> => {
    await tx
      .insertInto('access_requests')
      .values({
        access_request_id: request.accessRequestId,
        agent_id: request.agentId,
        provider_id: request.providerId,
        user_hint: request.userHint,
        user_id: request.userId,
        hosts: request.hosts && JSON.stringify(request.hosts),
        methods: request.methods && JSON.stringify(request.methods),
        paths: request.paths && JSON.stringify(request.paths),
        max_calls: request.maxCalls,
        reason: request.reason,
        status: request.status,
        created_at: request.createdAt.getTime(),
        expires_at: request.expiresAt.getTime(),
        decided_at: null,
        decided_by: null,
        decided_on: null,
        denial_reason: null,
        grant_id: null,
      })
      .execute()
  },

  find: async (queries: Queries, accessRequestId: string): Promise<AccessRequest | undefined> => {
    const row = await queries
      .selectFrom('access_requests')
      .selectAll()
      .where('access_request_id', '=', accessRequestId)
      .executeTakeFirst()
    return row && toAccessRequest(row)
  },

  /** The same, locked until the transaction ends, so that decisions on one request run one at a time. */
  lock: async ({ engine }: Database, tx: Queries, accessRequestId: string): Promise<AccessRequest | undefined> => {
    const row = await tx
      .selectFrom('access_requests')
      .selectAll()
      .where('access_request_id', '=', accessRequestId)
      .$if(engine === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst()
    return row && toAccessRequest(row)
  },

  /** Ends a pending request, in one conditional write. Undefined if it was no longer pending. */
  end: async (tx: Queries, accessRequestId: string, ending: Ending, now: Date): Promise<AccessRequest | undefined> => {
    const row = await tx
      .updateTable('access_requests')
      .set({
        status: ending.status,
        decided_at: now.getTime(),
        ...(ending.status !== 'cancelled' && { decided_by: ending.by, decided_on: ending.on }),
        ...(ending.status === 'approved' && { grant_id: ending.grantId }),
        ...(ending.status === 'denied' && { denial_reason: ending.reason }),
      })
      .where('access_request_id', '=', accessRequestId)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now.getTime())
      .returningAll()
      .executeTakeFirst()
    return row && toAccessRequest(row)
  },

  countPending: async (tx: Queries, agentId: string, now: Date): Promise<number> => {
    const { count } = await tx
      .selectFrom('access_requests')
      .select((eb) => eb.fn.countAll<number | string>().as('count'))
      .where('agent_id', '=', agentId)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now.getTime())
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  /** Requests that wait for this user's decision, without those of blocked or disabled agents. */
  listPending: async (queries: Queries, userId: string, page: PageRequest, now: Date): Promise<Page<AccessRequest>> => {
    const rows = await queries
      .selectFrom('access_requests')
      .innerJoin('agents', 'agents.agent_id', 'access_requests.agent_id')
      .leftJoin('muted_agents', (join) =>
        join
          .onRef('muted_agents.agent_id', '=', 'access_requests.agent_id')
          .onRef('muted_agents.user_id', '=', 'access_requests.user_id'),
      )
      .selectAll('access_requests')
      .where('access_requests.user_id', '=', userId)
      .where('access_requests.status', '=', 'pending')
      .where('access_requests.expires_at', '>', now.getTime())
      .where('agents.disabled_at', 'is', null)
      .where((eb) => eb.or([eb('muted_agents.agent_id', 'is', null), eb('muted_agents.muted_until', 'is not', null)]))
      .$if(page.before !== undefined, (query) => query.where('access_request_id', '<', page.before ?? ''))
      .orderBy('access_request_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toAccessRequest), page.limit, ({ accessRequestId }) => accessRequestId)
  },

  /** The agent's requests to this user that are still pending. */
  listWaitingBetween: async (queries: Queries, agentId: string, userId: string, now: Date): Promise<string[]> => {
    const rows = await queries
      .selectFrom('access_requests')
      .select('access_request_id')
      .where('agent_id', '=', agentId)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now.getTime())
      .where('user_id', '=', userId)
      .execute()
    return rows.map(({ access_request_id }) => access_request_id)
  },

  /** A pending request of this agent to this user, for the same provider and on the same terms. */
  findWaiting: async (
    queries: Queries,
    wanted: Pick<AccessRequest, 'agentId' | 'userId' | 'providerId' | 'hosts' | 'methods' | 'paths' | 'maxCalls'>,
    now: Date,
  ): Promise<AccessRequest | undefined> => {
    const rows = await queries
      .selectFrom('access_requests')
      .selectAll()
      .where('agent_id', '=', wanted.agentId)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now.getTime())
      .where('user_id', '=', wanted.userId)
      .where('provider_id', '=', wanted.providerId)
      .orderBy('access_request_id')
      .execute()
    const termsOf = ({ hosts, methods, paths, maxCalls }: typeof wanted) =>
      JSON.stringify([hosts, methods, paths, maxCalls])
    return rows.map(toAccessRequest).find((request) => termsOf(request) === termsOf(wanted))
  },

  /** Whether this agent has ever requested access from this user. */
  hasAsked: async (queries: Queries, agentId: string, userId: string): Promise<boolean> => {
    const row = await queries
      .selectFrom('access_requests')
      .select('access_request_id')
      .where('agent_id', '=', agentId)
      .where((eb) => eb.or([eb('user_id', '=', userId), eb('decided_by', '=', userId)]))
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  },

  hasApproved: async (queries: Queries, userId: string, agentId: string): Promise<boolean> => {
    const row = await queries
      .selectFrom('access_requests')
      .select('access_request_id')
      .where('agent_id', '=', agentId)
      .where('status', '=', 'approved')
      .where('decided_by', '=', userId)
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  },

  /** Requests without a grant that ended before this time. */
  listUnapprovedBefore: async (queries: Queries, before: Date, limit: number): Promise<string[]> => {
    const rows = await queries
      .selectFrom('access_requests')
      .select('access_request_id')
      .where('status', 'in', ['pending', 'denied', 'cancelled'])
      .where('expires_at', '<', before.getTime())
      .limit(limit)
      .execute()
    return rows.map(({ access_request_id }) => access_request_id)
  },

  /** Requests whose sandbox grant ended before this time. */
  listOfSandboxesEndedBefore: async (queries: Queries, before: Date, limit: number): Promise<string[]> => {
    const rows = await queries
      .selectFrom('grants')
      .innerJoin('access_requests', 'access_requests.access_request_id', 'grants.access_request_id')
      .select('access_requests.access_request_id')
      .where('grants.kind', '=', sql.lit('sandbox'))
      .where('grants.expires_at', '<', before.getTime())
      .limit(limit)
      .execute()
    return rows.map(({ access_request_id }) => access_request_id)
  },

  drop: async (tx: Queries, accessRequestIds: readonly string[]): Promise<void> => {
    if (accessRequestIds.length === 0) return
    await tx.deleteFrom('access_requests').where('access_request_id', 'in', accessRequestIds).execute()
  },
}

export type AccessRequestStore = typeof accessRequestStore

function toAccessRequest(row: AccessRequestRow): AccessRequest {
  return {
    accessRequestId: row.access_request_id,
    agentId: row.agent_id,
    providerId: row.provider_id,
    userHint: row.user_hint,
    userId: row.user_id,
    hosts: toList(row.hosts),
    methods: toList(row.methods),
    paths: toList(row.paths),
    maxCalls: row.max_calls,
    reason: row.reason,
    status: row.status,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    decidedAt: fromTime(row.decided_at),
    decidedBy: row.decided_by,
    decidedOn: row.decided_on,
    denialReason: row.denial_reason,
    grantId: row.grant_id,
  }
}

function toList(text: string | null): string[] | null {
  return text === null ? null : (JSON.parse(text) as string[])
}
