import { ServiceError } from '../platform/errors.ts'

/** A standing yes: this agent, these hosts, methods and paths, until then. */
export interface Grant {
  grantId: string
  agentId: string
  /** What stands behind it: so far only the sandbox. */
  kind: 'sandbox'
  /** As in a URL: a name, with its port where that is not the scheme's own. */
  allowedHosts: string[]
  /** null: any. */
  allowedMethods: string[] | null
  allowedPaths: string[] | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
}

/** The part of a call that a grant speaks of. */
export interface GrantedCall {
  host: string
  method: string
  path: string
}

export function assertGrantIsLive(grant: Grant, now: Date): void {
  if (grant.revokedAt) throw new ServiceError('grant_revoked')
  if (grant.expiresAt && grant.expiresAt <= now) throw new ServiceError('grant_expired')
}

export function assertGrantCovers(grant: Grant, { host, method, path }: GrantedCall, now: Date): void {
  assertGrantIsLive(grant, now)
  if (!grant.allowedHosts.includes(host)) throw new ServiceError('host_not_allowed', { field: 'url' })
  if (!covers(grant.allowedMethods, method)) throw new ServiceError('method_not_allowed', { field: 'method' })
  if (!covers(grant.allowedPaths, path)) throw new ServiceError('path_not_allowed', { field: 'url' })
}

function covers(allowed: string[] | null, value: string): boolean {
  return allowed === null || allowed.includes(value)
}
