import type { AccessRequest as AccessRequestView } from '@sallyport/protocol/access-requests'
import { selfRegistered } from '@sallyport/protocol/agents'
import { toDisplayName } from '@sallyport/protocol/schema'
import type { Agent } from '../agents/agent.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import { statusOf as grantStatusOf } from '../grants/usable.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { isVerified } from '../providers/provider.ts'
import { abilitiesAt } from '../providers/abilities.ts'
import type { ProviderName, ProviderStore } from '../providers/provider-store.ts'
import { sandboxSlug } from '../providers/slug.ts'
import { normaliseEmail } from '../sessions/user.ts'
import type { User } from '../sessions/user.ts'
import { approvalUrl, statusOf } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'

export interface ViewNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  agents: AgentStore
  providers: ProviderStore
  callbacks: CallbackStore
  grants: GrantStore
  clock: Clock
}

export type Reader = { agent: Agent } | { user: User }

/**
 * Only the agent that asked and the user who decided see the outcome. Others with the link see only that it was
 * decided.
 */
export async function viewsOf(
  needs: ViewNeeds,
  requests: readonly AccessRequest[],
  reader: Reader,
): Promise<AccessRequestView[]> {
  const { config, database, agents, providers, callbacks, grants, clock } = needs
  const { queries } = database
  const names = await providers.namesOf(queries, idsOf(requests, 'providerId'))
  const sandbox = {
    slug: sandboxSlug,
    name: 'Sandbox',
    source: 'preset' as const,
    preset: null,
    apiHosts: [config.baseUrl.host],
  }
  const askers = 'agent' in reader ? [reader.agent] : await agents.findAll(queries, idsOf(requests, 'agentId'))
  const now = clock()
  const waiting = requests.filter((request) => statusOf(request, now) === 'pending')
  const given =
    'agent' in reader ? [] : await grants.listBetween(queries, reader.user.userId, idsOf(waiting, 'agentId'))
  return Promise.all(
    requests.map(async (request) => {
      const provider = request.providerId === null ? sandbox : names.get(request.providerId)
      const asker = askers.find(({ agentId }) => agentId === request.agentId)
      const isInvolved = 'agent' in reader || request.decidedBy === reader.user.userId
      const callback = 'agent' in reader && (await callbacks.stateOf(queries, request.accessRequestId))
      return {
        ...question(request, provider),
        abilities:
          'agent' in reader ? [] : abilitiesAt(provider?.preset ?? null, request.hosts ?? provider?.apiHosts ?? []),
        status: statusOf(request, now),
        agent: {
          agent_id: request.agentId,
          name: asker?.name ?? '',
          registered_at: (asker?.createdAt ?? request.createdAt).toISOString(),
          registration: 'agent' in reader || !asker ? null : registrationOf(asker, reader.user),
        },
        history: 'agent' in reader || !waiting.includes(request) ? null : historyOf(request.agentId, given, now),
        approval_url: approvalUrl(config.baseUrl, request),
        decided_at: request.decidedAt?.toISOString() ?? null,
        approved_by: isInvolved && request.status === 'approved' ? request.decidedBy : null,
        denial_reason: isInvolved ? request.denialReason : null,
        grant_id: isInvolved ? request.grantId : null,
        callback: callback
          ? { status: callback.status, attempts: callback.attempts, last_error: callback.lastError }
          : null,
      }
    }),
  )
}

export async function viewOf(needs: ViewNeeds, request: AccessRequest, reader: Reader): Promise<AccessRequestView> {
  const [view] = await viewsOf(needs, [request], reader)
  if (!view) throw new Error('a request has a view')
  return view
}

/** The owner is the agent's own claim and is not verified, even if it is the name of a user. */
function registrationOf({ ownerUserId }: Agent, { userId, email }: User) {
  const isClaim = ownerUserId !== selfRegistered
  return {
    kind: isClaim ? ('claims_owner' as const) : ('self_registered' as const),
    claimed_owner: isClaim ? (toDisplayName(ownerUserId, 200) ?? null) : null,
    claims_you: ownerUserId === userId || (email !== null && normaliseEmail(ownerUserId) === email),
    verified: false,
  }
}

function historyOf(agentId: string, given: readonly Grant[], now: Date) {
  const grants = given.filter((grant) => grant.agentId === agentId)
  const lastCall = Math.max(0, ...grants.map(({ lastUsedAt }) => lastUsedAt?.getTime() ?? 0))
  return {
    grants: grants.length,
    active_grants: grants.filter((grant) => grantStatusOf(grant, now) === 'active').length,
    calls: grants.reduce((sum, { calls }) => sum + calls, 0),
    last_call_at: lastCall === 0 ? null : new Date(lastCall).toISOString(),
  }
}

function question(request: AccessRequest, provider: ProviderName | undefined) {
  return {
    access_request_id: request.accessRequestId,
    provider: provider?.slug ?? null,
    provider_name: provider?.name ?? '',
    verified: provider !== undefined && isVerified(provider),
    api_hosts: provider?.apiHosts ?? [],
    hosts: request.hosts,
    methods: request.methods,
    paths: request.paths,
    max_calls: request.maxCalls,
    reason: request.reason,
    user_hint: request.userHint,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
  }
}

function idsOf(requests: readonly AccessRequest[], member: 'agentId' | 'providerId'): string[] {
  return [...new Set(requests.flatMap((request) => request[member] ?? []))]
}
