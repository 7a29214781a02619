/**
 * Tells a user's devices that an agent asks. Anybody can register an agent, so how often a phone rings is bounded per
 * user over all agents, and per agent that the user never approved; what is not pushed waits in the console.
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
 * 3 in any 10 minutes. Of agents that this user never approved: 1 an hour of each, 1 in 10 minutes and 3 an hour of all,
 * so that neither one stranger speaks for all others nor strangers for an agent with a grant. Each is one of the buckets
 * of a row: a bucket of three that fills while it is used would let five through.
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
  // Without a device nothing rings and nothing is used up; the same queries are made, so that their time tells nothing.
  const who = (await pushes.canReach(tx, userId)) ? userId : `nobody:${userId}`
  if (!(await takeOneOfEach(tx, limitsFor(who, agentId, isKnown), now))) return
  await pushes.enqueue(tx, {
    userId,
    message: messageFor(config.baseUrl, asked),
    now,
    expiresAt: asked.request.expiresAt,
  })
}

/** One bucket of each row, or none at all. */
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

/** A lock screen shows it to anybody: who asks for what, and nothing of what they said. */
function messageFor(baseUrl: URL, { request, agent, provider }: Asked): PushMessage {
  const asksFor = isVerified(provider) ? provider.name : `${siteOf(new URL(metadataOf(provider).issuer))} (unverified)`
  return {
    title: 'An agent is requesting access',
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
