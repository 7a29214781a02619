import type { ExceptionAction, GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { coversAnyPath } from './path-pattern.ts'

/** What an agent may call: hosts, methods and paths, for how long and how often. */
export interface Grant {
  grantId: string
  agentId: string
  kind: 'sandbox' | 'connection'
  /** Who approved it, for which connection. Null in the sandbox, which needs no approval. */
  userId: string | null
  connectionId: string | null
  /** Null if the sandbox was started without one. */
  accessRequestId: string | null
  /** Patterns of api-hosts.ts. In the sandbox one host, as in a URL. */
  allowedHosts: string[]
  /** Null: any. */
  allowedMethods: string[] | null
  allowedPaths: string[] | null
  maxCalls: number | null
  /** Which calls wait for a person. */
  mode: GrantMode
  exceptions: GrantException[]
  /** The most that a call may do. Null: anything. */
  maxAccess: MaxAccess | null
  calls: number
  lastUsedAt: Date | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  revokedBy: RevokedBy | null
  /** Its connection is revoked or its user disabled. Computed, not stored. */
  isCutOff: boolean
  /** Its user or the operator has paused all agents. It stays active. */
  isPaused: boolean
  /** Increases when its terms are changed. A call is recorded only under the terms that it was judged by. */
  termsVersion: number
}

/** A grant as a call was judged by it. */
export type JudgedGrant = Pick<Grant, 'grantId' | 'termsVersion'>

/** Calls that the mode does not apply to. */
export interface GrantException {
  paths: string[]
  /** Null: any. */
  methods: string[] | null
  action: ExceptionAction
}

/** What a grant has unless the person who approves it sets something else. */
export const defaultTerms = { mode: 'allow_all', exceptions: [], maxAccess: null } satisfies Partial<Grant>

/** Its user, its agent, or a new sandbox that replaced it. */
export type RevokedBy = 'user' | 'agent' | 'sandbox'
export type GrantStatus = 'active' | 'revoked' | 'expired'

/** The part of a call that a grant limits. */
export interface GrantedCall {
  host: string
  /** Its own, and those of method overrides. */
  methods: readonly string[]
  path: string
}

/** Whether the grant can be used at all is decided in usable.ts. */
export function coversCall(grant: Grant, { host, methods, path }: GrantedCall): boolean {
  return coversHost(grant, host) && coversMethods(grant, methods) && coversCallPath(grant, path)
}

/** The same, but throws what it does not cover. */
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

/** In the sandbox host and path have to be equal to the ones of its URL. */
export function coversHost({ kind, allowedHosts }: Grant, host: string): boolean {
  return kind === 'sandbox' ? allowedHosts.includes(host) : allowedHosts.some((entry) => matchesHost(entry, host))
}

/** Whether the outer entry covers every host that the inner one does. */
export function coversHostPattern(outer: string, inner: string): boolean {
  // `*.b.a` is matched like a host below `*.a`, and whatever matches it matches every host below `*.b.a`.
  return matchesHost(outer, inner)
}

function coversCallPath({ kind, allowedPaths }: Grant, path: string): boolean {
  if (allowedPaths === null) return true
  return kind === 'sandbox' ? allowedPaths.includes(path) : coversAnyPath(allowedPaths, path)
}

const methodName = /^[A-Za-z]{1,20}$/

/** In upper case. TRACE would echo the credential, CONNECT would open a tunnel past every check. */
export function readMethod(text: string, field: string): string {
  const name = text.toUpperCase()
  if (!methodName.test(text) || name === 'CONNECT' || name === 'TRACE') {
    throw new ServiceError('invalid_field', {
      field,
      message: `"${field}" is not an HTTP method that can be proxied.`,
    })
  }
  return name
}

export function readMethods(texts: readonly string[], field: string): string[] {
  return [...new Set(texts.map((text, index) => readMethod(text, `${field}.${index}`)))]
}
