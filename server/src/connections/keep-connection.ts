import type { AuditWriter } from '../audit/audit-log.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { accountHost } from './account-host.ts'
import type { Account } from './account.ts'
import { ConnectFailed } from './connect-flow.ts'
import { areKeepable, keptFrom } from './connection.ts'
import type { Connection, KeptTokens } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import { secretsIn } from './credential.ts'
import type { CredentialStore } from './credential-store.ts'
import type { FormerTokenStore } from './former-token-store.ts'

export interface KeepConnectionNeeds {
  database: Database
  users: UserStore
  providers: ProviderStore
  connections: ConnectionStore
  credentials: CredentialStore
  formerTokens: FormerTokenStore
  audit: AuditWriter
}

/** A consent that the user has given. */
export interface Consent {
  userId: string
  providerId: string
  /** The connection to renew, if one was given. */
  connectionId: string | null
  scopes: string[]
  tokens: Tokens
  account: Account | undefined
  requestId: string
}

/**
 * Stores the connection with its tokens, or nothing. If the account is connected already, that connection is renewed.
 */
export async function keepConnection(
  needs: KeepConnectionNeeds,
  tx: Queries,
  consent: Consent,
  now: Date,
): Promise<Connection> {
  const { database, users, providers, connections, audit } = needs
  const { userId, providerId, account, tokens, requestId } = consent
  if (!areKeepable(tokens)) throw new ConnectFailed('weak_token')
  // Check both again: getting the tokens took a while.
  const user = await users.find(tx, userId)
  if (!user || user.disabledAt) throw new ConnectFailed('wrong_user')
  const provider = await providers.lock(database, tx, providerId)
  if (provider?.status !== 'active') throw new ConnectFailed('provider_disabled')
  const kept = keptFrom(tokens, now)
  const scopes = tokens.scopes ?? consent.scopes
  const fresh: Connection = {
    connectionId: newId('con', now),
    userId,
    providerId,
    authMethod: oauth2Method.name,
    status: 'active',
    accountId: account?.id ?? null,
    accountLabel: account?.label ?? null,
    apiHost: accountHost(provider, tokens),
    scopes,
    expiresAt: kept.expiresAt,
    obtainedAt: now,
    isRefreshed: false,
    canRefresh: kept.refreshToken !== undefined,
    version: 1,
    refreshLeaseUntil: null,
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
    remoteRevocation: null,
  }
  const existing = await findExisting(needs, tx, consent)
  const isNew = !existing && (await connections.insert(tx, fresh, kept))
  // Of two concurrent consents for one account, the second renews the connection that the first has created.
  const renews = isNew ? undefined : (existing ?? (await findExisting(needs, tx, consent)))
  const connection = isNew ? fresh : renews && (await renew(needs, tx, provider, renews, kept, fresh))
  if (!connection) throw new ConnectFailed('wrong_account')
  const detail = { connection_id: connection.connectionId, provider: provider.slug, scopes }
  const event = isNew ? 'connection.created' : 'connection.renewed'
  await audit.append(tx, { event, at: now, requestId, userId, connectionId: connection.connectionId, detail })
  return connection
}

async function findExisting(
  { database, connections }: KeepConnectionNeeds,
  tx: Queries,
  { userId, providerId, connectionId, account }: Consent,
): Promise<Connection | undefined> {
  const ofAccount =
    account && (await connections.findOfAccount(database, tx, { userId, providerId, accountId: account.id }))
  if (connectionId === null) return ofAccount
  const named = await connections.lockOfUser(database, tx, userId, connectionId)
  // The provider has identified this account before, but currently doesn't.
  if (named?.accountId && !account) throw new ConnectFailed('provider_unavailable')
  const isTaken = ofAccount && ofAccount.connectionId !== connectionId
  // Grants depend on it: a connection must never change to another account, nor from an unknown account to a known one.
  const isAnother = named?.accountId !== (account?.id ?? null)
  if (!named || named.status === 'revoked' || named.providerId !== providerId || isAnother || isTaken) {
    throw new ConnectFailed('wrong_account')
  }
  return named
}

async function renew(
  { connections, credentials, formerTokens }: KeepConnectionNeeds,
  tx: Queries,
  provider: Provider,
  connection: Connection,
  kept: KeptTokens,
  { accountId, accountLabel, apiHost, scopes }: Connection,
): Promise<Connection | undefined> {
  const { accessToken: former } = await connections.tokens(tx, connection)
  const method = provider.authMethods.find(({ name }) => name === connection.authMethod)
  const entered = await credentials.valuesOf(tx, connection)
  const replaced = [former, ...(method && entered ? secretsIn(method, entered.values) : [])]
  for (const one of replaced) if (one) await formerTokens.insert(tx, connection, one, kept.obtainedAt)
  const label = accountLabel ?? connection.accountLabel
  return connections.renew(tx, connection, kept, { accountId, accountLabel: label, apiHost, scopes })
}
