/** How records are shown. An agent sees what it did and the results, not who the user is. */
import { callDoors } from '@sallyport/protocol/audit'
import type { AuditEvent, AuditOutcome, AuditRecord } from '@sallyport/protocol/audit'
import type { RecordRow } from '../audit/audit-hash.ts'
import type { ListedRecord } from './audit-list-store.ts'

/** Not that a user muted or blocked it. */
export const agentEvents = [
  'agent.registered',
  'agent.token_rotated',
  'agent.disabled',
  'agent.enabled',
  'provider.proposed',
  'access_request.created',
  'access_request.approved',
  'access_request.denied',
  'access_request.cancelled',
  'grant.changed',
  'grant.revoked',
  'callback.delivered',
  'callback.failed',
  'sandbox.started',
  'tool_key.created',
  'tool_key.revoked',
  'proxy.attempt',
  'proxy.refused',
  'proxy.held',
  'proxy.approved',
  'proxy.denied',
  'proxy.expired',
  'proxy.cancelled',
] as const satisfies AuditEvent[]

/** Details that an agent is shown of records other than its calls: no device, account or signature. */
const agentFacts = new Set(['access_request_id', 'provider_id', 'provider', 'slug', 'by', 'delivery_id', 'host'])
for (const name of ['attempts', 'error', 'name']) agentFacts.add(name)
// Of a key for tools.
for (const name of ['key_id', 'expires_at']) agentFacts.add(name)
// Of a call that waited: not how it was decided.
for (const name of ['call_id', 'method', 'path', 'access', 'term', 'code', 'door']) agentFacts.add(name)

export function auditView(
  record: ListedRecord,
  isForAgent: boolean,
  agentNames: ReadonlyMap<string, string>,
): AuditRecord {
  const isCall = record.event === 'proxy.attempt' || record.event === 'proxy.refused'
  const detail = factsOf(record)
  const shown = isForAgent && !isCall ? Object.entries(detail).filter(([name]) => agentFacts.has(name)) : undefined
  const outcome = record.followUps.find(({ event }) => event === 'proxy.outcome')
  return {
    audit_id: record.audit_id,
    event: record.event as AuditRecord['event'],
    at: timeOf(record),
    request_id: record.request_id,
    agent_id: record.agent_id,
    agent_name: agentNames.get(record.agent_id ?? '') ?? null,
    user_id: isForAgent ? null : record.user_id,
    grant_id: record.grant_id,
    connection_id: record.connection_id,
    provider: record.provider,
    door: doorOf(record, detail),
    detail: shown ? Object.fromEntries(shown) : detail,
    outcome: outcomeOf(record, outcome),
    concluded_at: outcome ? timeOf(outcome) : null,
    result: outcome ? factsOf(outcome) : null,
    hops: record.followUps
      .filter(({ event }) => event === 'proxy.hop')
      .map((hop) => ({ at: timeOf(hop), detail: factsOf(hop) })),
  }
}

/** Records of calls to `POST /v4/proxy` don't name it, nor do those from before there were others. */
function doorOf({ event }: RecordRow, { door, method }: Record<string, unknown>): AuditRecord['door'] {
  if (!event.startsWith('proxy.')) return null
  return callDoors.find((one) => one === door) ?? (method === undefined ? null : 'proxy')
}

function outcomeOf(record: RecordRow, outcome: RecordRow | undefined): AuditOutcome | null {
  const said = (outcome?.outcome ?? record.outcome) as AuditOutcome | null
  if (said !== null) return said
  if (record.event === 'proxy.attempt') return 'unknown'
  return record.event === 'proxy.refused' ? 'refused' : null
}

function timeOf({ at }: RecordRow): string {
  return new Date(at).toISOString()
}

/** Somebody may have put invalid JSON into the database. `audit verify` finds it; reading continues. */
function factsOf({ detail }: RecordRow): Record<string, unknown> {
  try {
    return JSON.parse(detail) as Record<string, unknown>
  } catch {
    return { unreadable: detail }
  }
}
