import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { formerUntil } from './connection.ts'
import type { Connection, KeptTokens } from './connection.ts'
import type {} from './connection-store.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    former_tokens: {
      former_token_id: string
      connection_id: string
      token: Uint8Array
      token_key_id: string
      expires_at: number
    }
  }
}

export const formerToken: SealedColumn = {
  table: 'former_tokens',
  column: 'token',
  rowColumn: 'former_token_id',
  ownerColumn: 'connection_id',
}

const maxListed = 100

/**
 * Access tokens that were replaced but may still be valid, and assertions. Upstreams may still return them, so they are
 * still redacted.
 */
export function createFormerTokenStore(vault: Vault) {
  const keep = async (tx: Queries, connectionId: string, token: Secret, now: Date, until: Date): Promise<void> => {
    const id = newId('fmr', now)
    const { bytes, keyId } = await vault.seal(tx, formerToken, { row: id, owner: connectionId }, token)
    await tx
      .insertInto('former_tokens')
      .values({
        former_token_id: id,
        connection_id: connectionId,
        token: bytes,
        token_key_id: keyId,
        expires_at: until.getTime(),
      })
      .execute()
  }

  return {
    insert: (tx: Queries, connection: Connection, token: Secret, now: Date): Promise<void> =>
      keep(tx, connection.connectionId, token, now, formerUntil(connection, now)),

    /** What a token was issued for: the provider's API has seen it too. */
    insertAssertion: async (
      tx: Queries,
      { connectionId }: Pick<Connection, 'connectionId'>,
      { assertion, obtainedAt }: Pick<KeptTokens, 'assertion' | 'obtainedAt'>,
    ): Promise<void> => {
      if (assertion) await keep(tx, connectionId, assertion.jwt, obtainedAt, assertion.expiresAt)
    },

    /** Only the newest: an upstream that rejects every token causes one refresh after another. */
    listOf: async (queries: Queries, connectionId: string, now: Date): Promise<Secret[]> => {
      const rows = await queries
        .selectFrom('former_tokens')
        .selectAll()
        .where('connection_id', '=', connectionId)
        .where('expires_at', '>', now.getTime())
        .orderBy('former_token_id', 'desc')
        .limit(maxListed)
        .execute()
      return Promise.all(
        rows.map((row) =>
          vault.open(
            queries,
            formerToken,
            { row: row.former_token_id, owner: connectionId },
            { bytes: row.token, keyId: row.token_key_id },
          ),
        ),
      )
    },

    dropOf: async (tx: Queries, connectionId: string): Promise<void> => {
      await tx.deleteFrom('former_tokens').where('connection_id', '=', connectionId).execute()
    },

    dropExpired: (tx: Queries, now: Date): Promise<number> =>
      deleteBatch(tx, 'former_tokens', 'former_token_id', sql`expires_at < ${now.getTime()}`),
  }
}

export type FormerTokenStore = ReturnType<typeof createFormerTokenStore>
