/** A refusal shows the way: what the agent would have to ask for, ready to be posted to /v4/access-requests. */
import type { ErrorCode } from '@sallyport/protocol/errors'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { Destination } from './destination.ts'

export interface AccessWanted {
  provider: string
  hosts: string[]
  methods: string[]
}

/** Another grant could lift these. */
const liftable: ReadonlySet<ErrorCode> = new Set([
  'grant_expired',
  'grant_exhausted',
  'grant_not_found',
  'grant_revoked',
  'host_not_allowed',
  'method_not_allowed',
  'path_not_allowed',
])

export function isLiftable({ code }: ServiceError): boolean {
  return liftable.has(code)
}

/** Undefined where no grant that one could ask for in this way would cover the call. */
export function requestable(
  { code }: ServiceError,
  provider: { slug: string | null; preset: string | null; apiHosts: readonly string[] } | null | undefined,
  { destination: { url, host, path }, method }: { destination: Destination; method: string },
): AccessWanted | undefined {
  if (!liftable.has(code) || !provider?.slug) return undefined
  if (!provider.apiHosts.some((entry) => matchesHost(entry, host))) return undefined
  const { batches } = presetRulesAt(url.hostname, provider.preset)
  const readings = readingsOf(path)
  // A limit of methods is just what keeps a batch from being covered.
  if (batches.some((rule) => matchesRule(rule, readings, [method]))) return undefined
  return { provider: provider.slug, hosts: [host], methods: [method] }
}

/** The same refusal, with the way in it. */
export function showingTheWay(error: ServiceError, wanted: AccessWanted | undefined): ServiceError {
  if (!wanted) return error
  const { code, field, publicMessage, detail, retryAfterSeconds } = error
  return new ServiceError(code, {
    ...(field !== undefined && { field }),
    ...(publicMessage !== undefined && { message: publicMessage }),
    ...(detail !== undefined && { detail }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    extra: { access_request: wanted },
    cause: error,
  })
}
