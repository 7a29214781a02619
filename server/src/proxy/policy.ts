/**
 * Whether a usable grant allows a call. Pure, and applied again to every redirect. It relies on nothing but that the
 * request will go to the given URL.
 */
import { assertGrantCovers, coversHost } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { StandingProvider } from '../grants/standing.ts'
import { isAddress } from '../platform/egress/destinations.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { assertAwsCall } from './aws-call.ts'
import { namesCredentials, reachesCredentials } from './batch.ts'
import { presetChecks } from './body-checks.ts'
import type { Call } from './call.ts'
import { isCredentialEndpoint } from './credential-endpoints.ts'
import { invalidUrl } from './destination.ts'
import type { Destination } from './destination.ts'
import { possibleMethods } from './method-overrides.ts'
import type { HeaderList } from './upstream.ts'

/** Rules of the grant's provider and connection. */
export interface ProviderRules extends Pick<StandingProvider, 'metadata' | 'preset' | 'apiHosts' | 'allowRange'> {
  /** The only host that the connection's token may be sent to. Null: all hosts of the provider. */
  apiHost: string | null
  /** What AWS requests are signed for. Undefined for all other APIs. */
  signs?: AuthMethod['signs']
}

/** With headers and body as they would be sent. */
export type JudgedCall = Pick<Call, 'destination' | 'method' | 'headers' | 'body' | 'aws'>

/** `rules` is undefined in the sandbox, which has no provider. */
export function assertMayCall(grant: Grant, rules: ProviderRules | undefined, call: JudgedCall): void {
  assertMayReach(grant, rules, call.destination)
  const methods = possibleMethods(call, grant.allowedMethods !== null)
  const batch = rules && assertNoCredentials(rules, call, methods)
  assertGrantCovers(grant, { host: call.destination.host, methods, path: call.destination.path })
  assertStaysInPath(grant, call.headers)
  if (batch) assertBatchMayGo(grant, batch, call, methods)
}

/** A token is sent only to hosts that the user approved, the provider lists now, and the account is at. */
function assertMayReach(grant: Grant, rules: ProviderRules | undefined, destination: Destination): void {
  const { host, url } = destination
  const isOfAccount = rules === undefined || rules.apiHost === null || matchesHost(rules.apiHost, host)
  const isDeclared = rules === undefined || rules.apiHosts.some((entry) => matchesHost(entry, host))
  if (coversHost(grant, host)) {
    if (isOfAccount && isDeclared) return
    throw new ServiceError('host_not_allowed', { field: 'url' })
  }
  if (isAddress(url)) {
    throw invalidUrl('The URL has an IP address instead of a host name, and the grant does not list it.')
  }
  if (url.port !== '' && grant.allowedHosts.some((entry) => matchesHost(withoutPort(entry), url.hostname))) {
    throw invalidUrl('The grant does not cover this port of the host.')
  }
  throw new ServiceError('host_not_allowed', { field: 'url' })
}

function notSigned(): ServiceError {
  const message = 'Calls of this connection are not signed for AWS. Omit "aws".'
  return new ServiceError('invalid_field', { field: 'aws', message })
}

/** Returns the preset's rules if the path is a batch endpoint. */
function assertNoCredentials(rules: ProviderRules, call: JudgedCall, methods: readonly string[]) {
  const { destination } = call
  const { hostname } = destination.url
  const readings = readingsOf(destination.path)
  const preset = presetRulesAt(hostname, rules.preset)
  const isRefused =
    isCredentialEndpoint(rules.metadata, { hostname, readings }) ||
    preset.credentials.some((rule) => matchesRule(rule, readings, methods))
  if (isRefused) throw new ServiceError('credential_endpoint', { field: 'url' })
  if (rules.signs) assertAwsCall(rules.signs, call, readings, methods)
  else if (call.aws) throw notSigned()
  const { isQuery, isBatch } = presetChecks(preset, readings, methods)
  if (isQuery && namesCredentials(preset, call)) throw isAboutCredentials(call.body ? 'body' : 'url')
  return isBatch ? preset : undefined
}

function assertBatchMayGo(grant: Grant, preset: PresetRules, call: JudgedCall, methods: readonly string[]): void {
  if (grant.allowedMethods !== null || grant.allowedPaths !== null) {
    throw new ServiceError('path_not_allowed', {
      field: 'url',
      message: 'Calls to this path can contain other calls, for which the limits of the grant could not be enforced.',
    })
  }
  if (reachesCredentials(preset, call, methods)) throw isAboutCredentials('body')
}

function isAboutCredentials(field: 'url' | 'body'): ServiceError {
  return new ServiceError('credential_endpoint', {
    field,
    message:
      field === 'body'
        ? 'The body contains, or could contain, a call that handles credentials or creates access that outlives the grant.'
        : 'The query names a record type that holds credentials or gives access that outlives the grant.',
  })
}

/**
 * WebDAV's COPY and MOVE have a second path in a header, and so have the object stores of Google, Amazon, Azure and
 * OpenStack.
 */
const secondPath = /^(?:destination|x-copy-from|x-(?:amz|goog|ms)-(?:copy|rename)-source)$/

function assertStaysInPath({ allowedPaths }: Grant, headers: HeaderList): void {
  if (allowedPaths === null) return
  const named = headers.find(([name]) => secondPath.test(name.replaceAll('_', '-')))
  if (!named) return
  throw new ServiceError('path_not_allowed', {
    field: `headers.${named[0]}`,
    message: 'The grant is limited to certain paths, and this header names another path.',
  })
}

function withoutPort(entry: string): string {
  return entry.replace(/:\d+$/, '')
}
