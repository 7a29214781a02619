import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Held } from '../proxy/holding.ts'
import { errorOf, hasEnded } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface ResultNeeds {
  database: Database
  heldCallStore: HeldCallStore
  clock: Clock
}

/** The response of a held call if there is one by now. Throws the error that it ended with. */
export async function resultOf(
  { database, heldCallStore, clock }: ResultNeeds,
  agentId: string,
  callId: string,
): Promise<Held> {
  const call = await heldCallStore.find(database.queries, callId, clock())
  if (call?.agentId !== agentId) throw new ServiceError('not_found')
  if (!hasEnded(call)) return { kind: 'held', callId, expiresAt: call.expiresAt }
  const envelope = call.status === 'done' ? await heldCallStore.openResponse(database.queries, call) : undefined
  if (!envelope) throw errorOf(call)
  return { kind: 'stored', envelope }
}
