import type { Tokens } from '../platform/oauth/oauth-client.ts'
import { isRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'

/** For people to read: to the minute is near enough. */
export const useMarkedEveryMs = 60_000

/** A person's account at a provider, and the tokens that reach it. The tokens themselves stay in the store. */
export interface Connection {
  connectionId: string
  userId: string
  providerId: string
  status: ConnectionStatus
  /** Whose account it is, where the provider says. */
  accountId: string | null
  accountLabel: string | null
  /** The one host that this account's token may go to, of those that the provider has; null for all of them. */
  apiHost: string | null
  scopes: string[]
  /** When the access token ends; null where the provider did not say. */
  expiresAt: Date | null
  obtainedAt: Date
  /** The access token came from a refresh, not from a consent. */
  isRefreshed: boolean
  canRefresh: boolean
  /** Grows with every new access token. */
  version: number
  /** Somebody is refreshing until then; once it is past, somebody was and never said how it ended. */
  refreshLeaseUntil: Date | null
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
  remoteRevocation: RemoteRevocation | null
}

export type ConnectionStatus = 'active' | 'needs_reauth' | 'revoked'
export type RemoteRevocation = 'pending' | 'done' | 'unsupported' | 'failed'

/** What a refresh left behind when its process died: the old tokens may be dead, and the new ones were never stored. */
export function wasInterrupted({ refreshLeaseUntil }: Pick<Connection, 'refreshLeaseUntil'>, now: Date): boolean {
  return refreshLeaseUntil !== null && refreshLeaseUntil <= now
}

/** What its user is told. Nobody can say yet how a refresh will end, and a token that is over can't be called healthy. */
export function statusOf(connection: Connection, now: Date): ConnectionStatus {
  const { status, refreshLeaseUntil, expiresAt } = connection
  const isInDoubt = refreshLeaseUntil !== null && (refreshLeaseUntil <= now || (expiresAt !== null && expiresAt <= now))
  return status === 'active' && isInDoubt ? 'needs_reauth' : status
}

const refreshAheadMs = 60_000
const youngMs = 5 * 60_000

type TokenState = Pick<
  Connection,
  'status' | 'version' | 'expiresAt' | 'obtainedAt' | 'isRefreshed' | 'refreshLeaseUntil'
>

/** Whether the token has to be renewed before it is used. `rejected` is the version that an upstream answered with 401. */
export function isRefreshDue(connection: TokenState, now: Date, rejected: number | undefined): boolean {
  if (connection.status === 'active' && wasInterrupted(connection, now)) return true
  const age = now.getTime() - connection.obtainedAt.getTime()
  // A fresh token that is refused again is refused for another reason; asking anew each time would only burn refreshes.
  if (rejected === connection.version && !(connection.isRefreshed && age < youngMs)) return true
  if (!connection.expiresAt) return false
  const lifetime = connection.expiresAt.getTime() - connection.obtainedAt.getTime()
  return connection.expiresAt.getTime() - Math.min(refreshAheadMs, lifetime / 2) <= now.getTime()
}

/** Whether the token may still be tried while a better one can not be had. */
export function isUsable(connection: Connection, now: Date, rejected: number | undefined): boolean {
  return rejected !== connection.version && (!connection.expiresAt || connection.expiresAt > now)
}

/** Servers take no more than that in a header, and the redactor's work and memory grow with it. */
const longestToken = 16_384

/** Whether they can be kept: found again in what comes back, and, for the one that is sent, put into a header. */
export function areKeepable({
  accessToken,
  refreshToken,
}: {
  accessToken: Secret
  refreshToken: Secret | undefined
}): boolean {
  const isSendable = accessToken.matches(/^[\x21-\x7e]+$/)
  const tokens = refreshToken === undefined ? [accessToken] : [accessToken, refreshToken]
  return isSendable && tokens.every((token) => isRedactable(token) && token.length <= longestToken)
}

const longestLifetimeSeconds = 10 * 365 * 86_400

/** What a consent or a refresh gave. */
export interface KeptTokens {
  accessToken: Secret
  refreshToken: Secret | undefined
  expiresAt: Date | null
  obtainedAt: Date
}

export function keptFrom({ accessToken, refreshToken, expiresInSeconds }: Tokens, now: Date): KeptTokens {
  return { accessToken, refreshToken, expiresAt: endOfToken(expiresInSeconds, now), obtainedAt: now }
}

export function endOfToken(expiresInSeconds: number | undefined, now: Date): Date | null {
  if (expiresInSeconds === undefined || !Number.isFinite(expiresInSeconds)) return null
  return new Date(now.getTime() + Math.min(Math.max(expiresInSeconds, 0), longestLifetimeSeconds) * 1000)
}

const unknownEndMs = 30 * 86_400_000

/** Until when a token that was replaced may still be valid, and so must not come back from anywhere. */
export function formerUntil({ expiresAt }: Connection, now: Date): Date {
  return expiresAt ?? new Date(now.getTime() + unknownEndMs)
}
