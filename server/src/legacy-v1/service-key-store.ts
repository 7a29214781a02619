import type { Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    v1_service_keys: {
      key_id: string
      /** 1 for the published key, null for former ones. The column is unique, so only one key can be current. */
      current: 1 | null
      public_key: string
      private_key: Uint8Array
      private_key_key_id: string
      created_at: number
      retired_at: number | null
    }
  }
}

export const servicePrivateKey: SealedColumn = {
  table: 'v1_service_keys',
  column: 'private_key',
  rowColumn: 'key_id',
  ownerColumn: 'public_key',
}

export interface ServiceKey {
  keyId: string
  /** PEM, SPKI. */
  publicKey: string
  isCurrent: boolean
  /** PKCS#8 in base64. */
  privateKey: Secret
}

export interface NewServiceKey {
  keyId: string
  publicKey: string
  privateKey: Secret
}

export function createServiceKeyStore(vault: Vault) {
  return {
    /** The current key first, then those retired after this time. */
    list: async (queries: Queries, retiredAfter: Date): Promise<ServiceKey[]> => {
      const rows = await queries
        .selectFrom('v1_service_keys')
        .selectAll()
        .where((eb) => eb.or([eb('current', '=', 1), eb('retired_at', '>', retiredAfter.getTime())]))
        .orderBy('created_at', 'desc')
        .execute()
      const keys = rows.map(async (row) => {
        const place = { row: row.key_id, owner: row.public_key }
        const sealed = { bytes: row.private_key, keyId: row.private_key_key_id }
        const privateKey = await vault.open(queries, servicePrivateKey, place, sealed)
        return { keyId: row.key_id, publicKey: row.public_key, isCurrent: row.current === 1, privateKey }
      })
      return (await Promise.all(keys)).sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent))
    },

    /** False if there is a current key already, or this key exists. */
    insertFirst: async (tx: Queries, key: NewServiceKey, now: Date): Promise<boolean> => {
      const row = await tx
        .insertInto('v1_service_keys')
        .values(await rowOf(tx, key, now))
        .onConflict((conflict) => conflict.doNothing())
        .returning('key_id')
        .executeTakeFirst()
      return row !== undefined
    },

    replaceCurrent: async (tx: Queries, key: NewServiceKey, now: Date): Promise<string | undefined> => {
      const retire = () =>
        tx
          .updateTable('v1_service_keys')
          .set({ current: null, retired_at: now.getTime() })
          .where('current', '=', 1)
          .returning('key_id')
          .executeTakeFirst()
      // After waiting for a concurrent rotation, the first update finds that key retired. The second one sees its new
      // key.
      const former = (await retire()) ?? (await retire())
      await tx
        .insertInto('v1_service_keys')
        .values(await rowOf(tx, key, now))
        .execute()
      return former?.key_id
    },

    dropRetiredBefore: async (tx: Queries, before: Date): Promise<void> => {
      await tx.deleteFrom('v1_service_keys').where('retired_at', '<=', before.getTime()).execute()
    },
  }

  async function rowOf(tx: Queries, { keyId, publicKey, privateKey }: NewServiceKey, now: Date) {
    const sealed = await vault.seal(tx, servicePrivateKey, { row: keyId, owner: publicKey }, privateKey)
    return {
      ...{ key_id: keyId, current: 1 as const, public_key: publicKey },
      ...{ private_key: sealed.bytes, private_key_key_id: sealed.keyId },
      ...{ created_at: now.getTime(), retired_at: null },
    }
  }
}

export type ServiceKeyStore = ReturnType<typeof createServiceKeyStore>
