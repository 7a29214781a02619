/** Everything that the legacy protocol stores, so that it can be removed as a whole. */
import type { Config } from '../config/config.ts'
import { deleteAll } from '../platform/database/batches.ts'
import type { Database } from '../platform/database/database.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { challengeStore } from './challenge-store.ts'
import { createClientStore, lookupKeyColumn } from './client-store.ts'
import { createItemStore, itemContent } from './item-store.ts'
import { createServiceKeyStore, servicePrivateKey } from './service-key-store.ts'
import { overlapStart } from './service-keys.ts'

export const legacyV1Columns: readonly SealedColumn[] = [servicePrivateKey, lookupKeyColumn, itemContent]

const hourMs = 3_600_000

export function createLegacyV1Store(vault: Vault) {
  const clients = createClientStore(vault)
  const serviceKeys = createServiceKeyStore(vault)
  return {
    clients,
    serviceKeys,
    challenges: challengeStore,
    items: createItemStore(vault),

    /**
     * Deletes challenges a day after their end, clients that never authenticated, and service keys past their overlap.
     */
    dropEnded: async (
      { database, config }: { database: Database; config: Pick<Config, 'v1KeyOverlapHours'> },
      now: Date,
    ): Promise<void> => {
      const hoursAgo = (hours: number) => new Date(now.getTime() - hours * hourMs)
      await deleteAll(database, (tx) => challengeStore.dropExpiredBefore(tx, hoursAgo(24)))
      await deleteAll(database, (tx) => clients.dropUnseenBefore(database, tx, hoursAgo(1), now))
      await database.transaction((tx) => serviceKeys.dropRetiredBefore(tx, overlapStart(config, now)))
    },
  }
}

export type LegacyV1Store = ReturnType<typeof createLegacyV1Store>
