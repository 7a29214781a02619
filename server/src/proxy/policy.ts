/**
 * Whether a usable grant allows a call. Pure, and applied again to every redirect. It relies on nothing but that the
 * request will go to the given URL.
 */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import { assertGrantCovers, coversHost } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { StandingProvider } from '../grants/standing.ts'
import { assertNotDenied, hasTerms, termsVerdict } from '../grants/terms.ts'
import type { TermsVerdict } from '../grants/terms.ts'
import { isAddress } from '../platform/egress/destinations.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { accessClassOf, mayBeBatch, mayBeGraphql } from './access-class.ts'
import { assertAwsCall } from './aws-call.ts'
import { reachesCredentials } from './batch.ts'
import { assertInspectable, bodyChecksFor, checksAt, limitsMethods, mustBeInspected } from './body-checks.ts'
import type { BodyChecks, CallHead } from './body-checks.ts'
import { UnreadableBody } from './body-content.ts'
import type { Call } from './call.ts'
import { isCredentialEndpoint } from './credential-endpoints.ts'
import { invalidUrl } from './destination.ts'
import type { Destination } from './destination.ts'
import { namesInGraphql } from './graphql-operations.ts'
import { possibleMethods } from './parameters.ts'
import { isCredentialOperation, namesCredentialType } from './record-types.ts'
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

/** What the terms of the grant say about a call, and what it does. */
export interface Verdict extends TermsVerdict {
  access: AccessClass
}

/**
 * Throws unless the grant allows the call, perhaps after a person has approved it. Returns what its terms say; undefined if
 * it has none. `rules` is undefined in the sandbox, which has no provider.
 */
export function assertMayCall(grant: Grant, rules: ProviderRules | undefined, call: JudgedCall): Verdict | undefined {
  const verdict = verdictOn(grant, rules, call)
  if (verdict) assertNotDenied(verdict, grant)
  return verdict
}

/** The same, but a call that the terms refuse has a verdict too. `isClassified`: even if the grant has no terms. */
export function verdictOn(
  grant: Grant,
  rules: ProviderRules | undefined,
  call: JudgedCall,
  { isClassified = hasTerms(grant) } = {},
): Verdict | undefined {
  const judged = assertCovered(grant, rules, call, { hasBody: true })
  return isClassified ? verdictOf(grant, judged, call) : undefined
}

/**
 * Why changed terms of its grant no longer allow a call in flight. Whether a person would have to approve it is not asked:
 * it has gone out.
 */
export function whyUncovered(grant: Grant, { isOpen, route, upload, ...call }: Call): ServiceError | undefined {
  if (isOpen) return undefined
  try {
    // A body that was forwarded as it arrived was not inspected.
    if (upload && mustBeInspected(bodyChecksFor(call, grant, route.rules))) {
      throw new ServiceError('body_not_inspectable', { field: 'body' })
    }
    assertMayCall(grant, route.rules, call)
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

/** As far as it can be told before the body has arrived. */
export function assertHeadMayCall(grant: Grant, rules: ProviderRules | undefined, head: CallHead): void {
  assertCovered(grant, rules, { ...head, body: undefined }, { hasBody: false })
}

function assertCovered(
  grant: Grant,
  rules: ProviderRules | undefined,
  call: JudgedCall,
  { hasBody }: { hasBody: boolean },
): Judged {
  const { destination } = call
  assertMayReach(grant, rules, destination)
  const readings = readingsOf(destination.path)
  const preset = rules && presetRulesAt(destination.url.hostname, rules.preset)
  const checks = checksAt(call, grant, rules, { preset, readings })
  assertInspectable(call.body, checks)
  const methods = possibleMethods(call, checks.parameters, limitsMethods(grant))
  const judged = { preset, readings, methods, checks, signs: rules?.signs }
  if (rules && preset) assertNoCredentials({ ...judged, rules, preset, hasBody }, call)
  assertGrantCovers(grant, { host: destination.host, methods, path: destination.path })
  assertStaysInPath(grant, call.headers)
  if (preset) assertCallsMayGo(grant, { ...judged, preset }, call)
  return judged
}

function verdictOf(grant: Grant, { preset, readings, methods, signs }: Judged, call: JudgedCall): Verdict {
  const api = { preset, readings, signs }
  const access = accessClassOf(call, methods, api)
  const { path } = call.destination
  const isGraphql = mayBeGraphql(api)
  const reachesPaths = (!isGraphql && mayBeBatch(api)) || secondPathIn(call.headers) !== undefined
  const reaches = reachesPaths ? 'paths' : isGraphql ? 'operations' : undefined
  return { access, ...termsVerdict(grant, { access, methods, path, readings, reaches }) }
}

interface Judged {
  preset: PresetRules | undefined
  readings: readonly PathReading[]
  methods: readonly string[]
  checks: BodyChecks
  signs: ProviderRules['signs']
}
type JudgedAtProvider = Judged & { preset: PresetRules }

/** A token is sent only to hosts that the user approved, the provider lists now, and the account is at. */
export function mayReach(grant: Grant, rules: ProviderRules | undefined, host: string): boolean {
  const isOfAccount = rules === undefined || rules.apiHost === null || matchesHost(rules.apiHost, host)
  const isDeclared = rules === undefined || rules.apiHosts.some((entry) => matchesHost(entry, host))
  return coversHost(grant, host) && isOfAccount && isDeclared
}

function assertMayReach(grant: Grant, rules: ProviderRules | undefined, destination: Destination): void {
  const { host, url } = destination
  if (mayReach(grant, rules, host)) return
  if (coversHost(grant, host)) throw new ServiceError('host_not_allowed', { field: 'url' })
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

function assertNoCredentials(
  judged: JudgedAtProvider & { rules: ProviderRules; hasBody: boolean },
  call: JudgedCall,
): void {
  const { rules, preset, readings, methods, checks, hasBody } = judged
  const { hostname } = call.destination.url
  const isRefused =
    isCredentialEndpoint(rules.metadata, { hostname, readings }) ||
    preset.credentials.some((rule) => matchesRule(rule, readings, methods))
  if (isRefused) throw new ServiceError('credential_endpoint', { field: 'url' })
  if (rules.signs) {
    if (hasBody || !checks.isFormAction) assertAwsCall(rules.signs, call, readings, methods)
  } else if (call.aws) throw notSigned()
  if (checks.isQuery) assertNot(call, () => namesCredentialType(preset, call, methods))
}

/** A batch, or a GraphQL document: its path doesn't say what it does. */
function assertCallsMayGo(
  grant: Grant,
  { preset, readings, methods, checks }: JudgedAtProvider,
  call: JudgedCall,
): void {
  const isLimited = grant.allowedMethods !== null || grant.allowedPaths !== null
  if (isLimited && preset.batches.some((rule) => matchesRule(rule, readings, undefined))) {
    throw new ServiceError('path_not_allowed', {
      field: 'url',
      message: 'Calls to this path can contain other calls, for which the limits of the grant could not be enforced.',
    })
  }
  if (checks.isGraphql) assertNot(call, () => isCredentialOperation(preset, namesInGraphql(call)))
  // What names records has been checked for them, and lists no calls.
  if (checks.isBatch && !checks.isQuery) assertNot(call, () => reachesCredentials(preset, call, methods))
}

function assertNot({ body }: JudgedCall, isAboutCredentials: () => boolean): void {
  const refused = (field: string, message: string) => new ServiceError('credential_endpoint', { field, message })
  try {
    if (!isAboutCredentials()) return
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error
    throw refused(error.field, `What this call does can't be checked: ${error.message}.`)
  }
  throw body
    ? refused('body', 'The body asks for something that handles credentials or creates access that outlives the grant.')
    : refused('url', 'The query asks for something that handles credentials or gives access that outlives the grant.')
}

/**
 * WebDAV's COPY and MOVE have a second path in a header, and so have the object stores of Google, Amazon, Azure and
 * OpenStack.
 */
const secondPath = /^(?:destination|x-copy-from|x-(?:amz|goog|ms)-(?:copy|rename)-source)$/

function secondPathIn(headers: HeaderList): HeaderList[number] | undefined {
  return headers.find(([name]) => secondPath.test(name.replaceAll('_', '-')))
}

function assertStaysInPath({ allowedPaths }: Grant, headers: HeaderList): void {
  if (allowedPaths === null) return
  const named = secondPathIn(headers)
  if (!named) return
  throw new ServiceError('path_not_allowed', {
    field: `headers.${named[0]}`,
    message: 'The grant is limited to certain paths, and this header names another path.',
  })
}

function withoutPort(entry: string): string {
  return entry.replace(/:\d+$/, '')
}
