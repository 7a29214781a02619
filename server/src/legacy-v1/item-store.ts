import type { Queries } from '../platform/database/database.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type {} from './client-store.ts'
import { itemSize } from './item.ts'
import type { StoredItem } from './item.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    v1_items: {
      item_id: string
      client_uuid: string
      content: Uint8Array
      content_key_id: string
      size: number
      updated_at: number
    }
  }
}

export const itemContent: SealedColumn = {
  table: 'v1_items',
  column: 'content',
  rowColumn: 'item_id',
  ownerColumn: 'client_uuid',
}

export interface Usage {
  keys: number
  bytes: number
  /** How many bytes more than before. */
  growth: number
}

const totalCachedMs = 60_000

export function createItemStore(vault: Vault) {
  /** The total of all clients, computed once a minute. It protects the disk and doesn't have to be exact. */
  let total: { bytes: number; at: Date } | undefined
  return {
    /** The last write wins. */
    put: async (tx: Queries, clientUuid: string, itemId: string, content: string, now: Date): Promise<void> => {
      const place = { row: itemId, owner: clientUuid }
      const { bytes, keyId } = await vault.seal(tx, itemContent, place, new Secret(content))
      const values = { content: bytes, content_key_id: keyId, size: itemSize(content), updated_at: now.getTime() }
      await tx
        .insertInto('v1_items')
        .values({ item_id: itemId, client_uuid: clientUuid, ...values })
        .onConflict((conflict) => conflict.column('item_id').doUpdateSet(values))
        .execute()
    },

    find: async (queries: Queries, clientUuid: string, itemIds: readonly string[]): Promise<StoredItem[]> => {
      const rows = await queries
        .selectFrom('v1_items')
        .selectAll()
        .where('client_uuid', '=', clientUuid)
        .where('item_id', 'in', itemIds)
        .execute()
      return Promise.all(
        rows.map(async ({ item_id: itemId, content, content_key_id: keyId, updated_at }) => {
          const place = { row: itemId, owner: clientUuid }
          const opened = await vault.open(queries, itemContent, place, { bytes: content, keyId })
          return { itemId, content: opened, updatedAt: new Date(updated_at) }
        }),
      )
    },

    /** Counts what a client stores, and saves the total with the client. */
    count: async (tx: Queries, clientUuid: string): Promise<Usage> => {
      const { keys, bytes } = await tx
        .selectFrom('v1_items')
        .select(({ fn }) => [
          fn.countAll<number | string>().as('keys'),
          fn.sum<number | string | null>('size').as('bytes'),
        ])
        .where('client_uuid', '=', clientUuid)
        .executeTakeFirstOrThrow()
      const { stored_bytes: before } = await tx
        .selectFrom('v1_clients')
        .select('stored_bytes')
        .where('client_uuid', '=', clientUuid)
        .executeTakeFirstOrThrow()
      const stored_bytes = Number(bytes ?? 0)
      await tx.updateTable('v1_clients').set({ stored_bytes }).where('client_uuid', '=', clientUuid).execute()
      return { keys: Number(keys), bytes: stored_bytes, growth: stored_bytes - before }
    },

    bytesInAll: async (queries: Queries, now: Date): Promise<number> => {
      if (!total || now.getTime() - total.at.getTime() >= totalCachedMs) {
        const { bytes } = await queries
          .selectFrom('v1_clients')
          .select(({ fn }) => fn.sum<number | string | null>('stored_bytes').as('bytes'))
          .executeTakeFirstOrThrow()
        total = { bytes: Number(bytes ?? 0), at: now }
      }
      return total.bytes
    },

    addToAll: (bytes: number): void => {
      if (total) total.bytes += bytes
    },
  }
}

export type ItemStore = ReturnType<typeof createItemStore>
