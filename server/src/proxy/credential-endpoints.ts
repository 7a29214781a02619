/** The provider's endpoints that issue, accept or revoke credentials. They are never proxied. */
import { memoizeByObject, memoizeByText } from '../platform/cache/memoize.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { compilePath, matchesRule } from '../providers/presets/api-path.ts'
import type { PathRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'

const members = [
  'token_endpoint',
  'authorization_endpoint',
  'device_authorization_endpoint',
  'pushed_authorization_request_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'registration_endpoint',
] as const satisfies (keyof Metadata)[]

/**
 * At its own host an endpoint includes every path below it, because some servers treat the rest of the path as a
 * parameter. Other hosts of the provider are often the same server: there exactly that path is refused. An endpoint at
 * the root matches only the root.
 */
export function isCredentialEndpoint(
  metadata: Metadata,
  call: { hostname: string; readings: readonly PathReading[] },
): boolean {
  return endpointsOf(metadata).some(({ hostname, rules }) =>
    rules.some((rule) => isAt(rule, hostname === call.hostname, call.readings)),
  )
}

function isAt(rule: PathRule, isItsHost: boolean, readings: readonly PathReading[]): boolean {
  const isRoot = rule.parts.length === 0
  if (isRoot && !isItsHost) return false
  if (!isRoot && isItsHost) return matchesRule(rule, readings, undefined)
  const whole = readings.filter(({ segments }) => segments.length === rule.parts.length)
  return matchesRule(rule, whole, undefined)
}

/** The metadata object is the same for all calls while the provider is unchanged. */
const endpointsOf = memoizeByObject((metadata: Metadata) =>
  endpointsIn(members.map((member) => metadata[member] ?? '').join(' ')),
)

const endpointsIn = memoizeByText((text) =>
  text
    .split(' ')
    .filter((url) => url !== '')
    .map((url) => {
      const { hostname, pathname } = new URL(url)
      const paths = readingsOf(pathname).map(({ segments }) => segments.join('/'))
      return { hostname, rules: [...new Set(paths)].map((path) => compilePath({ path })) }
    }),
)
