/**
 * The access token of a connection, refreshed when that is due. Only one refresh runs at a time across all instances:
 * it takes a lease in the database, never a lock held during a network call. New tokens are stored before they are
 * used. If a process dies in between, its expired lease shows that the refresh was interrupted.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../platform/errors.ts'
import { OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { mintingOf } from '../providers/auth-kinds/auth-kind.ts'
import { deadCredential } from '../providers/auth-kinds/minting.ts'
import type { Minted, MintNeeds } from '../providers/auth-kinds/minting.ts'
import { clientOf } from '../providers/client-of.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { areKeepable, isRefreshDue, isUsable, keptFrom } from './connection.ts'
import type { Connection } from './connection.ts'
import { secretsIn } from './credential.ts'
import type { CredentialStore } from './credential-store.ts'
import { liveConnection } from './live-connection.ts'
import type { RefreshLease } from './refresh-store.ts'
import { storeRefreshed } from './store-refreshed.ts'
import type { StoreRefreshedNeeds } from './store-refreshed.ts'

export interface FreshTokenNeeds extends StoreRefreshedNeeds, MintNeeds {
  providers: ProviderStore
  credentials: CredentialStore
  onRefresh?: (outcome: 'refreshed' | 'unavailable' | 'refused') => void
}

export interface FreshToken {
  accessToken: Secret
  /** Pass it as `rejected` if an upstream responds with 401. */
  version: number
  /** Everything to redact from responses: this token, former ones, and the secrets that it was issued for. */
  secrets: Secret[]
}

type RefreshOutcome = 'refreshed' | 'unavailable' | 'busy'

/** Longer than a refresh can take: 15 s for the provider's response, and 20 s of attempts to store the tokens. */
export const refreshLeaseMs = 60_000
const maxWaitMs = 40_000
const pollMs = 100

/** Errors of the token endpoint after which the connection can't be used until its user consents again. */
const deadGrant = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
  'token_revoked',
  'token_expired',
])

export function createFreshToken(needs: FreshTokenNeeds) {
  const { database, refreshes, clock } = needs
  /** Calls in this process wait for its own refresh. Calls in other processes poll the database. */
  const inFlight = new Map<string, Promise<RefreshOutcome>>()
  let isStopping = false

  const leaseAndRefresh = async (connection: Connection): Promise<RefreshOutcome> => {
    const now = clock()
    const lease = { id: randomUUID(), now, until: new Date(now.getTime() + refreshLeaseMs) }
    if (!(await refreshes.takeLease(database.queries, connection, lease))) return 'busy'
    return refresh(needs, connection, lease)
  }

  const refreshOnce = (connection: Connection): Promise<RefreshOutcome> => {
    const { connectionId } = connection
    const begun = inFlight.get(connectionId)
    if (begun) return begun
    if (isStopping) return Promise.resolve('unavailable')
    const attempt = leaseAndRefresh(connection)
      .then(
        (outcome) => {
          if (outcome !== 'busy') needs.onRefresh?.(outcome)
          return outcome
        },
        (error: unknown) => {
          needs.onRefresh?.('refused')
          throw error
        },
      )
      .finally(() => {
        inFlight.delete(connectionId)
      })
    inFlight.set(connectionId, attempt)
    return attempt
  }

  const freshToken = async (connectionId: string, rejected?: number): Promise<FreshToken> => {
    const deadline = performance.now() + maxWaitMs
    for (;;) {
      const connection = await liveConnection(needs, connectionId)
      const now = clock()
      if (!isRefreshDue(connection, now, rejected)) return opened(needs, connection)
      if (!connection.canRefresh) {
        if (isUsable(connection, now, undefined)) return opened(needs, connection)
        await giveUp(needs, connection, 'expired')
        throw new ServiceError('connection_needs_reauth')
      }
      const outcome = await refreshOnce(connection)
      const since = await liveConnection(needs, connectionId)
      // A new token is used however soon it expires. If another instance is refreshing or the provider is unavailable,
      // a token that is still valid is used without waiting.
      if (outcome === 'refreshed' || isUsable(since, clock(), rejected)) return opened(needs, since)
      if (outcome === 'unavailable' || performance.now() > deadline) throw new ServiceError('provider_unavailable')
      await sleep(pollMs)
    }
  }

  return {
    freshToken,
    /**
     * For a shutdown: waits until tokens that providers have just issued are stored. No refresh begins after this call.
     */
    refreshesEnded: async (): Promise<void> => {
      isStopping = true
      await Promise.allSettled(inFlight.values())
    },
  }
}

export type FreshTokenOf = ReturnType<typeof createFreshToken>['freshToken']

async function opened(needs: FreshTokenNeeds, connection: Connection): Promise<FreshToken> {
  const { database, providers, connections, formerTokens, clock } = needs
  const { queries } = database
  const { accessToken, refreshToken, version } = await connections.tokens(queries, connection)
  if (!accessToken) throw new ServiceError('grant_revoked')
  const clientSecret = await providers.clientSecret(queries, connection.providerId)
  const former = await formerTokens.listOf(queries, connection.connectionId, clock())
  const found = [accessToken, refreshToken, clientSecret, ...(await enteredSecrets(needs, connection)), ...former]
  const secrets = found.filter((secret) => secret !== undefined)
  return { accessToken, version, secrets }
}

async function enteredSecrets(
  { database, providers, credentials }: FreshTokenNeeds,
  connection: Connection,
): Promise<Secret[]> {
  if (connection.authMethod === oauth2Method.name) return []
  const entered = await credentials.valuesOf(database.queries, connection)
  const provider = await providers.find(database.queries, connection.providerId)
  const method = provider?.authMethods.find(({ name }) => name === connection.authMethod)
  return entered && method ? secretsIn(method, entered.values) : []
}

/** The caller holds the lease. */
async function refresh(needs: FreshTokenNeeds, connection: Connection, lease: RefreshLease): Promise<RefreshOutcome> {
  const { database, refreshes, clock, log } = needs
  const { connectionId } = connection
  let tokens: Minted
  try {
    tokens = await ask(needs, connection)
  } catch (error) {
    const dead = connection.authMethod === oauth2Method.name ? deadGrant : deadCredential
    if (error instanceof OAuthRefused && dead.has(error.code)) {
      await giveUp(needs, connection, error.code, lease)
      throw new ServiceError('connection_needs_reauth')
    }
    log.warn({ err: error, connection_id: connectionId }, 'a token refresh failed')
    await refreshes.releaseLease(database.queries, connection, lease)
    return 'unavailable'
  }
  if (!areKeepable(tokens)) {
    await giveUp(needs, connection, 'weak_token', lease)
    throw new ServiceError('connection_needs_reauth')
  }
  await storeRefreshed(needs, connection, keptFrom(tokens, clock()))
  return 'refreshed'
}

async function ask(needs: FreshTokenNeeds, connection: Connection): Promise<Minted> {
  const { database, oauth, providers, connections, credentials } = needs
  const provider = await providers.find(database.queries, connection.providerId)
  if (provider?.status !== 'active') throw new ServiceError('provider_unavailable', { detail: 'it is disabled' })
  const entered = await credentials.valuesOf(database.queries, connection)
  const method = provider.authMethods.find(({ name }) => name === connection.authMethod)
  const minting = entered && method && mintingOf(method, entered.values)
  if (minting) return minting.mint(needs, { provider, method, values: entered.values })
  const client = await clientOf(providers, database.queries, provider)
  const { refreshToken } = await connections.tokens(database.queries, connection)
  if (!refreshToken) throw new ServiceError('provider_unavailable', { detail: 'its refresh token is gone' })
  return oauth.refresh(client, refreshToken)
}

/** Audited only once, by the first instance that marks the connection. */
async function giveUp(
  { database, refreshes, audit, clock }: FreshTokenNeeds,
  connection: Connection,
  reason: string,
  lease?: RefreshLease,
): Promise<void> {
  const { connectionId, userId } = connection
  await database.transaction(async (tx) => {
    if (!(await refreshes.markNeedsReauth(tx, connection, lease?.id))) return
    const detail = { connection_id: connectionId, reason }
    await audit.append(tx, { event: 'connection.needs_reauth', at: clock(), userId, connectionId, detail })
  })
}
