/**
 * Deletes records past their retention: always from the beginning of a chain, with a signed stub in their place. Every
 * record is verified before it is deleted, so that retention can't be used to hide a change. It pauses after each batch
 * for as long as the batch took, and leaves the rest to the next run when its time is up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { inBatches, rowsPerBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import type { Log } from '../platform/operations/log.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import type { AuditChainStore } from './audit-chain-store.ts'
import { chainKindOf, emptyChain } from './audit-hash.ts'
import type { ChainKind, Head } from './audit-hash.ts'
import type { AuditKey, AuditKeyStore } from './audit-key-store.ts'
import { isSignedBy, signHead } from './chain-heads.ts'
import { wrongWith } from './verify-chain.ts'

export interface RetentionNeeds {
  database: Database
  auditChains: AuditChainStore
  auditKeys: AuditKeyStore
  clock: Clock
  log: Log
}

/** Older records of each kind of chain are deleted. Undefined: none. */
export type KeptSince = Record<ChainKind, Date | undefined>

export interface RetentionResult {
  removed: number
  /** Estimate of how many are due and not deleted yet. */
  left: number
}

interface RetentionTime {
  /** Shorter than the interval between two sweeps. */
  mostMs?: number
  /** Aborted when the service stops. */
  signal?: AbortSignal
}

export async function dropOldRecords(
  needs: RetentionNeeds,
  keptSince: KeptSince,
  { mostMs = 9 * 60_000, signal }: RetentionTime,
): Promise<RetentionResult> {
  const { log } = needs
  const startedAt = performance.now()
  const isTimeUp = () => performance.now() - startedAt >= mostMs || signal?.aborted === true
  const result: RetentionResult = { removed: 0, left: 0 }
  /** Resolves to whether there was enough time. */
  const run = async (dropBatch: () => Promise<Dropped>): Promise<boolean> => {
    let isMore = false
    await inBatches(async () => {
      const batchAt = performance.now()
      const batch = await dropBatch()
      result.removed += batch.count
      isMore = batch.isMore
      if (!isMore || isTimeUp()) return 'done'
      await sleep(performance.now() - batchAt, undefined, { ref: false })
      return 'more'
    })
    return !isMore
  }
  await dropAll(needs, keptSince, run, result)
  const { removed, left } = result
  const figures = { removed, left, ms: Math.round(performance.now() - startedAt) }
  if (left > 0) log.warn(figures, 'retention removed old records; more are due at the next sweep')
  else if (removed > 0) log.info(figures, 'retention removed old records')
  return result
}

interface Dropped {
  count: number
  isMore: boolean
}

async function dropAll(
  needs: RetentionNeeds,
  keptSince: KeptSince,
  run: (dropBatch: () => Promise<Dropped>) => Promise<boolean>,
  result: RetentionResult,
): Promise<void> {
  const { database, auditChains, auditKeys } = needs
  const { queries } = database
  const { chn } = keptSince
  // First: the first records of chains say how many records are on no chain, so they are deleted after those.
  const dropUnchained = async (before: Date): Promise<Dropped> => {
    const count = await database.transaction((tx) => auditChains.dropUnchainedBefore(tx, before))
    return { count, isMore: count === rowsPerBatch }
  }
  if (chn && !(await run(() => dropUnchained(chn)))) {
    result.left = await auditChains.countUnchainedBefore(queries, chn)
    return
  }
  const key = await auditKeys.find(queries)
  if (!key) return
  for (const { chain } of await auditChains.listHeads(queries)) {
    const before = keptSince[chainKindOf({ chain })]
    if (!before) continue
    await run(() => database.transaction((tx) => dropBeginning(needs, tx, key, chain, before)))
    result.left += await auditChains.countBefore(queries, chain, before)
    await nextSlice()
  }
}

/** Deletes a batch of a chain's oldest records. */
async function dropBeginning(
  { auditChains, clock, log }: RetentionNeeds,
  tx: Queries,
  key: AuditKey,
  chain: string,
  before: Date,
): Promise<Dropped> {
  const stub = await auditChains.findStub(tx, chain)
  const refuse = (position: number, words: string) => {
    log.error({ chain, position }, `retention stops at this record: ${words}. Run: sallyport-server audit verify`)
    return { count: 0, isMore: false }
  }
  if (stub && !isSignedBy(key.publicKey, 'stub', stub)) return refuse(stub.position, "the stub's signature is invalid")
  let head: Head = stub ?? emptyChain(chain)
  let end: Head | undefined
  let isMore = true
  // A commit can be longer than a batch.
  while (isMore && !end) {
    const rows = await auditChains.listAfter(tx, chain, head.position, rowsPerBatch)
    isMore = rows.length === rowsPerBatch
    for (const row of rows) {
      if (row.at >= before.getTime()) {
        isMore = false
        break
      }
      const wrong = wrongWith(row, head, key)
      if (wrong !== undefined) return refuse(head.position + 1, wrong)
      head = { chain, position: row.position, hash: row.hash }
      // Only the MAC at the end of a commit proves that we wrote the records before it.
      if (row.mac) end = head
    }
  }
  if (!end) return { count: 0, isMore: false }
  return { count: await auditChains.putStub(tx, signHead('stub', end, clock(), key.privateKey)), isMore }
}

/** Call the returned function with the result of each run. */
export function measureRetention({ counter, gauge }: Metrics): (result: RetentionResult) => void {
  let backlog = 0
  const removedTotal = counter('sallyport_audit_retention_removed_total', 'Records that retention has deleted', [])
  // Every process has the same backlog, so several are combined by their maximum, not their sum.
  const help = 'Records past their retention that the last run left, estimated'
  gauge('sallyport_audit_retention_backlog', help, () => backlog, 'max')
  return ({ removed, left }) => {
    removedTotal.inc(removed)
    backlog = left
  }
}
