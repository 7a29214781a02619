import type { AccessRequest as AccessRequestView } from '@sallyport/protocol/access-requests'
import type { Agent } from '../agents/agent.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { isVerified } from '../providers/provider.ts'
import type { ProviderName, ProviderStore } from '../providers/provider-store.ts'
import type { User } from '../sessions/user.ts'
import { approvalUrl, statusOf } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'

export interface ViewNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  agents: AgentStore
  providers: ProviderStore
  callbacks: CallbackStore
  clock: Clock
}

export type Reader = { agent: Agent } | { user: User }

/** What became of it is for the agent that asked and the user who answered; others with the link see that it did. */
export async function viewsOf(
  needs: ViewNeeds,
  requests: readonly AccessRequest[],
  reader: Reader,
): Promise<AccessRequestView[]> {
  const { config, database, agents, providers, callbacks, clock } = needs
  const { queries } = database
  const names = await providers.namesOf(queries, idsOf(requests, 'providerId'))
  const askers = 'agent' in reader ? [reader.agent] : await agents.findAll(queries, idsOf(requests, 'agentId'))
  const now = clock()
  return Promise.all(
    requests.map(async (request) => {
      const provider = names.get(request.providerId)
      const asker = askers.find(({ agentId }) => agentId === request.agentId)
      const isInvolved = 'agent' in reader || request.decidedBy === reader.user.userId
      const callback = 'agent' in reader && (await callbacks.stateOf(queries, request.accessRequestId))
      return {
        ...question(request, provider),
        status: statusOf(request, now),
        agent: {
          agent_id: request.agentId,
          name: asker?.name ?? '',
          registered_at: (asker?.createdAt ?? request.createdAt).toISOString(),
        },
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
  return [...new Set(requests.map((request) => request[member]))]
}
