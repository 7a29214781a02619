/**
 * Anyone can register an agent. What agents cause without any user's approval goes onto the chain with the shorter
 * retention, so that they can't fill the disk for good.
 */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { Queries } from '../platform/database/database.ts'
import type { AuditRecord } from './audit-record.ts'

export interface KeptBrieflyNeeds {
  /** Whether a user has ever approved this agent. */
  isApproved: (queries: Queries, agentId: string) => Promise<boolean>
}

/** Events that agents can cause by themselves. */
const causedByAgents: ReadonlySet<AuditEvent> = new Set<AuditEvent>([
  'agent.registered',
  'agent.token_rotated',
  'provider.proposed',
  'access_request.created',
  'access_request.cancelled',
  'callback.delivered',
  'callback.failed',
  'sandbox.started',
])

/** The same, unless a user did it. */
const causedByEither: ReadonlySet<AuditEvent> = new Set<AuditEvent>(['access_request.approved', 'grant.revoked'])

export async function isKeptBriefly(
  { isApproved }: KeptBrieflyNeeds,
  queries: Queries,
  { isKeptBriefly: given, event, agentId, userId }: AuditRecord,
): Promise<boolean> {
  if (given !== undefined || agentId === undefined) return given ?? false
  const isCausedByAgent = causedByAgents.has(event) || (causedByEither.has(event) && userId === undefined)
  return isCausedByAgent && !(await isApproved(queries, agentId))
}
