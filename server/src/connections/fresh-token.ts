/**
 * The token of a connection, renewed when it is due. One refresh at a time over all instances: the right to it is a
 * lease in the database, never a lock that is held over a network call. New tokens are stored before anybody uses
 * them, and a process that dies in between leaves its lease behind as a trace.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../platform/errors.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { clientOf } from '../providers/client-of.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { areKeepable, isRefreshDue, isUsable, keptFrom } from './connection.ts'
import type { Connection } from './connection.ts'
import type { RefreshLease } from './refresh-store.ts'
import { storeRefreshed } from './store-refreshed.ts'
import type { StoreRefreshedNeeds } from './store-refreshed.ts'

export interface FreshTokenNeeds extends StoreRefreshedNeeds {
  oauth: OAuth
  providers: ProviderStore
  onRefresh?: (outcome: 'refreshed' | 'unavailable' | 'refused') => void
}

export interface FreshToken {
  accessToken: Secret
  /** To be named when an upstream answers 401 to it. */
  version: number
  /** Everything of this connection that must not come back: this token, former ones, refresh token, client secret. */
  secrets: Secret[]
}

type RefreshOutcome = 'refreshed' | 'unavailable' | 'busy'

/** Longer than a refresh can take: the provider's answer is waited for 15 s, the store is tried for 20 s. */
export const refreshLeaseMs = 60_000
const patienceMs = 40_000
const lookAgainMs = 100

/** Refused at the token endpoint with one of these, the connection is dead until its user consents again. */
const deadGrant = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
  'token_revoked',
  'token_expired',
])

export function createFreshToken(needs: FreshTokenNeeds) {
  const { database, refreshes, clock } = needs
  /** Calls of this process wait for its own refresh; those of other processes look again now and then. */
  const underWay = new Map<string, Promise<RefreshOutcome>>()
  let isStopping = false

  const leaseAndRefresh = async (connection: Connection): Promise<RefreshOutcome> => {
    const now = clock()
    const lease = { id: randomUUID(), now, until: new Date(now.getTime() + refreshLeaseMs) }
    if (!(await refreshes.takeLease(database.queries, connection, lease))) return 'busy'
    return refresh(needs, connection, lease)
  }

  const refreshOnce = (connection: Connection): Promise<RefreshOutcome> => {
    const { connectionId } = connection
    const begun = underWay.get(connectionId)
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
        underWay.delete(connectionId)
      })
    underWay.set(connectionId, attempt)
    return attempt
  }

  const freshToken = async (connectionId: string, rejected?: number): Promise<FreshToken> => {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const connection = await live(needs, connectionId)
      const now = clock()
      if (!isRefreshDue(connection, now, rejected)) return opened(needs, connection)
      if (!connection.canRefresh) {
        if (isUsable(connection, now, undefined)) return opened(needs, connection)
        await giveUp(needs, connection, 'expired')
        throw new ServiceError('connection_needs_reauth')
      }
      const outcome = await refreshOnce(connection)
      const since = await live(needs, connectionId)
      // However short its life, a token that has just come is the one to use. Where somebody else is at it, or the
      // provider is away, one that still holds need not wait.
      if (outcome === 'refreshed' || isUsable(since, clock(), rejected)) return opened(needs, since)
      if (outcome === 'unavailable' || performance.now() > deadline) throw new ServiceError('provider_unavailable')
      await sleep(lookAgainMs)
    }
  }

  return {
    freshToken,
    /** A stop waits for it: what a provider has just handed out must reach the database. From now on no other begins. */
    refreshesEnded: async (): Promise<void> => {
      isStopping = true
      await Promise.allSettled(underWay.values())
    },
  }
}

export type FreshTokenOf = ReturnType<typeof createFreshToken>['freshToken']

/** Authority is read anew after every wait: the connection's own, its user's and its provider's. */
async function live({ database, connections }: FreshTokenNeeds, connectionId: string): Promise<Connection> {
  const found = await connections.findWithAuthority(database.queries, connectionId)
  // A grant whose connection is revoked is revoked.
  if (!found || found.connection.status === 'revoked' || found.isUserDisabled) throw new ServiceError('grant_revoked')
  if (!found.isProviderActive) throw new ServiceError('conflict', { message: 'The provider has been disabled.' })
  if (found.connection.status === 'needs_reauth') throw new ServiceError('connection_needs_reauth')
  return found.connection
}

async function opened(needs: FreshTokenNeeds, connection: Connection): Promise<FreshToken> {
  const { database, providers, connections, formerTokens, clock } = needs
  const { queries } = database
  const { accessToken, refreshToken, version } = await connections.tokens(queries, connection)
  if (!accessToken) throw new ServiceError('grant_revoked')
  const clientSecret = await providers.clientSecret(queries, connection.providerId)
  const former = await formerTokens.listOf(queries, connection.connectionId, clock())
  const secrets = [accessToken, refreshToken, clientSecret, ...former].filter((secret) => secret !== undefined)
  return { accessToken, version, secrets }
}

/** By the holder of the lease. */
async function refresh(needs: FreshTokenNeeds, connection: Connection, lease: RefreshLease): Promise<RefreshOutcome> {
  const { database, refreshes, clock, log } = needs
  const { connectionId } = connection
  let tokens: Tokens
  try {
    tokens = await ask(needs, connection)
  } catch (error) {
    if (error instanceof OAuthRefused && deadGrant.has(error.code)) {
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

async function ask(
  { database, oauth, providers, connections }: FreshTokenNeeds,
  connection: Connection,
): Promise<Tokens> {
  const provider = await providers.find(database.queries, connection.providerId)
  if (provider?.status !== 'active') throw new ServiceError('provider_unavailable', { detail: 'it is disabled' })
  const client = await clientOf(providers, database.queries, provider)
  const { refreshToken } = await connections.tokens(database.queries, connection)
  if (!refreshToken) throw new ServiceError('provider_unavailable', { detail: 'its refresh token is gone' })
  return oauth.refresh(client, refreshToken)
}

/** Said on record once, by whoever found out first. */
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
