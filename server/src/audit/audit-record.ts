import type { AuditEvent, AuditOutcome } from '@sallyport/protocol/audit'

/** How far the time in an audit_id may differ from the time of its record. */
export const idSlackMs = 600_000

/** A plain value, or a document such as a receipt. */
type Fact = string | number | boolean | null | string[] | Readonly<Record<string, unknown>>

export interface AuditRecord {
  /** Given if the record belongs to an earlier one; otherwise it gets its own. */
  auditId?: string
  /**
   * It goes onto a chain of records with a shorter retention. Default: whether an agent that no user has approved caused
   * it (kept-briefly.ts).
   */
  isKeptBriefly?: boolean
  event: AuditEvent
  at: Date
  requestId?: string | undefined
  agentId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  connectionId?: string | undefined
  /** The provider's slug. */
  provider?: string | undefined
  /** How the recorded event ended, if it is known. */
  outcome?: Exclude<AuditOutcome, 'unknown'> | undefined
  /** Details of the event. Never a credential, a query value or a body. */
  detail?: Record<string, Fact>
}
