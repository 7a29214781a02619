import { ServiceError } from '../platform/errors.ts'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { isVerified, metadataOf } from '../providers/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { siteOf } from '../providers/site.ts'

/**
 * A device flow (RFC 8628): the user enters a code at the provider, and their client polls this service for the result.
 */
export interface DeviceFlow {
  deviceFlowId: string
  userId: string
  providerId: string
  connectionId: string | null
  scopes: string[]
  deviceCode: Secret
  intervalSeconds: number
  nextPollAt: Date
  createdAt: Date
  expiresAt: Date
  outcome: DeviceFlowOutcome | null
  madeConnectionId: string | null
}

export type DeviceFlowOutcome = 'denied' | 'expired' | 'connected'
export type DeviceFlowStatus = DeviceFlowOutcome | 'pending' | 'slow_down'

/** RFC 8628 §3.5 */
export const slowDownSeconds = 5

const longestIntervalSeconds = 300
const longestLifetimeSeconds = 3600

/** The provider's interval and lifetime, limited to reasonable values. */
export function boundedSchedule(
  intervalSeconds: number,
  lifetimeSeconds: number,
): { interval: number; lifetime: number } {
  return {
    interval: Math.min(Math.max(Math.ceil(intervalSeconds) || 5, 1), longestIntervalSeconds),
    lifetime: Math.min(Math.max(Math.floor(lifetimeSeconds) || 0, 0), longestLifetimeSeconds),
  }
}

/**
 * It is shown as a link, so it has to be the URL of a page. A provider that an agent proposed may send users to its own
 * site only: otherwise it could make them enter someone else's code at a provider that they trust.
 */
export function judgeVerificationUri(uri: string, provider: Provider): string {
  const url = uri.length <= 2000 ? URL.parse(uri) : null
  const isPage = url?.protocol === 'https:' || (url && isBesideConsentPage(url, provider))
  if (!isPage || url.username !== '' || url.password !== '') {
    throw new ServiceError('provider_unavailable', { detail: 'the verification address is no https URL' })
  }
  if (!isVerified(provider) && siteOf(url) !== siteOf(new URL(metadataOf(provider).issuer))) {
    throw new ServiceError('provider_unavailable', { detail: 'the verification address is of another site' })
  }
  return url.href
}

/** Only a consent page on this machine can use http. The page for codes may then use http too, on the same origin. */
function isBesideConsentPage({ protocol, origin }: URL, { metadata }: Provider): boolean {
  return protocol === 'http:' && URL.parse(metadata.authorization_endpoint ?? '')?.origin === origin
}

/** The code that the user reads and types (RFC 8628 §6.1). */
export function judgeUserCode(code: string): string {
  if (!/^[\x20-\x7e]{1,64}$/.test(code)) {
    throw new ServiceError('provider_unavailable', { detail: 'the user code is none that can be typed' })
  }
  return code
}

/** The same error for everything that can go wrong with a request to the provider: the client should try again. */
export function asUnavailable(error: unknown): unknown {
  const isKnown = error instanceof OAuthRefused || error instanceof OAuthAnswerInvalid || isUnavailable(error)
  return isKnown ? new ServiceError('provider_unavailable', { detail: error.message }) : error
}
