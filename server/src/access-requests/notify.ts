/**
 * Pushes an access request to the user's devices. Anyone can register an agent, so pushes are rate limited: per user
 * across all agents, and per agent that the user never approved. Requests over the limit still appear in the console.
 */
import type { Agent } from '../agents/agent.ts'
import type { PushMessage } from '../devices/push-message.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Config } from '../config/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { giveBackToLimit, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'
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

interface Bucket {
  key: string
  limit: RateLimit
}

const tenMinutes: RateLimit = { burst: 1, periodMs: 600_000 }
const hour: RateLimit = { burst: 1, periodMs: 3_600_000 }

/**
 * Limits: 3 pushes in any 10 minutes. From agents that this user never approved: 1 per hour from each agent, and 1 per
 * 10 minutes and 3 per hour from all of them. So one unknown agent can't use up the limit of the others, nor all of
 * them that of an approved agent. A limit of three is three buckets of one: a single bucket of three refills while it
 * is used and would let five through.
 */
function limitsFor(who: string, agentId: string, isKnown: boolean): Bucket[][] {
  const three = (name: string, limit: RateLimit) => [1, 2, 3].map((slot) => ({ key: `${name}-${slot}:${who}`, limit }))
  const ofStrangers = [
    [{ key: `pushes-from:${agentId}:${who}`, limit: hour }],
    [{ key: `pushes-from-strangers:${who}`, limit: tenMinutes }],
    three('pushes-from-strangers', hour),
  ]
  return [...(isKnown ? [] : ofStrangers), three('pushes', tenMinutes)]
}

export async function notify(needs: NotifyNeeds, tx: Queries, userId: string, asked: Asked, now: Date): Promise<void> {
  const { accessRequests, mutedAgents, pushes, config } = needs
  const { agentId } = asked.agent
  if (await mutedAgents.find(tx, userId, agentId, now)) return
  const isKnown = await accessRequests.hasApproved(tx, userId, agentId)
  // Without a reachable device no limit is used up. The same queries run, so that the timing reveals nothing.
  const who = (await pushes.canReach(tx, userId)) ? userId : `nobody:${userId}`
  if (!(await takeOneOfEach(tx, limitsFor(who, agentId, isKnown), now))) return
  await pushes.enqueue(tx, {
    userId,
    message: messageFor(config.baseUrl, asked),
    now,
    expiresAt: asked.request.expiresAt,
  })
}

/** Takes one bucket of each row, or none. */
async function takeOneOfEach(tx: Queries, rows: readonly Bucket[][], now: Date): Promise<boolean> {
  const taken: Bucket[] = []
  for (const row of rows) {
    const one = await takeOne(tx, row, now)
    if (!one) {
      for (const { key, limit } of taken) await giveBackToLimit(tx, key, limit)
      return false
    }
    taken.push(one)
  }
  return true
}

async function takeOne(tx: Queries, row: readonly Bucket[], now: Date): Promise<Bucket | undefined> {
  for (const bucket of row) if (await has(tx, bucket.key, bucket.limit, now)) return bucket
  return undefined
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

/** Visible on a lock screen: says which agent wants to use what, but not the agent's reason. */
function messageFor(baseUrl: URL, { request, agent, provider }: Asked): PushMessage {
  const asksFor = isVerified(provider) ? provider.name : `${siteOf(new URL(metadataOf(provider).issuer))} (unverified)`
  return {
    title: 'An agent is requesting access',
    body: `“${shorten(agent.name).replaceAll(quotationMarks, '’')}” (unverified) wants to use ${asksFor}.`,
    accessRequestId: request.accessRequestId,
    // The hint may be an email address. Push services must not see it.
    url: approvalUrl(baseUrl, { ...request, userHint: request.userId }),
  }
}

const longestName = 40
/** An agent's name could use one to end the quotation and add text that looks like ours. */
const quotationMarks = /["“”„‟«»〝〞〟＂]/gu

/** Counts grapheme clusters, so that no visible character is cut in half. */
function shorten(name: string): string {
  const characters = Array.from(new Intl.Segmenter().segment(name), ({ segment }) => segment)
  return characters.length > longestName ? `${characters.slice(0, longestName - 1).join('')}…` : name
}
