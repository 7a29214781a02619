/**
 * The terms of a grant. An approval can only narrow the request's hosts, methods, paths and number of calls. Mode, exceptions
 * and access are the person's alone to set.
 */
import type { ExceptionAction, GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import type { Connection } from '../connections/connection.ts'
import { coversHostPattern, defaultTerms, readMethods } from '../grants/grant.ts'
import type { GrantException } from '../grants/grant.ts'
import { coversPathPattern, readPathPatterns } from '../grants/path-pattern.ts'
import { ServiceError } from '../platform/errors.ts'
import { readApiHosts } from '../providers/api-hosts.ts'
import type { Provider } from '../providers/provider.ts'
import type { AccessRequest } from './access-request.ts'

/** The user's decision as sent. */
export interface Decision {
  connectionId: string
  allowedHosts?: string[] | undefined
  allowedMethods?: string[] | undefined
  allowedPaths?: string[] | undefined
  maxCalls?: number | undefined
  expiresAt?: string | undefined
  mode?: GrantMode | undefined
  exceptions?: { paths: string[]; methods?: string[] | undefined; action: ExceptionAction }[] | undefined
  maxAccess?: MaxAccess | undefined
}

export interface Granted {
  allowedHosts: string[]
  allowedMethods: string[] | null
  allowedPaths: string[] | null
  maxCalls: number | null
  expiresAt: Date | null
  mode: GrantMode
  exceptions: GrantException[]
  maxAccess: MaxAccess | null
}

export function grantedBy(
  decision: Decision,
  request: Pick<AccessRequest, 'hosts' | 'methods' | 'paths' | 'maxCalls'>,
  { apiHosts }: Pick<Provider, 'apiHosts'>,
  { apiHost }: Pick<Connection, 'apiHost'>,
  now: Date,
): Granted {
  return {
    allowedHosts: grantedHosts(decision, request, apiHosts, apiHost),
    allowedMethods: grantedMethods(decision, request),
    allowedPaths: grantedPaths(decision, request),
    maxCalls: grantedCalls(decision, request),
    expiresAt: grantedUntil(decision, now),
    mode: decision.mode ?? defaultTerms.mode,
    exceptions: grantedExceptions(decision),
    maxAccess: decision.maxAccess ?? defaultTerms.maxAccess,
  }
}

export const ofProvider = 'the api_hosts of the provider, which GET /v4/providers lists'
const asked = 'what was asked for'

/** Reads the hosts of a request. They have to be within those of the provider. */
export function readHostsWithin(
  entries: readonly string[],
  outer: readonly string[],
  field: string,
  limit: string,
): string[] {
  const isWithin = (host: string) => outer.some((one) => coversHostPattern(one, host))
  return readWithin(entries, field, { read: readApiHosts, isWithin, limit })
}

interface Bounds {
  /** Returns each in canonical form, without duplicates. */
  read: (texts: readonly string[], field: string) => string[]
  isWithin: (one: string) => boolean
  limit: string
}

/** An error names the index in the list as sent, including duplicates. */
function readWithin(texts: readonly string[], field: string, { read, isWithin, limit }: Bounds): string[] {
  const chosen = read(texts, field)
  const strange = texts.findIndex((text) => !read([text], field).every(isWithin))
  if (strange !== -1) throw outside(`${field}.${strange}`, limit)
  return chosen
}

function grantedHosts(
  { allowedHosts }: Decision,
  { hosts }: Pick<AccessRequest, 'hosts'>,
  apiHosts: readonly string[],
  apiHost: string | null,
): string[] {
  // A host may have been removed from the provider since the request.
  const within = (entries: readonly string[]) =>
    entries.filter((entry) => apiHosts.some((one) => coversHostPattern(one, entry)))
  const field = 'allowed_hosts'
  const chosen = allowedHosts
    ? within(readHostsWithin(allowedHosts, hosts ?? apiHosts, field, hosts ? asked : ofProvider))
    : // A grant has a wildcard only if someone wrote it.
      within(hosts ?? (apiHost === null ? apiHosts.filter((entry) => !entry.startsWith('*.')) : [apiHost]))
  const granted = apiHost === null ? chosen : accountHost(chosen, apiHost)
  if (granted.length === 0) {
    throw new ServiceError(allowedHosts ? 'invalid_field' : 'missing_field', {
      field,
      message: `None of the hosts is allowed for this account's token. Set "${field}" to one that is.`,
    })
  }
  return granted
}

/** Some accounts have their own API host. Their token is sent only there. */
function accountHost(chosen: readonly string[], apiHost: string): string[] {
  return chosen.some((entry) => coversHostPattern(entry, apiHost)) ? [apiHost] : []
}

function grantedMethods({ allowedMethods }: Decision, { methods }: Pick<AccessRequest, 'methods'>): string[] | null {
  if (!allowedMethods) return methods
  const isWithin = (method: string) => methods === null || methods.includes(method)
  return readWithin(allowedMethods, 'allowed_methods', { read: readMethods, isWithin, limit: asked })
}

function grantedPaths({ allowedPaths }: Decision, { paths }: Pick<AccessRequest, 'paths'>): string[] | null {
  if (!allowedPaths) return paths
  const isWithin = (path: string) => paths === null || paths.some((one) => coversPathPattern(one, path))
  return readWithin(allowedPaths, 'allowed_paths', { read: readPathPatterns, isWithin, limit: asked })
}

function grantedCalls({ maxCalls }: Decision, request: Pick<AccessRequest, 'maxCalls'>): number | null {
  if (maxCalls === undefined) return request.maxCalls
  if (request.maxCalls !== null && maxCalls > request.maxCalls) throw outside('max_calls', asked)
  return maxCalls
}

/** Of all exceptions together: they are part of every receipt. */
const maxExceptionPaths = 100

/** They may name more than the grant covers: what it does not cover is refused anyway. */
function grantedExceptions({ exceptions = [] }: Decision): GrantException[] {
  const read = exceptions.map(({ paths, methods, action }, index) => ({
    paths: readPathPatterns(paths, `exceptions.${index}.paths`),
    methods: methods ? readMethods(methods, `exceptions.${index}.methods`) : null,
    action,
  }))
  if (read.reduce((sum, { paths }) => sum + paths.length, 0) <= maxExceptionPaths) return read
  const message = `"exceptions" contains more than ${maxExceptionPaths} paths.`
  throw new ServiceError('invalid_field', { field: 'exceptions', message })
}

/** The last time in UTC that RFC 3339 can represent. An offset can express later ones, which could not be displayed. */
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

function grantedUntil({ expiresAt }: Decision, now: Date): Date | null {
  if (expiresAt === undefined) return null
  const refuse = (message: string) => new ServiceError('invalid_field', { field: 'expires_at', message })
  const until = new Date(expiresAt)
  // A leap second is valid in RFC 3339 but not as a Date.
  if (Number.isNaN(until.getTime())) throw refuse('"expires_at" is not a valid time. Use another one.')
  if (until.getTime() > lastMoment) throw refuse('"expires_at" is after the year 9999 in UTC. Omit it for no expiry.')
  if (until <= now) throw refuse('"expires_at" must be in the future.')
  return until
}

function outside(field: string, limit: string): ServiceError {
  return new ServiceError('invalid_field', {
    field,
    message: `"${field}" is not within ${limit}.`,
  })
}
