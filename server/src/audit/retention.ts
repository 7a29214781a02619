/**
 * Takes away what is older than it has to be kept: whole beginnings of chains, each with a signed stub in its place.
 * It looks at every record before it signs for its end, so that nobody can have it remove what was changed.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Log } from '../platform/log.ts'
import type { AuditChainStore } from './audit-chain-store.ts'
import { emptyChain } from './audit-hash.ts'
import type { ChainKind, Head } from './audit-hash.ts'
import type { AuditKey, AuditKeyStore } from './audit-key-store.ts'
import type { LooseRecordStore } from './loose-record-store.ts'
import { isSignedBy, signHead } from './signed-head.ts'
import { wrongWith } from './verify-chain.ts'

export interface RetentionNeeds {
  database: Database
  auditChains: AuditChainStore
  looseRecords: LooseRecordStore
  auditKeys: AuditKeyStore
  clock: Clock
  log: Log
}

const pageSize = 1000
/** Of one chain in one sweep, and of what hangs on none; the rest goes with the next. */
const pagesAtOnce = 50

/** How long records of each kind of chain are kept. Undefined: for good. */
export type KeptSince = Record<ChainKind, Date | undefined>

export async function dropOldRecords(needs: RetentionNeeds, keptSince: KeptSince): Promise<void> {
  const { database, auditChains, auditKeys } = needs
  // The first records of chains say how many there were: they stay until those are gone.
  if (keptSince.chn && (await dropUnchained(needs, keptSince.chn))) return
  const key = await auditKeys.find(database.queries)
  if (!key) return
  for (const { chain } of await auditChains.listHeads(database.queries)) {
    const before = keptSince[chain.startsWith('chs_') ? 'chs' : 'chn']
    if (!before) continue
    for (let page = 0; page < pagesAtOnce; page++) {
      const isMore = await database.transaction((tx) => dropPage(needs, tx, key, chain, before))
      if (!isMore) break
    }
  }
}

/** Whether there may be more to take away. */
async function dropUnchained({ database, looseRecords }: RetentionNeeds, before: Date): Promise<boolean> {
  for (let page = 0; page < pagesAtOnce; page++) {
    const dropped = await database.transaction((tx) => looseRecords.dropUnchainedBefore(tx, before, pageSize))
    if (dropped < pageSize) return false
  }
  return true
}

/** The same of one chain. */
async function dropPage(
  { auditChains, clock, log }: RetentionNeeds,
  tx: Queries,
  key: AuditKey,
  chain: string,
  before: Date,
): Promise<boolean> {
  const stub = await auditChains.findStub(tx, chain)
  const refuse = (position: number, words: string) => {
    log.error({ chain, position }, `retention stops at this record: ${words}. Run: sallyport-server audit verify`)
    return false
  }
  if (stub && !isSignedBy(key.publicKey, 'stub', stub)) return refuse(stub.position, 'its stub is not ours')
  let head: Head = stub ?? emptyChain(chain)
  let end: Head | undefined
  const rows = await auditChains.listAfter(tx, chain, head.position, pageSize)
  for (const row of rows) {
    if (row.at >= before.getTime()) break
    const wrong = wrongWith(row, head, key)
    if (wrong !== undefined) return refuse(head.position + 1, wrong)
    head = { chain, position: row.position, hash: row.hash }
    // Only the end of a commit shows that we wrote what came before.
    if (row.mac) end = head
  }
  if (!end) return false
  await auditChains.putStub(tx, signHead('stub', end, clock(), key.privateKey))
  return rows.length === pageSize
}
