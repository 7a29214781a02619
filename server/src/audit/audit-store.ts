import type { Queries } from '../platform/database/database.ts'
import type { Sequence } from '../platform/database/tables.ts'
import { newId } from '../platform/ids.ts'
import { redacted } from '../platform/secret.ts'
import { issuedTokenPattern } from '../platform/tokens.ts'
import type { AuditEvent, AuditRecord } from './audit-record.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    audit_records: {
      sequence: Sequence
      audit_id: string
      event: AuditEvent
      at: number
      request_id: string | null
      agent_id: string | null
      user_id: string | null
      grant_id: string | null
      detail: string
    }
  }
}

/** Records are appended, in the transaction of what they tell of, and never changed. */
export const auditStore = {
  append: async (tx: Queries, record: AuditRecord): Promise<string> => {
    const auditId = record.auditId ?? newId('aud', record.at)
    await tx
      .insertInto('audit_records')
      .values({
        audit_id: auditId,
        event: record.event,
        at: record.at.getTime(),
        request_id: record.requestId ?? null,
        agent_id: record.agentId ?? null,
        user_id: record.userId ?? null,
        grant_id: record.grantId ?? null,
        // A path can hold a token that its caller put there by mistake.
        detail: JSON.stringify(record.detail ?? {}).replaceAll(issuedTokenPattern, redacted),
      })
      .execute()
    return auditId
  },
}

export type AuditStore = typeof auditStore
