import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { coversAnyPath } from './path-pattern.ts'

/** A standing yes: this agent, these hosts, methods and paths, until then. */
export interface Grant {
  grantId: string
  agentId: string
  /** What stands behind it. */
  kind: 'sandbox' | 'connection'
  /** Who approved it, with which account: null in the sandbox, where nobody is asked. */
  userId: string | null
  connectionId: string | null
  /** null where the sandbox was started without one. */
  accessRequestId: string | null
  /** Patterns as api-hosts.ts keeps them; in the sandbox one host, as a URL writes it. */
  allowedHosts: string[]
  /** null: any. */
  allowedMethods: string[] | null
  allowedPaths: string[] | null
  maxCalls: number | null
  calls: number
  lastUsedAt: Date | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  revokedBy: RevokedBy | null
  /** What it stands on has ended: its connection is revoked or its user disabled. That is read, never written. */
  isCutOff: boolean
}

/** Its user, its agent, or a new sandbox that took its place. */
export type RevokedBy = 'user' | 'agent' | 'sandbox'
export type GrantStatus = 'active' | 'revoked' | 'expired'

/** The part of a call that a grant speaks of. */
export interface GrantedCall {
  host: string
  /** Its own, and those that it names to override it. */
  methods: readonly string[]
  path: string
}

/** A grant whose calls are used up reads as expired: like one whose time is over, it ended as it was meant to. */
export function statusOf(grant: Grant, now: Date): GrantStatus {
  const end = endOf(grant, now)
  if (end === 'grant_revoked') return 'revoked'
  return end === 'grant_expired' || isExhausted(grant) ? 'expired' : 'active'
}

/** Why even a call that is under way must end; undefined where it may go on. The last call may use up the grant. */
export function endOf(grant: Grant, now: Date): 'grant_revoked' | 'grant_expired' | undefined {
  if (grant.revokedAt || grant.isCutOff) return 'grant_revoked'
  return grant.expiresAt && grant.expiresAt <= now ? 'grant_expired' : undefined
}

export function assertGrantIsLive(grant: Grant, now: Date): void {
  const end = endOf(grant, now)
  if (end) throw new ServiceError(end)
  if (isExhausted(grant)) throw new ServiceError('grant_exhausted')
}

export function assertGrantCovers(grant: Grant, { host, methods, path }: GrantedCall, now: Date): void {
  assertGrantIsLive(grant, now)
  if (!coversHost(grant, host)) throw new ServiceError('host_not_allowed', { field: 'url' })
  if (!coversMethods(grant, methods)) {
    throw new ServiceError('method_not_allowed', { field: 'method' })
  }
  if (!coversCallPath(grant, path)) throw new ServiceError('path_not_allowed', { field: 'url' })
}

function isExhausted({ maxCalls, calls }: Grant): boolean {
  return maxCalls !== null && calls >= maxCalls
}

function coversMethods({ allowedMethods }: Grant, methods: readonly string[]): boolean {
  return allowedMethods === null
    ? !methods.some((method) => method === 'TRACE' || method === 'CONNECT')
    : methods.every((method) => allowedMethods.includes(method))
}

/** The sandbox stands for one URL, written in one way. */
export function coversHost({ kind, allowedHosts }: Grant, host: string): boolean {
  return kind === 'sandbox' ? allowedHosts.includes(host) : allowedHosts.some((entry) => matchesHost(entry, host))
}

function coversCallPath({ kind, allowedPaths }: Grant, path: string): boolean {
  if (allowedPaths === null) return true
  return kind === 'sandbox' ? allowedPaths.includes(path) : coversAnyPath(allowedPaths, path)
}
