/**
 * What is put on record. A call's attempt and its outcome are two records with one audit_id; a hop is a further
 * attempt of the same call: a redirect that is followed, or the retry with a new token.
 */
export type AuditEvent =
  | 'agent.registered'
  | 'agent.token_rotated'
  | 'agent.disabled'
  | 'user.disabled'
  | 'login_token.issued'
  | 'session.started'
  | 'session.revoked'
  | 'provider.created'
  | 'provider.proposed'
  | 'provider.credentials_changed'
  | 'provider.rediscovered'
  | 'provider.enabled'
  | 'provider.disabled'
  | 'provider.deleted'
  | 'connection.created'
  | 'connection.renewed'
  | 'connection.refused'
  | 'connection.refreshed'
  | 'connection.needs_reauth'
  | 'connection.revoked'
  | 'connection.revoked_remotely'
  | 'user.created'
  | 'identity.linked'
  | 'access_request.created'
  | 'access_request.approved'
  | 'access_request.denied'
  | 'access_request.cancelled'
  | 'grant.revoked'
  | 'pairing_code.issued'
  | 'device.paired'
  | 'device.enrolled'
  | 'device.revoked'
  | 'device_approval.required'
  | 'device_approval.lifted'
  | 'device_approval.reset'
  | 'agent.blocked'
  | 'agent.unmuted'
  | 'callback.delivered'
  | 'callback.failed'
  | 'sandbox.started'
  | 'proxy.attempt'
  | 'proxy.hop'
  | 'proxy.outcome'
  | 'proxy.refused'
  | 'keys.rotated'
  | 'audit.chain_started'

/** Records that belong to an earlier one of the same audit_id, and are shown with it. */
export const followUps = ['proxy.hop', 'proxy.outcome'] as const satisfies AuditEvent[]

export type AuditOutcome = 'answered' | 'failed' | 'refused'

/** A plain value, or a whole document of ours, such as a receipt. */
type Fact = string | number | boolean | null | string[] | Readonly<Record<string, unknown>>

export interface AuditRecord {
  /** Given where a record belongs to an earlier one; otherwise it gets its own. */
  auditId?: string
  event: AuditEvent
  at: Date
  requestId?: string | undefined
  agentId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  connectionId?: string | undefined
  /** The provider's slug. */
  provider?: string | undefined
  /** How a call ended. An attempt without one, and without a `proxy.outcome` of its audit_id, ended nobody knows how. */
  outcome?: AuditOutcome | undefined
  /** Facts that belong to the event. Never a credential, a query value or a body. */
  detail?: Record<string, Fact>
}
