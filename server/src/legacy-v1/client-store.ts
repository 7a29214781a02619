import { rowsPerBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { Client, Registration } from './client.ts'
import type { ClientKey } from './client-key.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    v1_clients: {
      client_uuid: string
      label: string | null
      metadata: string
      generation: number
      lookup_key: Uint8Array
      lookup_key_key_id: string
      stored_bytes: number
      created_at: number
      /** Null if the client never authenticated. */
      authenticated_at: number | null
    }
    v1_client_keys: {
      fingerprint: string
      client_uuid: string
      public_key: string
      key_id: string | null
      created_at: number
      retired_at: number | null
    }
    v1_rotations: {
      client_uuid: string
      generation: number
      old_fingerprint: string
      new_fingerprint: string
      at: number
    }
  }
}

export const lookupKeyColumn: SealedColumn = {
  table: 'v1_clients',
  column: 'lookup_key',
  rowColumn: 'client_uuid',
  ownerColumn: 'client_uuid',
}

const placeOf = (clientUuid: string) => ({ row: clientUuid, owner: clientUuid })

export interface Rotation {
  key: ClientKey
  keyId: string | null
  label: string | null
  metadata: Record<string, unknown> | undefined
}

export function createClientStore(vault: Vault) {
  return {
    find: async (queries: Queries, clientUuid: string): Promise<Client | undefined> => {
      const row = await queries
        .selectFrom('v1_clients')
        .innerJoin('v1_client_keys', 'v1_client_keys.client_uuid', 'v1_clients.client_uuid')
        .select(['generation', 'lookup_key', 'lookup_key_key_id', 'public_key', 'fingerprint', 'key_id'])
        .where('v1_clients.client_uuid', '=', clientUuid)
        .where('retired_at', 'is', null)
        .executeTakeFirst()
      if (!row) return undefined
      const sealed = { bytes: row.lookup_key, keyId: row.lookup_key_key_id }
      return {
        clientUuid,
        generation: row.generation,
        publicKey: row.public_key,
        fingerprint: row.fingerprint,
        keyId: row.key_id,
        lookupKey: await vault.open(queries, lookupKeyColumn, placeOf(clientUuid), sealed),
      }
    },

    /** The client that has this key, or had it. */
    findByFingerprint: async (
      queries: Queries,
      fingerprint: string,
    ): Promise<{ clientUuid: string; keyId: string | null; isActive: boolean } | undefined> => {
      const row = await queries
        .selectFrom('v1_client_keys')
        .select(['client_uuid', 'key_id', 'retired_at'])
        .where('fingerprint', '=', fingerprint)
        .executeTakeFirst()
      return row && { clientUuid: row.client_uuid, keyId: row.key_id, isActive: row.retired_at === null }
    },

    /** Locks the client until the transaction ends. Returns its generation, or undefined if it was deleted. */
    lock: async ({ engine }: Database, tx: Queries, clientUuid: string): Promise<number | undefined> => {
      const row = await tx
        .selectFrom('v1_clients')
        .select('generation')
        .where('client_uuid', '=', clientUuid)
        .$if(engine === 'postgres', (query) => query.forUpdate())
        .executeTakeFirst()
      return row?.generation
    },

    /** False if another client has taken the key in the meantime. The transaction then has to be rolled back. */
    insert: async (
      tx: Queries,
      clientUuid: string,
      { key, keyId, label, metadata }: Registration,
      lookupKey: Secret,
      now: Date,
    ): Promise<boolean> => {
      const sealed = await vault.seal(tx, lookupKeyColumn, placeOf(clientUuid), lookupKey)
      const created_at = now.getTime()
      await tx
        .insertInto('v1_clients')
        .values({
          ...{ client_uuid: clientUuid, label, metadata: JSON.stringify(metadata), generation: 1 },
          ...{ lookup_key: sealed.bytes, lookup_key_key_id: sealed.keyId },
          ...{ stored_bytes: 0, created_at, authenticated_at: null },
        })
        .execute()
      return insertKey(tx, clientUuid, { key, keyId }, now)
    },

    markAuthenticated: async (tx: Queries, clientUuid: string, now: Date): Promise<void> => {
      await tx
        .updateTable('v1_clients')
        .set({ authenticated_at: now.getTime() })
        .where('client_uuid', '=', clientUuid)
        .execute()
    },

    /** False if the new key belongs to another client. */
    rotate: async (tx: Queries, client: Client, rotation: Rotation, now: Date): Promise<boolean> => {
      const { clientUuid, generation, fingerprint } = client
      const { key, keyId, label, metadata } = rotation
      await tx
        .updateTable('v1_client_keys')
        .set({ retired_at: now.getTime() })
        .where('client_uuid', '=', clientUuid)
        .where('retired_at', 'is', null)
        .execute()
      const isNew = await insertKey(tx, clientUuid, { key, keyId }, now)
      if (!isNew && !(await takeBack(tx, clientUuid, { key, keyId }))) return false
      await tx
        .updateTable('v1_clients')
        .set({
          generation: generation + 1,
          ...(label !== null && { label }),
          ...(metadata && { metadata: JSON.stringify(metadata) }),
        })
        .where('client_uuid', '=', clientUuid)
        .execute()
      await tx
        .insertInto('v1_rotations')
        .values({
          ...{ client_uuid: clientUuid, generation: generation + 1, at: now.getTime() },
          ...{ old_fingerprint: fingerprint, new_fingerprint: key.fingerprint },
        })
        .execute()
      return true
    },

    /** Deletes a batch of clients that never authenticated and have no valid challenge left. Returns how many. */
    dropUnseenBefore: async ({ engine }: Database, tx: Queries, before: Date, now: Date): Promise<number> => {
      const rows = await tx
        .selectFrom('v1_clients')
        .select('client_uuid')
        .where('authenticated_at', 'is', null)
        .where('created_at', '<', before.getTime())
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('v1_challenges')
                .select('challenge_id')
                .whereRef('v1_challenges.client_uuid', '=', 'v1_clients.client_uuid')
                .where('v1_challenges.expires_at', '>', now.getTime()),
            ),
          ),
        )
        .limit(rowsPerBatch)
        // A concurrent registration of the same key waits for the lock, finds the client deleted and starts over.
        .$if(engine === 'postgres', (query) => query.forUpdate().skipLocked())
        .execute()
      const uuids = rows.map(({ client_uuid }) => client_uuid)
      if (uuids.length === 0) return 0
      await tx.deleteFrom('v1_challenges').where('client_uuid', 'in', uuids).execute()
      await tx.deleteFrom('v1_client_keys').where('client_uuid', 'in', uuids).execute()
      await tx
        .deleteFrom('v1_clients')
        .where('client_uuid', 'in', uuids)
        .where('authenticated_at', 'is', null)
        .execute()
      return uuids.length
    },
  }
}

export type ClientStore = ReturnType<typeof createClientStore>

interface KeyOfClient {
  key: ClientKey
  keyId: string | null
}

/** A unique index ensures that a fingerprint belongs to one client only. */
async function insertKey(tx: Queries, clientUuid: string, { key, keyId }: KeyOfClient, now: Date): Promise<boolean> {
  const row = await tx
    .insertInto('v1_client_keys')
    .values({
      ...{ fingerprint: key.fingerprint, client_uuid: clientUuid, public_key: key.pem, key_id: keyId },
      ...{ created_at: now.getTime(), retired_at: null },
    })
    .onConflict((conflict) => conflict.column('fingerprint').doNothing())
    .returning('fingerprint')
    .executeTakeFirst()
  return row !== undefined
}

/** A client may return to one of its own former keys. */
async function takeBack(tx: Queries, clientUuid: string, { key, keyId }: KeyOfClient): Promise<boolean> {
  const row = await tx
    .updateTable('v1_client_keys')
    .set({ retired_at: null, key_id: keyId })
    .where('fingerprint', '=', key.fingerprint)
    .where('client_uuid', '=', clientUuid)
    .returning('fingerprint')
    .executeTakeFirst()
  return row !== undefined
}
