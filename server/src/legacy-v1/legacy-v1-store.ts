/** Everything that the legacy protocol keeps, so that it can be taken out in one piece. */
import type { Config } from '../platform/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
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

    /** What has ended: challenges a day after, clients that never authenticated, keys of the service that open nothing. */
    dropEnded: async (
      { database, config }: { database: Database; config: Pick<Config, 'v1KeyOverlapHours'> },
      tx: Queries,
      now: Date,
    ): Promise<void> => {
      await challengeStore.dropExpiredBefore(tx, new Date(now.getTime() - 24 * hourMs))
      await clients.dropUnseenBefore(database, tx, new Date(now.getTime() - hourMs), now)
      await serviceKeys.dropRetiredBefore(tx, overlapStart(config, now))
    },
  }
}

export type LegacyV1Store = ReturnType<typeof createLegacyV1Store>
