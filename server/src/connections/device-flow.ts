import { ServiceError } from '../platform/errors.ts'
import type { Secret } from '../platform/secret.ts'
import type { Provider } from '../providers/provider.ts'
import { siteOf } from '../providers/site.ts'

/** A person was shown a code to enter elsewhere (RFC 8628), and asks us now and then how far it is. */
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

/** A provider's numbers, within what a person can live with. */
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
 * It is shown as a link, so it must lead to a page; and for a provider that an agent proposed, to a page of its own: it
 * could otherwise have somebody enter, at a site they trust, a code that stands for the agent's own request there.
 */
export function judgeVerificationUri({ source, metadata }: Provider, uri: string): string {
  const url = URL.parse(uri)
  const isPage = url?.protocol === 'https:' && url.username === '' && url.password === ''
  if (!isPage || (source === 'proposal' && siteOf(url) !== siteOf(new URL(metadata.issuer)))) {
    throw new ServiceError('provider_unavailable', { detail: 'the verification address is not one that can be shown' })
  }
  return url.href
}
