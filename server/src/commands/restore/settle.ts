/** Makes a restored database fit for service, in one transaction with the record that says so. */
import { macOf, hashText } from '../../audit/audit-hash.ts'
import { restorationDetail, restoredEvent } from '../../audit/restoration.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { MasterKey } from '../../platform/vault/master-keys.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { createStores } from '../../stores.ts'
import type { Comparison, LostHead } from './carry-over.ts'
import { settleStore } from './settle-store.ts'
import type { Settled } from './settle-store.ts'

export interface Settlement extends Settled {
  backupUntil: Date
  isPaused: boolean
}

const maxNamedGrants = 100

/**
 * Without a comparison nobody knows what was revoked since the backup, and would be back. All agents are then paused until
 * an admin has looked.
 */
export async function settleRestored(
  database: Database,
  masterKeys: MasterKey[],
  comparison: Comparison | undefined,
): Promise<Settlement> {
  const clock = systemClock
  const vault = await openVault({ database, readMasterKeys: () => masterKeys, clock })
  const { audit, auditKeys, pauses } = createStores({ database, vault, clock })
  const settlement = await database.transaction(async (tx) => {
    const at = clock()
    const backupUntil = new Date(await settleStore.newestRecordAt(tx))
    const key = await auditKeys.findOrMake(tx, at)
    const isProven = ({ mac, ...head }: LostHead) => mac !== null && hashText(mac) === hashText(macOf(key.macKey, head))
    const settled = await settleStore.settle(tx, at.getTime())
    const isPaused = comparison === undefined
    if (isPaused && (await pauses.insert(tx, null, at))) await audit.append(tx, { event: 'service.paused', at })
    const { lostHeads, lostRecords, lostGrants = [] } = comparison ?? {}
    const detail = {
      ...restorationDetail({ backupUntil, lost: lostHeads?.filter(isProven), lostRecords }),
      lost_grants: lostGrants.length,
      lost_grant_ids: lostGrants.slice(0, maxNamedGrants).map(({ grantId }) => grantId),
      ended_sessions: settled.sessions,
      is_paused: isPaused,
    }
    await audit.append(tx, { event: restoredEvent, at, detail })
    return { ...settled, backupUntil, isPaused }
  })
  await audit.signHeads()
  return settlement
}
