import type { Database, BatchStatement, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { prepared } from '../platform/database/prepared.ts'
import { fromTime } from '../platform/database/times.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import type {} from '../providers/provider-store.ts'
import type {} from '../sessions/user-store.ts'
import type { Connection, ConnectionStatus, KeptTokens, RemoteRevocation } from './connection.ts'

export interface ConnectionRow {
  connection_id: string
  user_id: string
  provider_id: string
  auth_method: string
  credential: Uint8Array | null
  credential_key_id: string | null
  status: ConnectionStatus
  account_id: string | null
  account_label: string | null
  api_host: string | null
  scopes: string
  access_token: Uint8Array | null
  access_token_key_id: string | null
  refresh_token: Uint8Array | null
  refresh_token_key_id: string | null
  expires_at: number | null
  obtained_at: number
  is_refreshed: number
  version: number
  refresh_lease: string | null
  refresh_lease_until: number | null
  created_at: number
  last_used_at: number | null
  revoked_at: number | null
  remote_revocation: RemoteRevocation | null
  revoke_attempts: number
  revoke_after: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    connections: ConnectionRow
  }
}

const place = { rowColumn: 'connection_id', ownerColumn: 'user_id' }
export const accessTokenColumn: SealedColumn = { table: 'connections', column: 'access_token', ...place }
export const refreshTokenColumn: SealedColumn = { table: 'connections', column: 'refresh_token', ...place }

export const credentialColumn: SealedColumn = { table: 'connections', column: 'credential', ...place }

/** Nor a credential. */
export const noTokens = {
  credential: null,
  credential_key_id: null,
  access_token: null,
  access_token_key_id: null,
  refresh_token: null,
  refresh_token_key_id: null,
} as const

export interface TokenPair {
  accessToken: Secret | undefined
  refreshToken: Secret | undefined
}

const markUsed = prepared(
  (tx: Queries, { connectionId, now }: { connectionId: string; now: number }) =>
    tx.updateTable('connections').set({ last_used_at: now }).where('connection_id', '=', connectionId),
  { leavesCachesValid: true },
)

/** On SQLite, in the batch that logs their calls. */
export function markUsedStatement(connectionIds: readonly string[], at: number): BatchStatement {
  return {
    text: 'update connections set last_used_at = ? where connection_id = ?',
    rows: Array.from(new Set(connectionIds), (connectionId) => [at, connectionId]),
  }
}

export function createConnectionStore(vault: Vault) {
  return {
    /** False if the user has a live connection to this account already. */
    insert: async (
      tx: Queries,
      connection: Connection,
      held: Pick<KeptTokens, 'expiresAt' | 'obtainedAt'> & Partial<TokenPair> & { credential?: Secret },
    ): Promise<boolean> => {
      const where = { row: connection.connectionId, owner: connection.userId }
      const sealed = held.credential && (await vault.seal(tx, credentialColumn, where, held.credential))
      const row = await tx
        .insertInto('connections')
        .values({
          connection_id: connection.connectionId,
          user_id: connection.userId,
          provider_id: connection.providerId,
          auth_method: connection.authMethod,
          status: connection.status,
          account_id: connection.accountId,
          account_label: connection.accountLabel,
          api_host: connection.apiHost,
          scopes: JSON.stringify(connection.scopes),
          ...noTokens,
          ...(sealed && { credential: sealed.bytes, credential_key_id: sealed.keyId }),
          ...(await sealTokens(vault, tx, connection, held)),
          expires_at: held.expiresAt?.getTime() ?? null,
          obtained_at: held.obtainedAt.getTime(),
          is_refreshed: 0,
          version: connection.version,
          refresh_lease: null,
          refresh_lease_until: null,
          created_at: connection.createdAt.getTime(),
          last_used_at: null,
          revoked_at: null,
          remote_revocation: null,
          revoke_attempts: 0,
          revoke_after: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('connection_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** The connection, and whether its user and provider still allow its use. */
    findWithAuthority: async (
      queries: Queries,
      connectionId: string,
    ): Promise<{ connection: Connection; isUserDisabled: boolean; isProviderActive: boolean } | undefined> => {
      const row = await queries
        .selectFrom('connections')
        .innerJoin('users', 'users.user_id', 'connections.user_id')
        .innerJoin('providers', 'providers.provider_id', 'connections.provider_id')
        .selectAll('connections')
        .select(['users.disabled_at as user_disabled_at', 'providers.status as provider_status'])
        .where('connections.connection_id', '=', connectionId)
        .executeTakeFirst()
      return (
        row && {
          connection: toConnection(row),
          isUserDisabled: row.user_disabled_at !== null,
          isProviderActive: row.provider_status === 'active',
        }
      )
    },

    findOfUser: async (queries: Queries, userId: string, connectionId: string): Promise<Connection | undefined> => {
      const row = await queries
        .selectFrom('connections')
        .selectAll()
        .where('connection_id', '=', connectionId)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      return row && toConnection(row)
    },

    /** The same, locked until the transaction ends, so that nobody else replaces its tokens in the meantime. */
    lockOfUser: async (
      { engine }: Database,
      tx: Queries,
      userId: string,
      connectionId: string,
    ): Promise<Connection | undefined> => {
      const row = await tx
        .selectFrom('connections')
        .selectAll()
        .where('connection_id', '=', connectionId)
        .where('user_id', '=', userId)
        .$if(engine === 'postgres', (query) => query.forUpdate())
        .executeTakeFirst()
      return row && toConnection(row)
    },

    /** The user's live connection to this account. The row stays locked until the transaction ends. */
    findOfAccount: async (
      { engine }: Database,
      tx: Queries,
      account: { userId: string; providerId: string; accountId: string },
    ): Promise<Connection | undefined> => {
      const row = await tx
        .selectFrom('connections')
        .selectAll()
        .where('user_id', '=', account.userId)
        .where('provider_id', '=', account.providerId)
        .where('account_id', '=', account.accountId)
        .where('status', '<>', 'revoked')
        .$if(engine === 'postgres', (query) => query.forUpdate())
        .executeTakeFirst()
      return row && toConnection(row)
    },

    listOfUser: async (
      queries: Queries,
      userId: string,
      page: PageRequest<ConnectionStatus>,
      now: Date,
    ): Promise<Page<Connection>> => {
      const rows = await queries
        .selectFrom('connections')
        .selectAll()
        .where('user_id', '=', userId)
        .$if(page.status === 'revoked', (query) => query.where('status', '=', 'revoked'))
        .$if(page.status === 'active' || page.status === 'needs_reauth', (query) =>
          query.where((eb) => {
            // The same rule as in statusOf.
            const isInDoubt = eb.and([
              eb('refresh_lease_until', 'is not', null),
              eb.or([
                eb('refresh_lease_until', '<=', now.getTime()),
                eb.and([eb('expires_at', 'is not', null), eb('expires_at', '<=', now.getTime())]),
              ]),
            ])
            const isActive = eb('status', '=', 'active')
            return page.status === 'active'
              ? eb.and([isActive, eb.not(isInDoubt)])
              : eb.or([eb('status', '=', 'needs_reauth'), eb.and([isActive, isInDoubt])])
          }),
        )
        .$if(page.before !== undefined, (query) => query.where('connection_id', '<', page.before ?? ''))
        .orderBy('connection_id', 'desc')
        .limit(page.limit + 1)
        .execute()
      return pageOf(rows.map(toConnection), page.limit, ({ connectionId }) => connectionId)
    },

    markUsed: async (tx: Queries, connectionId: string, now: Date): Promise<void> => {
      await markUsed(tx, { connectionId, now: now.getTime() })
    },

    /** The tokens and their version, which may be later than that of the connection passed in. */
    tokens: async (queries: Queries, connection: Connection): Promise<TokenPair & { version: number }> => {
      const row = await queries
        .selectFrom('connections')
        .select(['version', 'access_token', 'access_token_key_id', 'refresh_token', 'refresh_token_key_id'])
        .where('connection_id', '=', connection.connectionId)
        .executeTakeFirstOrThrow()
      const where = { row: connection.connectionId, owner: connection.userId }
      const open = (column: SealedColumn, bytes: Uint8Array | null, keyId: string | null) =>
        bytes === null || keyId === null ? undefined : vault.open(queries, column, where, { bytes, keyId })
      return {
        accessToken: await open(accessTokenColumn, row.access_token, row.access_token_key_id),
        refreshToken: await open(refreshTokenColumn, row.refresh_token, row.refresh_token_key_id),
        version: row.version,
      }
    },

    /** After the user has consented again: the same connection with new tokens. */
    renew: async (
      tx: Queries,
      { connectionId, userId }: Connection,
      tokens: KeptTokens,
      account: Pick<Connection, 'accountId' | 'accountLabel' | 'apiHost' | 'scopes'>,
    ): Promise<Connection | undefined> => {
      const sealed = { ...noTokens, ...(await sealTokens(vault, tx, { connectionId, userId }, tokens)) }
      const row = await tx
        .updateTable('connections')
        .set((eb) => ({
          ...sealed,
          auth_method: oauth2Method.name,
          status: 'active' as const,
          account_id: account.accountId,
          account_label: account.accountLabel,
          api_host: account.apiHost,
          scopes: JSON.stringify(account.scopes),
          expires_at: tokens.expiresAt?.getTime() ?? null,
          obtained_at: tokens.obtainedAt.getTime(),
          is_refreshed: 0,
          version: eb('version', '+', 1),
          refresh_lease: null,
          refresh_lease_until: null,
        }))
        .where('connection_id', '=', connectionId)
        .where('status', '<>', 'revoked')
        .returningAll()
        .executeTakeFirst()
      return row && toConnection(row)
    },

    /** Counts only among the newest connections, so that the time is bounded. */
    countNeedsReauth: async (queries: Queries): Promise<number> => {
      const newest = queries.selectFrom('connections').select('status').orderBy('connection_id', 'desc').limit(20_000)
      const { count } = await queries
        .selectFrom(newest.as('newest'))
        .select((eb) => eb.fn.countAll<number | string>().as('count'))
        .where('status', '=', 'needs_reauth')
        .executeTakeFirstOrThrow()
      return Number(count)
    },

    /** Whether the provider still has connections, or tokens that it was not asked to revoke yet. */
    isConnected: async (queries: Queries, providerId: string): Promise<boolean> => {
      const row = await queries
        .selectFrom('connections')
        .select('connection_id')
        .where('provider_id', '=', providerId)
        .where((eb) => eb.or([eb('status', '<>', 'revoked'), eb('remote_revocation', '=', 'pending')]))
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },
  }
}

/** The columns that new tokens change. A token that is absent stays unchanged. */
export async function sealTokens(
  vault: Vault,
  tx: Queries,
  of: { connectionId: string; userId: string },
  tokens: Partial<TokenPair>,
) {
  const where = { row: of.connectionId, owner: of.userId }
  const access = tokens.accessToken && (await vault.seal(tx, accessTokenColumn, where, tokens.accessToken))
  const refresh = tokens.refreshToken && (await vault.seal(tx, refreshTokenColumn, where, tokens.refreshToken))
  return {
    ...(access && { access_token: access.bytes, access_token_key_id: access.keyId }),
    ...(refresh && { refresh_token: refresh.bytes, refresh_token_key_id: refresh.keyId }),
  }
}

export type ConnectionStore = ReturnType<typeof createConnectionStore>

export function toConnection(row: ConnectionRow): Connection {
  return {
    connectionId: row.connection_id,
    userId: row.user_id,
    providerId: row.provider_id,
    authMethod: row.auth_method,
    status: row.status,
    accountId: row.account_id,
    accountLabel: row.account_label,
    apiHost: row.api_host,
    scopes: JSON.parse(row.scopes) as string[],
    expiresAt: fromTime(row.expires_at),
    obtainedAt: new Date(row.obtained_at),
    isRefreshed: row.is_refreshed === 1,
    // With a credential beside it, the token was issued for that, and another can be.
    canRefresh: row.refresh_token !== null || (row.credential !== null && row.access_token !== null),
    version: row.version,
    refreshLeaseUntil: fromTime(row.refresh_lease_until),
    createdAt: new Date(row.created_at),
    lastUsedAt: fromTime(row.last_used_at),
    revokedAt: fromTime(row.revoked_at),
    remoteRevocation: row.remote_revocation,
  }
}
