/**
 * How often a user's devices are notified. Anyone can register an agent, so pushes are limited: per user across all
 * agents, and per agent that the user never approved.
 */
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { giveBackToLimit, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'

interface Bucket {
  key: string
  limit: RateLimit
}

const tenMinutes: RateLimit = { burst: 1, periodMs: 600_000 }
const hour: RateLimit = { burst: 1, periodMs: 3_600_000 }

/**
 * Limits: 3 pushes in any 10 minutes. From agents that this user never approved: 1 per hour from each agent, and 1 per
 * 10 minutes and 3 per hour from all of them. So one unknown agent can't use up the limit of the others, nor all of
 * them that of an approved agent. About held calls: 2 in any 10 minutes from each agent, which leaves one for another. A
 * limit of three is three buckets of one: a single bucket of three refills while it is used and would let five through.
 */
function limitsFor(who: string, { agentId, isKnown, isAboutCall = false }: Pushing): Bucket[][] {
  const three = (name: string, limit: RateLimit) => [1, 2, 3].map((slot) => ({ key: `${name}-${slot}:${who}`, limit }))
  const ofCalls = [1, 2].map((slot) => ({ key: `pushes-of-calls-${slot}:${agentId}:${who}`, limit: tenMinutes }))
  const ofStrangers = [
    [{ key: `pushes-from:${agentId}:${who}`, limit: hour }],
    [{ key: `pushes-from-strangers:${who}`, limit: tenMinutes }],
    three('pushes-from-strangers', hour),
  ]
  return [...(isKnown ? [] : ofStrangers), ...(isAboutCall ? [ofCalls] : []), three('pushes', tenMinutes)]
}

interface Pushing {
  agentId: string
  /** The user has approved this agent once. */
  isKnown: boolean
  isAboutCall?: boolean
}

/** Takes a push from the limits. False if there is none left. */
export async function takePush(tx: Queries, who: string, pushing: Pushing, now: Date): Promise<boolean> {
  return takeOneOfEach(tx, limitsFor(who, pushing), now)
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
