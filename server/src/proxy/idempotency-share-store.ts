import type { Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import type {} from './idempotency-store.ts'

const readAgainMs = 60_000

/**
 * How much each agent has stored. It is added up once a minute, and what this instance stores is counted in between:
 * a sum for every call would grow with what is there, and a counter in a row of its own would be a lock to wait for.
 */
export function createShares() {
  const shares = new Map<string, { bytes: number; readAt: number }>()
  return {
    used: async (queries: Queries, agentId: string, now: Date): Promise<number> => {
      const known = shares.get(agentId)
      if (known && Math.abs(now.getTime() - known.readAt) < readAgainMs) return known.bytes
      const [sum] = await sumOf(queries, { agent_id: agentId })
      // PostgreSQL gives sums of 64-bit numbers as text.
      const bytes = Number(sum?.bytes ?? 0)
      setBounded(shares, agentId, { bytes, readAt: now.getTime() })
      return bytes
    },

    add: (agentId: string, bytes: number): void => {
      const known = shares.get(agentId)
      if (known) known.bytes += bytes
    },
  }
}

const sumOf = prepared<{ agent_id: string }, { bytes: number | string | null }>((queries, { agent_id }) =>
  queries
    .selectFrom('keyed_calls')
    .select((eb) => eb.fn.sum('size').as('bytes'))
    .where('agent_id', '=', agent_id),
)
