import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import type { Vault } from '../platform/vault/vault.ts'
import { wasInterrupted } from './connection.ts'
import type { Connection, KeptTokens } from './connection.ts'
import { sealTokens } from './connection-store.ts'

export interface RefreshLease {
  id: string
  now: Date
  until: Date
}

/** Who may refresh a connection, and what came of it. */
export function createRefreshStore(vault: Vault) {
  return {
    /**
     * The right to refresh this version, for a while: one conditional write, so that of all instances one has it. A
     * lease that ran out belongs to a process that died; whoever comes next takes it over.
     */
    takeLease: async (
      queries: Queries,
      { connectionId, version }: Connection,
      lease: RefreshLease,
    ): Promise<boolean> => {
      const row = await queries
        .updateTable('connections')
        .set({ refresh_lease: lease.id, refresh_lease_until: lease.until.getTime() })
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('status', '=', 'active')
        .where((eb) =>
          eb.or([eb('refresh_lease_until', 'is', null), eb('refresh_lease_until', '<=', lease.now.getTime())]),
        )
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /**
     * It led to nothing. A refresh that was interrupted before is so still: nobody knows yet how that one ended. A lease
     * that ran on when it was read was given back before ours was taken, and must not come to life again.
     */
    releaseLease: async (
      queries: Queries,
      connection: Connection,
      lease: Pick<RefreshLease, 'id' | 'now'>,
    ): Promise<void> => {
      const interrupted = wasInterrupted(connection, lease.now) ? connection.refreshLeaseUntil : null
      await queries
        .updateTable('connections')
        .set({ refresh_lease: null, refresh_lease_until: interrupted?.getTime() ?? null })
        .where('connection_id', '=', connection.connectionId)
        .where('refresh_lease', '=', lease.id)
        .execute()
    },

    /**
     * In the place of the version that was refreshed, also by a process whose lease ran out meanwhile: its tokens exist
     * nowhere else, and what others heard since was about the token that these replace. A provider that hands out no
     * new refresh token means the old one to stay.
     */
    store: async (tx: Queries, { connectionId, userId, version }: Connection, tokens: KeptTokens): Promise<boolean> => {
      const row = await tx
        .updateTable('connections')
        .set({
          status: 'active',
          expires_at: tokens.expiresAt?.getTime() ?? null,
          obtained_at: tokens.obtainedAt.getTime(),
          is_refreshed: 1,
          version: version + 1,
          refresh_lease: null,
          refresh_lease_until: null,
        })
        .set(await sealTokens(vault, tx, { connectionId, userId }, tokens))
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('status', '<>', 'revoked')
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /**
     * The provider refused the refresh token, or the access token is over and there is none. False where the connection
     * has moved on since, or somebody else has the lease: what they hear is newer.
     */
    markNeedsReauth: async (
      tx: Queries,
      { connectionId, version }: Connection,
      leaseId: string | undefined,
    ): Promise<boolean> => {
      const row = await tx
        .updateTable('connections')
        .set({ status: 'needs_reauth', refresh_lease: null, refresh_lease_until: null })
        .where('connection_id', '=', connectionId)
        .where('version', '=', version)
        .where('status', '=', 'active')
        .$if(leaseId !== undefined, (query) => query.where('refresh_lease', '=', leaseId ?? ''))
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /**
     * Those that somebody may find out about now. In no order: a provider that stays away must not keep the others'
     * from being looked at.
     */
    listInterrupted: async (queries: Queries, now: Date, limit: number): Promise<string[]> => {
      const rows = await queries
        .selectFrom('connections')
        .innerJoin('users', 'users.user_id', 'connections.user_id')
        .innerJoin('providers', 'providers.provider_id', 'connections.provider_id')
        .select('connection_id')
        .where('connections.status', '=', 'active')
        .where('refresh_lease_until', '<=', now.getTime())
        .where('users.disabled_at', 'is', null)
        .where('providers.status', '=', 'active')
        .orderBy(sql`random()`)
        .limit(limit)
        .execute()
      return rows.map(({ connection_id }) => connection_id)
    },
  }
}

export type RefreshStore = ReturnType<typeof createRefreshStore>
