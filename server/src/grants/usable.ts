/**
 * The rule for whether a grant is usable. SQL repeats parts of it to count calls, filter lists and stop calls in
 * flight; usable.test.ts compares each of those with this one.
 */
import type { ConnectionStatus } from '../connections/connection.ts'
import { ServiceError } from '../platform/errors.ts'
import type { ProviderStatus } from '../providers/provider.ts'
import type { Grant, GrantStatus } from './grant.ts'

/** What the rule looks at. Connection and provider are null in the sandbox. */
export interface GrantState {
  grant: Pick<Grant, 'revokedAt' | 'isCutOff' | 'isPaused' | 'expiresAt' | 'maxCalls' | 'calls'>
  connection: { status: ConnectionStatus } | null
  provider: { status: ProviderStatus } | null
  /** The agent is enabled, and the token that the call came with is its current one. */
  isTokenCurrent: boolean
}

export type Unusable =
  | 'unauthenticated'
  | 'grant_revoked'
  | 'grant_expired'
  | 'paused'
  | 'provider_disabled'
  | 'connection_needs_reauth'
  | 'grant_exhausted'

/** Why no call can begin: the first reason of several. Undefined if one can. */
export function whyUnusable(state: GrantState, now: Date): Unusable | undefined {
  const { grant, connection, provider, isTokenCurrent } = state
  if (!isTokenCurrent) return 'unauthenticated'
  if (grant.revokedAt || grant.isCutOff) return 'grant_revoked'
  if (grant.expiresAt && grant.expiresAt <= now) return 'grant_expired'
  if (grant.isPaused) return 'paused'
  if (provider && provider.status !== 'active') return 'provider_disabled'
  if (connection && connection.status !== 'active') return 'connection_needs_reauth'
  if (grant.maxCalls !== null && grant.calls >= grant.maxCalls) return 'grant_exhausted'
  return undefined
}

/** Why a call that has begun can't continue. The call that used up its grant can. */
export function whyEnded(state: GrantState, now: Date): Unusable | undefined {
  const reason = whyUnusable(state, now)
  return reason === 'grant_exhausted' ? undefined : reason
}

/** Throws unless a call can begin; with `mayBeExhausted`, unless one that has begun can continue. */
export function assertUsable(state: GrantState, now: Date, { mayBeExhausted = false } = {}): void {
  const reason = (mayBeExhausted ? whyEnded : whyUnusable)(state, now)
  if (reason) throw refusalFor(reason)
}

/** `field` names the grant, if the caller named it. */
export function refusalFor(reason: Unusable, field?: string): ServiceError {
  const named = field === undefined ? {} : { field }
  return reason === 'provider_disabled'
    ? new ServiceError('conflict', { ...named, message: 'The provider has been disabled.' })
    : new ServiceError(reason, named)
}

/** A grant ends with its connection and its user. */
export function isCutOff(connectionStatus: ConnectionStatus | null, userDisabledAt: number | null): boolean {
  return connectionStatus === 'revoked' || userDisabledAt !== null
}

/** What lists show of the grant itself. One whose calls are used up reads as expired. */
export function statusOf(grant: GrantState['grant'], now: Date): GrantStatus {
  const own = { ...grant, isPaused: false }
  const reason = whyUnusable({ grant: own, connection: null, provider: null, isTokenCurrent: true }, now)
  if (reason === undefined) return 'active'
  return reason === 'grant_revoked' ? 'revoked' : 'expired'
}
