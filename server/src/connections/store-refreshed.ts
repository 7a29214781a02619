import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/operations/log.ts'
import type { Connection, KeptTokens } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import type { FormerTokenStore } from './former-token-store.ts'
import type { RefreshStore } from './refresh-store.ts'
import type { RevocationStore } from './revocation-store.ts'

export interface StoreRefreshedNeeds {
  database: Database
  connections: ConnectionStore
  refreshes: RefreshStore
  revocations: RevocationStore
  formerTokens: FormerTokenStore
  audit: AuditWriter
  clock: Clock
  log: Log
}

const retryForMs = 20_000

/**
 * The provider may have revoked the old refresh token already, and the new one exists only in memory: if the database
 * is unavailable, keep trying for a while. If it stays unavailable, the expired lease shows that a refresh was
 * interrupted.
 */
export async function storeRefreshed(
  needs: StoreRefreshedNeeds,
  connection: Connection,
  kept: KeptTokens,
): Promise<void> {
  const deadline = performance.now() + retryForMs
  for (let pause = 50; ; pause = Math.min(pause * 2, 1000)) {
    try {
      await storeOnce(needs, connection, kept)
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      needs.log.warn({ err: error, connection_id: connection.connectionId }, 'refreshed tokens could not be stored yet')
      await sleep(pause)
    }
  }
}

async function storeOnce(
  { database, connections, refreshes, revocations, formerTokens, audit, clock }: StoreRefreshedNeeds,
  connection: Connection,
  kept: KeptTokens,
): Promise<void> {
  const { connectionId, userId } = connection
  await database.transaction(async (tx) => {
    const { accessToken: former } = await connections.tokens(tx, connection)
    if (!(await refreshes.store(tx, connection, kept))) {
      // If the account was disconnected in the meantime, the new tokens have to be revoked too. If the user consented
      // again, they are not needed any more.
      await revocations.leave(tx, connection, kept, clock())
      return
    }
    if (former) await formerTokens.insert(tx, connection, former, kept.obtainedAt)
    await formerTokens.insertAssertion(tx, connection, kept)
    const detail = { connection_id: connectionId, rotated: kept.refreshToken ? 'yes' : 'no' }
    await audit.append(tx, { event: 'connection.refreshed', at: kept.obtainedAt, userId, connectionId, detail })
  })
}
