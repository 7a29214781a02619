/** The rows of held calls, and the status that each has now. */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { CallStatus } from '@sallyport/protocol/calls'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type {} from '../agents/agent-store.ts'
import { isOver, isRevoked } from '../grants/grant-foundation-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'
import { startWithinMs } from './held-call.ts'
import type { CallError, Decision, HeldCall } from './held-call.ts'

interface Row {
  call_id: string
  agent_id: string
  user_id: string
  grant_id: string
  token_hash: Uint8Array
  digest: string
  access: AccessClass
  term: string
  /** As written. What has expired or ended since is computed when read. */
  status: CallStatus
  request: Uint8Array | null
  request_key_id: string | null
  shown: Uint8Array | null
  shown_key_id: string | null
  response: Uint8Array | null
  response_key_id: string | null
  /** Of the sealed request or response. */
  size: number
  created_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  decision: string | null
  denial_reason: string | null
  audit_id: string | null
  /** A running call is certainly over by then. */
  deadline: number | null
  ended_at: number | null
  upstream_status: number | null
  is_sent: 0 | 1
  error: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    held_calls: Row
  }
}

export const columns = [
  ...(['call_id', 'agent_id', 'user_id', 'grant_id', 'token_hash', 'digest', 'access', 'term', 'created_at'] as const),
  ...(['expires_at', 'decided_at', 'decided_by', 'decision', 'denial_reason', 'audit_id'] as const),
  ...(['upstream_status', 'is_sent', 'error'] as const),
].map((name) => `held_calls.${name}` as const)

/** What the call stands on has ended: usable.ts, in SQL. One that needs a new sign-in at the provider can be decided later. */
const isCutOff = (now: Date) => sql<boolean>`(${isRevoked} or ${isOver(now)}
  or coalesce(providers.status <> 'active', false)
  or agents.disabled_at is not null or agents.token_hash <> held_calls.token_hash)`

export const statusNow = (now: Date): RawBuilder<CallStatus> => sql<CallStatus>`case
  when held_calls.status in ('waiting', 'approved') and ${isCutOff(now)} then 'cancelled'
  when held_calls.status = 'waiting' and held_calls.expires_at <= ${now.getTime()} then 'expired'
  when held_calls.status = 'approved' and held_calls.decided_at <= ${now.getTime() - startWithinMs} then 'expired'
  when held_calls.status = 'running' and held_calls.deadline <= ${now.getTime()} then 'unknown'
  else held_calls.status end`

/** The statuses that a call may be written with if this is its status now. */
export const writtenAs: Record<CallStatus, readonly CallStatus[]> = {
  waiting: ['waiting'],
  approved: ['approved'],
  running: ['running'],
  done: ['done'],
  denied: ['denied'],
  expired: ['expired', 'waiting', 'approved'],
  cancelled: ['cancelled', 'waiting', 'approved'],
  unknown: ['unknown', 'running'],
}

/** Calls with everything that their status depends on. */
export function calls(queries: Queries) {
  return queries
    .selectFrom('held_calls')
    .innerJoin('agents', 'agents.agent_id', 'held_calls.agent_id')
    .innerJoin('grants', 'grants.grant_id', 'held_calls.grant_id')
    .innerJoin('grant_usage', 'grant_usage.grant_id', 'grants.grant_id')
    .leftJoin('connections', 'connections.connection_id', 'grants.connection_id')
    .leftJoin('providers', 'providers.provider_id', 'connections.provider_id')
    .leftJoin('users', 'users.user_id', 'grants.user_id')
}

export type ReadRow = Omit<
  Row,
  | 'status'
  | 'request'
  | 'request_key_id'
  | 'shown'
  | 'shown_key_id'
  | 'response'
  | 'response_key_id'
  | 'size'
  | 'deadline'
  | 'ended_at'
> & {
  status_now: CallStatus
}

export function toHeldCall(row: ReadRow): HeldCall {
  return {
    callId: row.call_id,
    agentId: row.agent_id,
    userId: row.user_id,
    grantId: row.grant_id,
    tokenHash: Buffer.from(row.token_hash),
    digest: row.digest,
    access: row.access,
    term: row.term,
    status: row.status_now,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    decidedAt: fromTime(row.decided_at),
    decidedBy: row.decided_by,
    decision: row.decision === null ? null : (JSON.parse(row.decision) as Decision),
    denialReason: row.denial_reason,
    auditId: row.audit_id,
    upstreamStatus: row.upstream_status,
    isSent: row.is_sent === 1,
    error: row.error === null ? null : (JSON.parse(row.error) as CallError),
  }
}
