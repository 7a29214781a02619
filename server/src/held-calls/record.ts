import type { AuditEvent } from '@sallyport/protocol/audit'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Queries } from '../platform/database/database.ts'
import type { HeldCall } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface RecordNeeds {
  grants: GrantStore
  heldCallStore: HeldCallStore
  audit: AuditWriter
}

interface Event {
  event: Extract<AuditEvent, 'proxy.approved' | 'proxy.denied' | 'proxy.expired' | 'proxy.cancelled'>
  detail: NonNullable<AuditRecord['detail']>
  now: Date
  requestId?: string
}

const maxPath = 1024

/** Records what became of a call, in the transaction in which it did. Of its URL no values of the query. */
export async function recordCall(
  { grants, heldCallStore, audit }: RecordNeeds,
  tx: Queries,
  call: HeldCall,
  { event, detail, now, requestId }: Event,
): Promise<void> {
  const { callId, agentId, userId, grantId } = call
  const { description } = await heldCallStore.openShown(tx, call)
  const { host, pathname } = new URL(description.url)
  const described = (await grants.describe(tx, [grantId])).get(grantId)
  await audit.append(tx, {
    ...{ event, at: now, requestId, agentId, userId, grantId, isKeptBriefly: false },
    connectionId: description.connection_id ?? undefined,
    provider: described?.providerSlug ?? undefined,
    detail: { method: description.method, host, path: pathname.slice(0, maxPath), call_id: callId, ...detail },
  })
}
