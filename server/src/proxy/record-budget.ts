/**
 * Bounds how much agents can make the service store without a user's approval: records of sandbox calls and refusals,
 * and stored answers of sandbox calls with an Idempotency-Key. The budget is in bytes per day, for each agent and for
 * all agents together. All instances share it: each takes a chunk from the database and spends it in memory.
 */
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import type { DiskSpace } from '../platform/limits/disk-space.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import { perDay, tryTakeFromLimit } from '../platform/limits/rate-limits.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'

export interface RecordBudget {
  /** False if the agent or all agents together have used up their budget, or disk space is low. */
  trySpend: (agentId: string, bytes: number) => Promise<boolean>
  /** The same for records of a grant that a user approved: only the agent's own budget counts. */
  trySpendOwn: (agentId: string, bytes: number) => Promise<boolean>
}

interface BudgetNeeds {
  config: Pick<Config, 'unapprovedBytesPerAgentDay' | 'unapprovedBytesPerDay'>
  database: Database
  diskSpace: DiskSpace
  clock: Clock
}

interface Bucket {
  key: string
  limit: RateLimit
  chunkKibibytes: number
}

/** Disk space of a record besides its detail: columns, hash, indexes. */
export const recordBytes = 700

const kibibyte = 1024

export function createRecordBudget({ config, database, diskSpace, clock }: BudgetNeeds): RecordBudget {
  /** Bytes taken from a bucket and not yet spent. */
  const left = new Map<string, number>()
  const add = (key: string, bytes: number) => {
    setBounded(left, key, (left.get(key) ?? 0) + bytes)
  }
  const perAgent = perDay(config.unapprovedBytesPerAgentDay / kibibyte)
  const all: Bucket = { key: 'unapproved', limit: perDay(config.unapprovedBytesPerDay / kibibyte), chunkKibibytes: 256 }

  const draw = async ({ key, limit, chunkKibibytes }: Bucket, bytes: number): Promise<boolean> => {
    const neededKibibytes = Math.ceil(bytes / kibibyte)
    for (const kibibytes of [Math.max(chunkKibibytes, neededKibibytes), neededKibibytes]) {
      if ((left.get(key) ?? 0) >= bytes) break
      if (await tryTakeFromLimit(database.queries, key, limit, clock(), kibibytes)) add(key, kibibytes * kibibyte)
    }
    if ((left.get(key) ?? 0) < bytes) return false
    add(key, -bytes)
    return true
  }

  const trySpendOwn: RecordBudget['trySpendOwn'] = (agentId, bytes) =>
    draw({ key: `unapproved:${agentId}`, limit: perAgent, chunkKibibytes: 16 }, bytes)

  return {
    trySpendOwn,
    trySpend: async (agentId, bytes) => {
      if (diskSpace() !== 'ok') return false
      if (!(await trySpendOwn(agentId, bytes))) return false
      if (await draw(all, bytes)) return true
      add(`unapproved:${agentId}`, bytes)
      return false
    },
  }
}
