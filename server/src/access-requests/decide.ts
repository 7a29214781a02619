/**
 * Shared by approving and denying: who may decide, how a device's signature is checked, and what is sent afterwards.
 */
import { approvalMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import type { Challenge, Signed } from '../devices/challenge.ts'
import { judgeSigned } from '../devices/judge-signed.ts'
import type { Decider, Signature } from '../devices/judge-signed.ts'
import type { PushStore } from '../devices/push-store.ts'
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
  /** Called after a decision: a callback may be due. */
  onDecided: () => void
}

/**
 * Locks the pending request and the user's current row, so that nothing that is checked here, such as whether device
 * approval is required, can change before the decision is written.
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

/** The signature on a decision, if there is one. */
export function signatureOn(
  needs: DecideNeeds,
  tx: Queries,
  decider: Decider,
  { accessRequestId }: AccessRequest,
  verdict: Verdict,
  signed: Signed | undefined,
): Promise<Signature | undefined> {
  const message = ({ challengeId, nonce }: Challenge) => approvalMessage(challengeId, nonce, accessRequestId, verdict)
  return judgeSigned(needs, tx, decider, { subject: accessRequestId, message }, signed)
}

/** Part of the transaction that decides: makes the callback due, and drops pushes that are no longer needed. */
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
