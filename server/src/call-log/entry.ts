import type { AuditRecord } from '../audit/audit-record.ts'
import { useMarkedEveryMs } from '../connections/connection.ts'
import { recordedNames } from '../grants/standing.ts'
import type { Standing } from '../grants/standing.ts'
import type { Rate } from './prepaid-calls.ts'

/** What the log needs to know of a call. */
export interface LoggedCall {
  agentId: string
  /** Hash of the token that the call came with. */
  tokenHash: Buffer
  standing: Standing
  auditId: string
  requestId: string
  destination: { host: string }
  route: { rate?: Rate }
  /** What is recorded of its destination. */
  facts: NonNullable<AuditRecord['detail']>
}

/** One record of a call. */
export interface Entry {
  call: LoggedCall
  kind: 'begin' | 'redirect' | 'token_renewed' | 'end'
  outcome?: 'answered' | 'failed'
  detail: NonNullable<AuditRecord['detail']>
}

/** Whether it counts against the grant and the rate. A retry with a renewed token belongs to a counted request. */
export function isCounted({ kind }: Entry): boolean {
  return kind === 'begin' || kind === 'redirect'
}

/** Whether it is sent after a wait for the upstream, so that authority has to be checked again. */
export function isHop({ kind }: Entry): boolean {
  return kind === 'redirect' || kind === 'token_renewed'
}

const events = {
  begin: 'proxy.attempt',
  redirect: 'proxy.hop',
  token_renewed: 'proxy.hop',
  end: 'proxy.outcome',
} as const

export function toRecord({ call, kind, outcome, detail }: Entry, at: Date): AuditRecord {
  const { auditId, requestId, agentId, standing } = call
  return { auditId, event: events[kind], at, requestId, agentId, ...recordedNames(standing), outcome, detail }
}

/** Connections of these calls whose time of last use is due to be updated. */
export function connectionsToMark(calls: readonly LoggedCall[], at: Date): NonNullable<Standing['connection']>[] {
  const before = at.getTime() - useMarkedEveryMs
  return calls.flatMap(({ standing: { connection } }) =>
    connection && (connection.lastUsedAt?.getTime() ?? 0) < before ? [connection] : [],
  )
}
