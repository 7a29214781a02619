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

/** Leases for refreshing a connection, and the results of refreshes. */
export function createRefreshStore(vault: Vault) {
  return {
    /**
     * Takes the lease to refresh this version. It is one conditional write, so only one instance gets it. An expired
     * lease belongs to a process that died, and can be taken over.
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
     * After a refresh without result. If an earlier refresh was interrupted, its expired lease is restored, because its
     * result is still unknown. A lease that had not expired when it was read was released before this one was taken,
     * and must not be restored.
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
     * Replaces the version that was refreshed, even if the lease has expired in the meantime: the new tokens exist
     * nowhere else, and what other instances learned since then was about the token that they replace. If the provider
     * issued no new refresh token, the old one stays valid.
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
     * The provider refused the refresh token, or the access token has expired and there is no refresh token. False if
     * the connection has changed since, or another instance has the lease: its result will be newer.
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
     * Connections whose refresh was interrupted. In random order, so that a provider that is down for long does not
     * block the connections of others.
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
