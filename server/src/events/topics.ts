/** What a record on the log means for those who listen: which of their lists have changed. */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { EventTopic } from '@sallyport/protocol/events'

interface Meaning {
  topics: readonly EventTopic[]
  /** It is of no user, and changes what every user sees. */
  isForAll?: true
}

const nothing: Meaning = { topics: [] }
const providers: Meaning = { topics: ['providers'], isForAll: true }
const connections: Meaning = { topics: ['connections'] }
const requests: Meaning = { topics: ['access_requests'] }
const devices: Meaning = { topics: ['devices'] }
const me: Meaning = { topics: ['me'] }
const sessions: Meaning = { topics: ['sessions'] }
const muted: Meaning = { topics: ['muted_agents', 'access_requests'] }

const meanings: Record<AuditEvent, Meaning> = {
  'agent.registered': nothing,
  'agent.token_rotated': nothing,
  'agent.disabled': { topics: ['access_requests', 'grants'], isForAll: true },
  'user.disabled': me,
  'login_token.issued': nothing,
  'session.started': sessions,
  'session.revoked': sessions,
  'provider.created': providers,
  'provider.proposed': providers,
  'provider.updated': providers,
  'provider.credentials_changed': providers,
  'provider.rediscovered': providers,
  'provider.enabled': providers,
  'provider.disabled': providers,
  'provider.deleted': providers,
  'connection.created': connections,
  'connection.renewed': connections,
  'connection.refused': connections,
  'connection.refreshed': connections,
  'connection.needs_reauth': connections,
  'connection.revoked': { topics: ['connections', 'grants'] },
  'connection.revoked_remotely': connections,
  'user.created': nothing,
  'identity.linked': nothing,
  'access_request.created': requests,
  'access_request.approved': { topics: ['access_requests', 'grants'] },
  // Its agent is mute for a while.
  'access_request.denied': muted,
  'access_request.cancelled': requests,
  'grant.revoked': { topics: ['grants'] },
  'pairing_code.issued': nothing,
  'device.paired': devices,
  'device.enrolled': devices,
  'device.revoked': devices,
  'device_approval.required': me,
  'device_approval.lifted': me,
  'device_approval.reset': me,
  'agent.blocked': muted,
  'agent.unmuted': muted,
  'callback.delivered': nothing,
  'callback.failed': nothing,
  'sandbox.started': nothing,
  // Counts and times of use change with each call; whoever shows them goes by the activity.
  'proxy.attempt': nothing,
  'proxy.hop': nothing,
  'proxy.outcome': nothing,
  'proxy.refused': nothing,
  'v1.registered': nothing,
  'v1.refreshed': nothing,
  'v1.key_rotated': nothing,
  'v1.saved': nothing,
  'v1.read': nothing,
  'v1.service_key_rotated': nothing,
  'keys.rotated': nothing,
  'audit.chain_started': nothing,
}

/** The lists that a device may read. */
export const deviceTopics: ReadonlySet<EventTopic> = new Set([
  'access_requests',
  'connections',
  'devices',
  'providers',
  'me',
])

/** For the user whom a record names: it is itself a part of their activity. */
export function topicsForUser(event: AuditEvent): readonly EventTopic[] {
  return [...meanings[event].topics, 'activity']
}

/** For everybody. */
export function topicsForAll(event: AuditEvent): readonly EventTopic[] {
  const { topics, isForAll = false } = meanings[event]
  return isForAll ? topics : []
}

/** Events after which somebody who listens may have to be turned away. */
export const endsSessions: ReadonlySet<AuditEvent> = new Set(['user.disabled', 'session.revoked', 'device.revoked'])
