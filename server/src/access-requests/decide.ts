/** What approving and denying have in common: who may, how a device's signature counts, and what both leave behind. */
import { approvalMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import type { Challenge, Signed } from '../devices/challenge.ts'
import { mayDecide as deviceMayDecide } from '../devices/device.ts'
import type { Device } from '../devices/device.ts'
import type { PushStore } from '../devices/push-store.ts'
import { takeSignature } from '../devices/take-signature.ts'
import type { TakeSignatureNeeds } from '../devices/take-signature.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { sandboxSlug } from '../providers/slug.ts'
import type { User } from '../sessions/user.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { assertPending, mayDecide } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'

export interface DecideNeeds extends TakeSignatureNeeds {
  database: Database
  providers: ProviderStore
  users: UserStore
  accessRequests: AccessRequestStore
  callbacks: CallbackStore
  pushes: PushStore
  audit: AuditWriter
  clock: Clock
  /** A callback may be due. */
  onDecided: () => void
}

/** Who decides: a person in the console, or on a device of theirs. */
export interface Decider {
  user: User
  device: Device | undefined
}

export interface Signature extends Signed {
  challenge: Challenge
  device: Device
  /** What was signed. */
  message: string
}

/**
 * The request, for whoever may decide it while it waits, and the user as they are now. Both are locked: what is judged
 * still holds when it is decided, and whether a device is required can not change in between.
 */
export async function lockPending(
  { database, users, accessRequests }: DecideNeeds,
  tx: Queries,
  decider: Decider,
  accessRequestId: string,
  now: Date,
): Promise<{ request: AccessRequest; user: User }> {
  const user = await users.lock(database, tx, decider.user.userId)
  if (!user || user.disabledAt) throw new ServiceError('unauthenticated')
  const request = await accessRequests.lock(database, tx, accessRequestId)
  if (!request || !mayDecide(request, user)) throw new ServiceError('not_found')
  assertPending(request, now)
  return { request, user }
}

/** Verified whenever one was sent, whoever sent it. A device decides by its key, never by its session alone. */
export async function judgeSigned(
  needs: DecideNeeds,
  tx: Queries,
  { user, device }: Decider,
  { accessRequestId }: AccessRequest,
  verdict: Verdict,
  signed: Signed | undefined,
): Promise<Signature | undefined> {
  if (device && !deviceMayDecide(device)) throw new ServiceError('device_key_required')
  if (!signed) {
    if (device) throw new ServiceError('device_signature_required')
    return undefined
  }
  const message = ({ challengeId, nonce }: Challenge) => approvalMessage(challengeId, nonce, accessRequestId, verdict)
  const taken = await takeSignature(needs, tx, signed, { userId: user.userId, subject: accessRequestId, message })
  return { ...signed, ...taken, message: message(taken.challenge) }
}

/** In the commit that decides: the callback is due from now on, and no phone need ring for it any more. */
export async function settleOutside(
  { providers, callbacks, pushes }: Pick<DecideNeeds, 'providers' | 'callbacks' | 'pushes'>,
  tx: Queries,
  { accessRequestId, agentId, providerId, status, grantId }: AccessRequest,
  now: Date,
): Promise<void> {
  if (status !== 'approved' && status !== 'denied') throw new Error('the request was not decided')
  await pushes.dropOf(tx, accessRequestId)
  const names = await providers.namesOf(tx, providerId === null ? [] : [providerId])
  await callbacks.release(
    tx,
    accessRequestId,
    {
      event: `access_request.${status}`,
      access_request_id: accessRequestId,
      status,
      grant_id: grantId,
      provider: providerId === null ? sandboxSlug : (names.get(providerId)?.slug ?? providerId),
      agent_id: agentId,
    },
    now,
  )
}
