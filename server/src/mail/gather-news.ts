import type { AccessRequestStore } from '../access-requests/access-request-store.ts'
import type { MutedAgentStore } from '../access-requests/muted-agent-store.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditListStore } from '../call-log/audit-list-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { isVerified } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { News } from './letter.ts'
import type { Subscription } from './subscription-store.ts'

export interface NewsNeeds {
  accessRequests: AccessRequestStore
  mutedAgents: MutedAgentStore
  agents: AgentStore
  providers: ProviderStore
  auditList: AuditListStore
}

/** The news, and up to where it is told once it was sent. */
export interface Gathered {
  news: News
  requestsAfter: Date
  refusalsAfter: Date
}

const most = 100

/** What the user has not been told: requests that wait, without those of muted agents, and refused calls. */
export async function gatherNews(
  { accessRequests, mutedAgents, agents, providers, auditList }: NewsNeeds,
  queries: Queries,
  { userId, requestsAfter, refusalsAfter, refusalsDue }: Subscription,
  now: Date,
): Promise<Gathered> {
  const page = { limit: most, before: undefined, status: undefined }
  const muted = new Set(
    (await mutedAgents.listOfUser(queries, userId, page, now)).records.map(({ agentId }) => agentId),
  )
  const pending = (await accessRequests.listPending(queries, userId, page, now)).records
  const fresh = pending.filter(({ agentId, createdAt }) => createdAt > requestsAfter && !muted.has(agentId))
  const refused =
    now < refusalsDue
      ? []
      : (
          await auditList.list(
            queries,
            { userId },
            { event: 'proxy.refused', since: new Date(refusalsAfter.getTime() + 1) },
            { limit: most, before: undefined },
          )
        ).records
  const callsOf = Map.groupBy(refused, ({ agent_id: id }) => id ?? '')
  const known = await agents.findAll(queries, [...new Set([...fresh.map(({ agentId }) => agentId), ...callsOf.keys()])])
  const nameOf = (id: string) => known.find(({ agentId }) => agentId === id)?.name ?? 'unknown'
  const names = await providers.namesOf(queries, [...new Set(fresh.flatMap(({ providerId }) => providerId ?? []))])
  return {
    news: {
      requests: fresh.map(({ accessRequestId: id, agentId, providerId }) => {
        const provider = names.get(providerId ?? '')
        return { id, agent: nameOf(agentId), provider: provider && isVerified(provider) ? provider.name : undefined }
      }),
      refusals: [...callsOf].map(([id, calls]) => ({ agent: nameOf(id), calls: calls.length })),
      isMore: refused.length === most,
    },
    requestsAfter: latest([requestsAfter, ...fresh.map(({ createdAt }) => createdAt)]),
    refusalsAfter: latest([refusalsAfter, ...refused.map(({ at }) => new Date(at))]),
  }
}

function latest(times: readonly Date[]): Date {
  return new Date(Math.max(...times.map((time) => time.getTime())))
}
