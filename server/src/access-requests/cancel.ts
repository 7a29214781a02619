import type { Agent } from '../agents/agent.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'

export interface CancelNeeds {
  database: Database
  accessRequests: AccessRequestStore
  callbacks: CallbackStore
  pushes: PushStore
  audit: AuditWriter
  clock: Clock
}

export async function cancelAccessRequest(
  { database, accessRequests, callbacks, pushes, audit, clock }: CancelNeeds,
  { agentId }: Agent,
  accessRequestId: string,
  requestId: string,
): Promise<AccessRequest> {
  return database.transaction(async (tx) => {
    const now = clock()
    const found = await accessRequests.lock(database, tx, accessRequestId)
    if (found?.agentId !== agentId) throw new ServiceError('not_found')
    if (found.status === 'cancelled') return found
    const cancelled = await accessRequests.end(tx, accessRequestId, { status: 'cancelled' }, now)
    if (!cancelled) throw new ServiceError('request_not_pending')
    await callbacks.dropOf(tx, [accessRequestId])
    await pushes.dropOf(tx, accessRequestId)
    const detail = { access_request_id: accessRequestId }
    const userId = found.userId ?? undefined
    await audit.append(tx, { event: 'access_request.cancelled', at: now, requestId, agentId, userId, detail })
    return cancelled
  })
}
