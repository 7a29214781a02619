/**
 * Tells a user's devices that an agent asks. Anybody can register an agent, so how often a phone rings is bounded per
 * user over all agents; what is not pushed waits in the console.
 */
import type { Agent } from '../agents/agent.ts'
import type { PushMessage } from '../devices/push-message.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Config } from '../platform/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { takeFromLimit } from '../platform/rate-limits.ts'
import type { RateLimit } from '../platform/rate-limits.ts'
import { isVerified } from '../providers/provider.ts'
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

/**
 * 3 in any 10 minutes, 1 an hour from agents that this user never approved. Three buckets of one: a bucket of three
 * that fills while it is used would let five through.
 */
const slots = [1, 2, 3]
const perSlot: RateLimit = { burst: 1, periodMs: 600_000 }
const fromStrangers: RateLimit = { burst: 1, periodMs: 3_600_000 }

export async function notify(needs: NotifyNeeds, tx: Queries, userId: string, asked: Asked, now: Date): Promise<void> {
  const { accessRequests, mutedAgents, pushes, config } = needs
  const { agentId } = asked.agent
  if (await mutedAgents.find(tx, userId, agentId, now)) return
  const isKnown = await accessRequests.hasApproved(tx, userId, agentId)
  // Strangers come first to their own, smaller bucket: they must not use up what agents with a grant may ring.
  if (!isKnown && !(await has(tx, `pushes-from-strangers:${userId}`, fromStrangers, now))) return
  if (!(await hasSlot(tx, userId, now))) return
  await pushes.enqueue(tx, {
    userId,
    message: messageFor(config.baseUrl, asked),
    now,
    expiresAt: asked.request.expiresAt,
  })
}

async function hasSlot(tx: Queries, userId: string, now: Date): Promise<boolean> {
  for (const slot of slots) if (await has(tx, `pushes-${slot}:${userId}`, perSlot, now)) return true
  return false
}

async function has(tx: Queries, key: string, limit: RateLimit, now: Date): Promise<boolean> {
  try {
    await takeFromLimit(tx, key, limit, now)
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'rate_limited') return false
    throw error
  }
}

/** A lock screen shows it to anybody: who asks for what, and nothing of what they said. */
function messageFor(baseUrl: URL, { request, agent, provider }: Asked): PushMessage {
  const asksFor = isVerified(provider) ? provider.name : `${siteOf(new URL(provider.metadata.issuer))} (unverified)`
  return {
    title: 'An agent asks for access',
    body: `“${shorten(agent.name).replaceAll(quotationMarks, '’')}” (unverified) wants to use ${asksFor}.`,
    accessRequestId: request.accessRequestId,
    // The hint may be somebody's address, which no push service needs to know.
    url: approvalUrl(baseUrl, { ...request, userHint: request.userId }),
  }
}

const longestName = 40
/** By one of them a name would seem to end, and what follows to be ours. */
const quotationMarks = /["“”„‟«»〝〞〟＂]/gu

/** By what a reader takes for one character, so that none is cut in half. */
function shorten(name: string): string {
  const characters = Array.from(new Intl.Segmenter().segment(name), ({ segment }) => segment)
  return characters.length > longestName ? `${characters.slice(0, longestName - 1).join('')}…` : name
}
