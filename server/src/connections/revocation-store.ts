import type { Queries } from '../platform/database/database.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { Connection, KeptTokens } from './connection.ts'
import { noTokens, sealTokens, toConnection } from './connection-store.ts'

/** Ends connections: here immediately, at the provider as soon as it responds. */
export function createRevocationStore(vault: Vault) {
  return {
    /** Stores tokens that arrived after their connection was revoked, so that the provider is asked to revoke them. */
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

    /** False if it was revoked already. Tokens that the provider can't be asked to revoke are deleted immediately. */
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

    /** A lease to ask the provider, valid until then. Undefined if another instance has it or nothing is due. */
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

    /** Deletes the tokens too. False if newer ones were stored in the meantime. */
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
