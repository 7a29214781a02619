import type { Queries } from '../platform/database/database.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { Connection, KeptTokens } from './connection.ts'
import { noTokens, sealTokens, toConnection } from './connection-store.ts'

/** How connections end, here at once and at the provider as soon as it can be asked. */
export function createRevocationStore(vault: Vault) {
  return {
    /** Tokens that came for a connection which has been revoked: they are left where the provider will be asked to end them. */
    leave: async (
      tx: Queries,
      { connectionId, userId, version }: Connection,
      tokens: KeptTokens,
      now: Date,
    ): Promise<void> => {
      await tx
        .updateTable('connections')
        .set({ version: version + 1, remote_revocation: 'pending', revoke_attempts: 0, revoke_after: now.getTime() })
        .set(await sealTokens(vault, tx, { connectionId, userId }, tokens))
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('status', '=', 'revoked')
        .where('remote_revocation', '<>', 'unsupported')
        .execute()
    },

    /** False where it was revoked already. Tokens that nobody will be asked to end go at once. */
    revoke: async (
      tx: Queries,
      connectionId: string,
      remote: 'pending' | 'unsupported',
      now: Date,
    ): Promise<boolean> => {
      const row = await tx
        .updateTable('connections')
        .set({
          status: 'revoked',
          revoked_at: now.getTime(),
          refresh_lease: null,
          refresh_lease_until: null,
          remote_revocation: remote,
          ...(remote === 'pending' ? { revoke_after: now.getTime() } : noTokens),
        })
        .where('connection_id', '=', connectionId)
        .where('status', '<>', 'revoked')
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },

    listDue: async (queries: Queries, now: Date, limit: number): Promise<string[]> => {
      const rows = await queries
        .selectFrom('connections')
        .select('connection_id')
        .where('revoke_after', '<=', now.getTime())
        .orderBy('revoke_after')
        .limit(limit)
        .execute()
      return rows.map(({ connection_id }) => connection_id)
    },

    /** The right to ask the provider, until then; undefined where somebody else has it or nothing is due. */
    claim: async (
      queries: Queries,
      connectionId: string,
      now: Date,
      until: Date,
    ): Promise<{ connection: Connection; attempts: number } | undefined> => {
      const row = await queries
        .updateTable('connections')
        .set((eb) => ({ revoke_after: until.getTime(), revoke_attempts: eb('revoke_attempts', '+', 1) }))
        .where('connection_id', '=', connectionId)
        .where('remote_revocation', '=', 'pending')
        .where('revoke_after', '<=', now.getTime())
        .returningAll()
        .executeTakeFirst()
      return row && { connection: toConnection(row), attempts: row.revoke_attempts }
    },

    postpone: async (queries: Queries, connectionId: string, until: Date): Promise<void> => {
      await queries
        .updateTable('connections')
        .set({ revoke_after: until.getTime() })
        .where('connection_id', '=', connectionId)
        .where('remote_revocation', '=', 'pending')
        .execute()
    },

    /** The tokens go with it. False where newer ones have come since. */
    end: async (tx: Queries, connectionId: string, version: number, outcome: 'done' | 'failed'): Promise<boolean> => {
      const row = await tx
        .updateTable('connections')
        .set({ remote_revocation: outcome, revoke_after: null, ...noTokens })
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('remote_revocation', '=', 'pending')
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}

export type RevocationStore = ReturnType<typeof createRevocationStore>
