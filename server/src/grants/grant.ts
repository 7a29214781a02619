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

/** Whether the grant can be used at all is for usable.ts to say. */
export function assertGrantCovers(grant: Grant, { host, methods, path }: GrantedCall): void {
  if (!coversHost(grant, host)) throw new ServiceError('host_not_allowed', { field: 'url' })
  if (!coversMethods(grant, methods)) {
    throw new ServiceError('method_not_allowed', { field: 'method' })
  }
  if (!coversCallPath(grant, path)) throw new ServiceError('path_not_allowed', { field: 'url' })
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
