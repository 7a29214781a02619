/** A refusal says what access would allow the call, in the form that can be posted to /v4/access-requests. */
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { Destination } from './destination.ts'

export interface SuggestedAccess {
  provider: string
  hosts: string[]
  methods: string[]
}

/** Refusals that another grant could avoid. */
const grantRefusals: ReadonlySet<ErrorCode> = new Set([
  'access_not_allowed',
  'grant_expired',
  'grant_exhausted',
  'grant_not_found',
  'grant_revoked',
  'host_not_allowed',
  'method_not_allowed',
  'path_not_allowed',
])

export function couldBeGranted({ code }: ServiceError): boolean {
  return grantRefusals.has(code)
}

/** Undefined if no grant that could be asked for this way would cover the call. */
export function suggestedAccess(
  { code }: ServiceError,
  provider: { slug: string | null; preset: string | null; apiHosts: readonly string[] } | null | undefined,
  { destination: { url, host, path }, method }: { destination: Destination; method: string },
): SuggestedAccess | undefined {
  if (!grantRefusals.has(code) || !provider?.slug) return undefined
  if (!provider.apiHosts.some((entry) => matchesHost(entry, host))) return undefined
  const { batches } = presetRulesAt(url.hostname, provider.preset)
  const readings = readingsOf(path)
  // A grant with a method limit, like this one, never covers a batch.
  if (batches.some((rule) => matchesRule(rule, readings, [method]))) return undefined
  return { provider: provider.slug, hosts: [host], methods: [method] }
}

/** The same refusal, with the access to ask for. */
export function withSuggestedAccess(error: ServiceError, wanted: SuggestedAccess | undefined): ServiceError {
  return wanted ? Object.assign(error, { extra: { access_request: wanted } }) : error
}
