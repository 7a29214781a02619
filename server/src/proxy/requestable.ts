/** A refusal shows the way: what the agent would have to ask for, ready to be posted to /v4/access-requests. */
import type { ErrorCode } from '@sallyport/protocol/errors'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'

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

/** Undefined where no grant that one could ask for would cover the call. */
export function requestable(
  provider: { slug: string | null; apiHosts: readonly string[] } | undefined | null,
  call: { host: string; method: string },
): AccessWanted | undefined {
  if (!provider?.slug || !provider.apiHosts.some((entry) => matchesHost(entry, call.host))) return undefined
  return { provider: provider.slug, hosts: [call.host], methods: [call.method] }
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
