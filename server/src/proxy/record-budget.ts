/**
 * Bounds how much agents can make the service store by calls without a user's approval: records of sandbox calls and
 * refusals, and stored answers of sandbox calls with an Idempotency-Key.
 */
import { ownShare, unapprovedShares } from '../agents/unapproved-shares.ts'
import type { UnapprovedConfig } from '../agents/unapproved-shares.ts'
import type { DiskSpace } from '../platform/limits/disk-space.ts'
import type { StorageLimits } from '../platform/limits/storage-limits.ts'

/** Who calls, and from where if that is known. */
export interface CallOrigin {
  agentId: string
  address?: string | undefined
}

export interface RecordBudget {
  /** False if the agent, its address or all agents together have used up their budget, or disk space is low. */
  trySpend: (origin: CallOrigin, bytes: number) => Promise<boolean>
  /** The same for records of a grant that a user approved: only the agent's own budget counts. */
  trySpendOwn: (origin: CallOrigin, bytes: number) => Promise<boolean>
}

export interface BudgetNeeds {
  config: UnapprovedConfig
  storageLimits: StorageLimits
  diskSpace: DiskSpace
}

/** Disk space of a record besides its detail: columns, hash, indexes. */
export const recordBytes = 700

export function createRecordBudget({ config, storageLimits, diskSpace }: BudgetNeeds): RecordBudget {
  const { trySpend } = storageLimits
  return {
    trySpendOwn: ({ agentId }, bytes) => trySpend(ownShare(config, 'calls', agentId), bytes),
    trySpend: async (origin, bytes) =>
      diskSpace() === 'ok' && (await trySpend(unapprovedShares(config, 'calls', origin), bytes)),
  }
}
