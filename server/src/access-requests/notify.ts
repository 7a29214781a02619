/**
 * Pushes an access request to the user's devices. Anyone can register an agent, so pushes are rate limited: per user
 * across all agents, and per agent that the user never approved. Requests over the limit still appear in the console.
 */
import type { Agent } from '../agents/agent.ts'
import { takePush } from '../devices/push-limits.ts'
import { shortName } from '../devices/push-message.ts'
import type { PushMessage } from '../devices/push-message.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Config } from '../config/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { isVerified, metadataOf } from '../providers/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { siteOf } from '../providers/site.ts'
import { approvalUrl } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'
import type { MutedAgentStore } from './muted-agent-store.ts'

export interface NotifyNeeds {
  config: Pick<Config, 'baseUrl'>
  accessRequests: AccessRequestStore
  mutedAgents: MutedAgentStore
  pushes: PushStore
}

interface Asked {
  request: AccessRequest
  agent: Agent
  provider: Provider
}

export async function notify(needs: NotifyNeeds, tx: Queries, userId: string, asked: Asked, now: Date): Promise<void> {
  const { accessRequests, mutedAgents, pushes, config } = needs
  const { agentId } = asked.agent
  if (await mutedAgents.find(tx, userId, agentId, now)) return
  const isKnown = await accessRequests.hasApproved(tx, userId, agentId)
  // Without a reachable device no limit is used up. The same queries run, so that the timing reveals nothing.
  const who = (await pushes.canReach(tx, userId)) ? userId : `nobody:${userId}`
  if (!(await takePush(tx, who, { agentId, isKnown }, now))) return
  await pushes.enqueue(tx, {
    userId,
    message: messageFor(config.baseUrl, asked),
    now,
    expiresAt: asked.request.expiresAt,
  })
}

/** Visible on a lock screen: says which agent wants to use what, but not the agent's reason. */
function messageFor(baseUrl: URL, { request, agent, provider }: Asked): PushMessage {
  const asksFor = isVerified(provider) ? provider.name : `${siteOf(new URL(metadataOf(provider).issuer))} (unverified)`
  return {
    title: 'An agent is requesting access',
    body: `“${shortName(agent.name)}” (unverified) wants to use ${asksFor}.`,
    accessRequestId: request.accessRequestId,
    // The hint may be an email address. Push services must not see it.
    url: approvalUrl(baseUrl, { ...request, userHint: request.userId }),
  }
}
