/**
 * Whether a call may be made: pure, and judged again for every hop and every retry. It trusts nothing of the call but
 * that its URL is the one that will be sent.
 */
import { assertGrantCovers } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { Destination } from './destination.ts'
import type { HeaderList } from './upstream.ts'

/** What the provider behind the grant, and the connection, have to say. */
export interface ProviderRules {
  metadata: Metadata
  preset: string | null
  apiHosts: string[]
  /** The one host that the connection's token may go to; null for all of the provider's. */
  apiHost: string | null
  /** The header that the credential goes into. */
  injects: string
  allowRange: boolean
}

export interface JudgedCall {
  destination: Destination
  method: string
  /** As they would go out. */
  headers: HeaderList
  body: Buffer | undefined
}

/** `rules` are undefined in the sandbox, which no provider stands behind. */
export function assertMayCall(grant: Grant, rules: ProviderRules | undefined, call: JudgedCall, now: Date): void {
  const { host, path } = call.destination
  assertGrantCovers(grant, { host, method: call.method, path }, now)
  if (rules && !rules.apiHosts.some((entry) => matchesHost(entry, host))) {
    throw new ServiceError('host_not_allowed', { field: 'url' })
  }
}
