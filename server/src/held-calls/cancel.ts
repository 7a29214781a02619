import type { Agent } from '../agents/agent.ts'
import { ServiceError } from '../platform/errors.ts'
import { hasEnded } from './held-call.ts'
import type { HeldCall } from './held-call.ts'
import { neverMade } from './settle.ts'
import type { SettleNeeds } from './settle.ts'

/** Its agent gives the call up. Idempotent; a call that is being made, or was, can't be cancelled. */
export async function cancelCall(
  needs: SettleNeeds,
  { agentId }: Agent,
  callId: string,
  requestId: string,
): Promise<HeldCall> {
  const { database, heldCallStore, heldMetrics, waiting, clock } = needs
  const { call, isCancelled } = await database.transaction(async (tx) => {
    const now = clock()
    const found = await heldCallStore.lock(database, tx, callId, now)
    if (found?.agentId !== agentId) throw new ServiceError('not_found')
    if (found.status === 'cancelled') return { call: found, isCancelled: false }
    const isCancelled =
      !hasEnded(found) && (await heldCallStore.end(tx, callId, ['waiting', 'approved'], 'cancelled', now))
    if (!isCancelled) throw new ServiceError('call_not_waiting')
    await neverMade(needs, tx, found, { status: 'cancelled', detail: { by: 'agent' }, now, requestId })
    return { call: (await heldCallStore.find(tx, callId, now)) ?? found, isCancelled }
  })
  if (isCancelled) {
    heldMetrics.onEvent('cancelled')
    waiting.tell(callId)
  }
  return call
}
