/** Maps each audit event to the lists that it changes. */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { EventTopic } from '@sallyport/protocol/events'

interface Meaning {
  topics: readonly EventTopic[]
  /** Belongs to no user and changes what every user sees. */
  isForAll?: true
}

const nothing: Meaning = { topics: [] }
const providers: Meaning = { topics: ['providers'], isForAll: true }
const connections: Meaning = { topics: ['connections'] }
const requests: Meaning = { topics: ['access_requests'] }
const devices: Meaning = { topics: ['devices'] }
const me: Meaning = { topics: ['me'] }
const sessions: Meaning = { topics: ['sessions'] }
const calls: Meaning = { topics: ['calls'] }
const muted: Meaning = { topics: ['muted_agents', 'access_requests'] }

const meanings: Record<AuditEvent, Meaning> = {
  'agent.registered': nothing,
  'agent.token_rotated': nothing,
  'agent.disabled': { topics: ['access_requests', 'grants'], isForAll: true },
  'agent.enabled': { topics: ['access_requests', 'grants'], isForAll: true },
  'user.disabled': me,
  'user.enabled': me,
  'agents.paused': me,
  'agents.resumed': me,
  'service.paused': { topics: ['me'], isForAll: true },
  'service.resumed': { topics: ['me'], isForAll: true },
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
  // Also mutes the agent for a while.
  'access_request.denied': muted,
  'access_request.cancelled': requests,
  'grant.changed': { topics: ['grants'] },
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
  // Call counts change with each call. Pages that show them use the activity topic.
  'proxy.attempt': nothing,
  'proxy.hop': nothing,
  'proxy.outcome': nothing,
  'proxy.refused': nothing,
  'proxy.held': calls,
  'proxy.approved': calls,
  'proxy.denied': calls,
  'proxy.expired': calls,
  'proxy.cancelled': calls,
  'repeat.revoked': calls,
  'tool_key.created': nothing,
  'tool_key.revoked': nothing,
  'v1.registered': nothing,
  'v1.refreshed': nothing,
  'v1.key_rotated': nothing,
  'v1.saved': nothing,
  'v1.read': nothing,
  'v1.service_key_rotated': nothing,
  'keys.rotated': nothing,
  'audit.chain_started': nothing,
  'database.restored': nothing,
}

/** Topics that a device may listen to. */
export const deviceTopics: ReadonlySet<EventTopic> = new Set([
  'access_requests',
  'calls',
  'connections',
  'devices',
  'providers',
  'me',
])

/** Topics for the user of a record, which is itself part of their activity. */
export function topicsForUser(event: AuditEvent): readonly EventTopic[] {
  return [...meanings[event].topics, 'activity']
}

/** Topics for all users. */
export function topicsForAll(event: AuditEvent): readonly EventTopic[] {
  const { topics, isForAll = false } = meanings[event]
  return isForAll ? topics : []
}

/** Events that may end the sessions of listeners. */
export const endsSessions: ReadonlySet<AuditEvent> = new Set(['user.disabled', 'session.revoked', 'device.revoked'])
