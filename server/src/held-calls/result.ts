import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Held } from '../proxy/holding.ts'
import type { Idempotency } from '../proxy/idempotency-store.ts'
import { errorOf, hasEnded, retriedForMs } from './held-call.ts'
import type { HeldCall } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface ResultNeeds {
  database: Database
  idempotency: Pick<Idempotency, 'forgetRetries'>
  heldCallStore: HeldCallStore
  clock: Clock
}

/** The response of a held call if there is one by now. Throws the error that it ended with. */
export async function resultOf(needs: ResultNeeds, agentId: string, callId: string): Promise<Held> {
  return resultIn(needs, await ownCall(needs, agentId, callId))
}

/**
 * The same for a tool, whose next call like it is a new one. A denial is kept for a while: most tools try again whatever
 * they are answered.
 */
export async function collectResult(needs: ResultNeeds, agentId: string, callId: string): Promise<Held> {
  const call = await ownCall(needs, agentId, callId)
  if (hasEnded(call) && call.status !== 'denied') {
    await needs.database.transaction((tx) => needs.idempotency.forgetRetries(tx, callId))
  }
  return resultIn(needs, call)
}

async function ownCall({ database, heldCallStore, clock }: ResultNeeds, agentId: string, callId: string) {
  const call = await heldCallStore.find(database.queries, callId, clock())
  if (call?.agentId !== agentId) throw new ServiceError('not_found')
  return call
}

async function resultIn({ database, heldCallStore }: ResultNeeds, call: HeldCall): Promise<Held> {
  const { callId, expiresAt, status } = call
  if (!hasEnded(call)) return { kind: 'held', callId, expiresAt }
  const envelope = status === 'done' ? await heldCallStore.openResponse(database.queries, call) : undefined
  if (!envelope) throw errorOf(call)
  return { kind: 'stored', envelope }
}

/** Whether it was decided too long ago for a tool that calls now to mean the same call. */
export async function isPast({ database, heldCallStore, clock }: ResultNeeds, callId: string): Promise<boolean> {
  const now = clock()
  const call = await heldCallStore.find(database.queries, callId, now)
  return !call || (hasEnded(call) && (call.decidedAt?.getTime() ?? 0) <= now.getTime() - retriedForMs)
}
