/** How records are shown. An agent sees what it did itself and what came of it, not who stood on the other side. */
import type { AuditEvent, AuditOutcome, AuditRecord } from '@sallyport/protocol/audit'
import type { RecordRow } from '../audit/audit-hash.ts'
import type { ListedRecord } from './audit-list-store.ts'

/** That somebody muted or blocked it is nothing that an agent is told. */
export const agentEvents = [
  'agent.registered',
  'agent.token_rotated',
  'agent.disabled',
  'provider.proposed',
  'access_request.created',
  'access_request.approved',
  'access_request.denied',
  'access_request.cancelled',
  'grant.revoked',
  'callback.delivered',
  'callback.failed',
  'sandbox.started',
  'proxy.attempt',
  'proxy.refused',
] as const satisfies AuditEvent[]

/** Of all but its calls an agent is shown these facts alone: no device, no account, no signature. */
const agentFacts = new Set(['access_request_id', 'provider_id', 'provider', 'slug', 'by', 'delivery_id', 'host'])
for (const name of ['attempts', 'error', 'name']) agentFacts.add(name)

export function auditView(
  record: ListedRecord,
  isForAgent: boolean,
  agentNames: ReadonlyMap<string, string>,
): AuditRecord {
  const isCall = record.event.startsWith('proxy.')
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
    detail: shown ? Object.fromEntries(shown) : detail,
    outcome: outcomeOf(record, outcome),
    concluded_at: outcome ? timeOf(outcome) : null,
    result: outcome ? factsOf(outcome) : null,
    hops: record.followUps
      .filter(({ event }) => event === 'proxy.hop')
      .map((hop) => ({ at: timeOf(hop), detail: factsOf(hop) })),
  }
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

/** Whoever can write to the database can write what is no JSON; verify finds it, and reading goes on. */
function factsOf({ detail }: RecordRow): Record<string, unknown> {
  try {
    return JSON.parse(detail) as Record<string, unknown>
  } catch {
    return { unreadable: detail }
  }
}
