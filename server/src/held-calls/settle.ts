/** Writes down what time, or the end of what a call stands on, has made of it. */
import type { PushStore } from '../devices/push-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/operations/log.ts'
import type { Idempotency } from '../proxy/idempotency-store.ts'
import type { CallError, HeldCall } from './held-call.ts'
import type { HeldMetrics } from './held-metrics.ts'
import { dropPushesWithoutCalls } from './notify.ts'
import { recordCall } from './record.ts'
import type { RecordNeeds } from './record.ts'
import type { Waiting } from './waiting.ts'

interface NeverMadeNeeds extends RecordNeeds {
  idempotency: Idempotency
  pushes: PushStore
}

export interface SettleNeeds extends NeverMadeNeeds {
  database: Database
  heldMetrics: HeldMetrics
  waiting: Waiting
  clock: Clock
}

/** Settles all calls that have expired, were cut off, or whose process crashed. */
export async function settleHeldCalls(needs: SettleNeeds & { log: Log }): Promise<void> {
  const { database, heldCallStore, clock } = needs
  for (;;) {
    const calls = await heldCallStore.listToSettle(database.queries, clock())
    let settled = 0
    for (const { callId } of calls) if (await settleUnlessBroken(needs, callId)) settled++
    // What another instance settles is none of ours.
    if (settled === 0) return
  }
}

/** One call that can't be settled, such as one whose key is lost, does not keep the others. */
async function settleUnlessBroken(needs: SettleNeeds & { log: Log }, callId: string): Promise<boolean> {
  try {
    return await settle(needs, callId)
  } catch (error) {
    needs.log.error({ err: error, call_id: callId }, 'a held call could not be settled')
    return false
  }
}

/** False if there was nothing to settle. */
export async function settle(needs: SettleNeeds, callId: string): Promise<boolean> {
  const { database, heldCallStore, clock } = needs
  const settled = await database.transaction(async (tx) => {
    const now = clock()
    const call = await heldCallStore.lock(database, tx, callId, now)
    if (!call) return undefined
    const { status } = call
    if (status === 'unknown') {
      return (await heldCallStore.end(tx, callId, ['running'], 'unknown', now, { isSent: true })) && call
    }
    if (status !== 'expired' && status !== 'cancelled') return undefined
    if (!(await heldCallStore.end(tx, callId, ['waiting', 'approved'], status, now))) return undefined
    await neverMade(needs, tx, call, { status, detail: {}, now })
    return call
  })
  if (!settled) return false
  if (settled.status === 'expired' || settled.status === 'cancelled') needs.heldMetrics.onEvent(settled.status)
  needs.waiting.tell(callId)
  return true
}

/**
 * For an approved call that was refused when it was about to be made: cancelled if what it stands on has ended, otherwise
 * done, with the reason. Does nothing if it was made.
 */
export async function settleUnsent(needs: SettleNeeds, { callId }: HeldCall, { code, publicMessage }: ServiceError) {
  // It is tried again as long as it may start.
  if (code === 'not_ready' || code === 'busy') return
  if (await settle(needs, callId)) return
  const error: CallError = publicMessage === undefined ? { code } : { code, message: publicMessage }
  await needs.database.transaction(async (tx) => {
    const isSettled = await needs.heldCallStore.end(tx, callId, ['approved'], 'done', needs.clock(), { error })
    if (isSettled) await needs.idempotency.forgetHeld(tx, callId)
  })
}

type Ending = Pick<Parameters<typeof recordCall>[3], 'detail' | 'now' | 'requestId'> & {
  status: 'expired' | 'cancelled'
}

/** Part of the transaction in which a call ends that will not be made. */
export async function neverMade(needs: NeverMadeNeeds, tx: Queries, call: HeldCall, ending: Ending): Promise<void> {
  const { status, ...how } = ending
  await needs.idempotency.forgetHeld(tx, call.callId)
  await dropPushesWithoutCalls(needs, tx, call.userId, how.now)
  await recordCall(needs, tx, call, { event: `proxy.${status}`, ...how })
}
