import { isRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'
import type { Minted } from '../providers/auth-kinds/minting.ts'
import type { Assertion } from '../providers/auth-kinds/private-key.ts'

/** Only shown to users, so a precision of one minute is enough. */
export const useMarkedEveryMs = 60_000

/** A user's account at a provider. Its tokens and its credential are in the store only. */
export interface Connection {
  connectionId: string
  userId: string
  providerId: string
  /** The name of one of the provider's methods. */
  authMethod: string
  status: ConnectionStatus
  /** Whose account it is, if the provider says so. */
  accountId: string | null
  accountLabel: string | null
  /** The only one of the provider's hosts that this account's token may be sent to. Null: all of them. */
  apiHost: string | null
  scopes: string[]
  /** When the access token expires. Null if the provider didn't say. */
  expiresAt: Date | null
  obtainedAt: Date
  /** Whether the access token came from a refresh rather than a consent. */
  isRefreshed: boolean
  canRefresh: boolean
  /** Incremented with every new access token. */
  version: number
  /** Until then, an instance is refreshing the token. If it is in the past, that refresh was interrupted. */
  refreshLeaseUntil: Date | null
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
  remoteRevocation: RemoteRevocation | null
}

export type ConnectionStatus = 'active' | 'needs_reauth' | 'revoked'
export type RemoteRevocation = 'pending' | 'done' | 'unsupported' | 'failed'

/** Whether a process died during a refresh: the old tokens may be revoked, and the new ones were never stored. */
export function wasInterrupted({ refreshLeaseUntil }: Pick<Connection, 'refreshLeaseUntil'>, now: Date): boolean {
  return refreshLeaseUntil !== null && refreshLeaseUntil <= now
}

/** The status shown to the user: `needs_reauth` also if a refresh was interrupted, or runs with an expired token. */
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

/**
 * Whether the token has to be refreshed before use. `rejected` is the version for which an upstream responded with 401.
 */
export function isRefreshDue(connection: TokenState, now: Date, rejected: number | undefined): boolean {
  if (connection.status === 'active' && wasInterrupted(connection, now)) return true
  const age = now.getTime() - connection.obtainedAt.getTime()
  // If a new token is rejected too, there is another reason for it, and more refreshes would not help.
  if (rejected === connection.version && !(connection.isRefreshed && age < youngMs)) return true
  if (!connection.expiresAt) return false
  const lifetime = connection.expiresAt.getTime() - connection.obtainedAt.getTime()
  return connection.expiresAt.getTime() - Math.min(refreshAheadMs, lifetime / 2) <= now.getTime()
}

/** Whether the token can still be used while no newer one is available. */
export function isUsable(connection: Connection, now: Date, rejected: number | undefined): boolean {
  return rejected !== connection.version && (!connection.expiresAt || connection.expiresAt > now)
}

/** Servers accept no more in a header, and the redactor's time and memory grow with the length. */
const longestToken = 16_384

/** Whether the tokens can be redacted from responses, and the access token can be sent in a header. */
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

/** The tokens from a consent or a refresh. */
export interface KeptTokens {
  accessToken: Secret
  refreshToken: Secret | undefined
  expiresAt: Date | null
  obtainedAt: Date
  /** Was sent for them, and is redacted while it is valid. */
  assertion?: Assertion | undefined
}

export function keptFrom(tokens: Minted, now: Date): KeptTokens {
  const { accessToken, refreshToken, expiresInSeconds, assertion } = tokens
  return { accessToken, refreshToken, expiresAt: endOfToken(expiresInSeconds, now), obtainedAt: now, assertion }
}

export function endOfToken(expiresInSeconds: number | undefined, now: Date): Date | null {
  if (expiresInSeconds === undefined || !Number.isFinite(expiresInSeconds)) return null
  return new Date(now.getTime() + Math.min(Math.max(expiresInSeconds, 0), longestLifetimeSeconds) * 1000)
}

const unknownEndMs = 30 * 86_400_000

/** Until when a replaced token may still be valid, and so has to be redacted. */
export function formerUntil({ expiresAt }: Connection, now: Date): Date {
  return expiresAt ?? new Date(now.getTime() + unknownEndMs)
}
