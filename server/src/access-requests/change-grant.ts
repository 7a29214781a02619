/**
 * Changes the terms of a grant, at once for every call that is not recorded yet. Narrower terms are the user's to set at
 * any time. Anything else is an approval: of the same request, by the same rules, and with a device's signature where an
 * approval needs one.
 */
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import type { Challenge, Signed } from '../devices/challenge.ts'
import type { Device } from '../devices/device.ts'
import { lockUser } from '../devices/device-approval.ts'
import { issueChallenge } from '../devices/issue-challenge.ts'
import type { IssueChallengeNeeds } from '../devices/issue-challenge.ts'
import type { Decider } from '../devices/judge-signed.ts'
import type { Grant } from '../grants/grant.ts'
import { isNarrower } from '../grants/narrower.ts'
import { refusalFor, statusOf } from '../grants/usable.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { AccessRequest } from './access-request.ts'
import { judgeScope, judgeWhatItStandsOn } from './approve.ts'
import type { ApproveNeeds } from './approve.ts'
import { changedTerms } from './changed-terms.ts'
import type { TermsChange } from './changed-terms.ts'
import { signatureOn } from './decide.ts'
import { receiptFor, termsNow, withTerms } from './receipt.ts'

export interface GrantChange {
  change: TermsChange
  /** The change exactly as sent. It has to equal what the device signed. */
  sent: Record<string, unknown>
  signed: Signed | undefined
}

type ApprovedGrant = Grant & { connectionId: string; userId: string; accessRequestId: string }

export async function changeGrant(
  needs: ApproveNeeds,
  decider: Decider,
  grantId: string,
  { change, sent, signed }: GrantChange,
  requestId: string,
): Promise<Grant> {
  const { database, grants, audit, clock } = needs
  const { userId } = decider.user
  return database.transaction(async (tx) => {
    const now = clock()
    const user = await lockUser(needs, tx, userId)
    const { request, provider, connection } = await findWhatItStandsOn(needs, tx, userId, grantId)
    const grant = approvedOf(await grants.lockOfUser(database, tx, userId, grantId))
    assertActive(grant, now)
    const terms = changedTerms(change, grant, request, provider, connection, now)
    const signature = await signatureOn(needs, tx, decider, request, 'approve', signed)
    const isWider = !isNarrower(terms, grant)
    if (isWider || signature) judgeScope(user, decider, sent, signature)
    if (isWider) await judgeWhatItStandsOn(needs, tx, request, { connectionId: grant.connectionId }, userId, now)
    const changed = { ...grant, ...terms, termsVersion: grant.termsVersion + 1 }
    if (canonicalJson(termsNow(changed)) === canonicalJson(termsNow(grant))) return grant
    const earlier = await grants.receiptOf(tx, grantId)
    const receipt = isWider || !earlier ? receiptFor(changed, signature, now) : withTerms(earlier, changed)
    await grants.changeTerms(tx, grantId, terms, receipt)
    const who = { agentId: grant.agentId, userId, grantId, connectionId: grant.connectionId }
    const detail = { wider: isWider, before: termsNow(grant), receipt }
    await audit.append(tx, { event: 'grant.changed', at: now, requestId, ...who, detail })
    return changed
  })
}

/** What a device signs is an approval of the grant's request, with the change as its decision. */
export async function challengeOnGrant(
  needs: Pick<ApproveNeeds, 'grants'> & IssueChallengeNeeds,
  { user, device }: { user: User; device: Device },
  grantId: string,
  change: Record<string, unknown>,
): Promise<{ challenge: Challenge; accessRequestId: string }> {
  const { database, grants, clock } = needs
  // In a transaction, which checks first that the device may still act: otherwise its grants would only look revoked.
  const found = await database.transaction((tx) => grants.findOfUser(tx, user.userId, grantId))
  const grant = approvedOf(found)
  assertActive(grant, clock())
  const challenge = await issueChallenge(needs, device, grant.accessRequestId, canonicalJson(change))
  return { challenge, accessRequestId: grant.accessRequestId }
}

/** Locked in the order of an approval. */
async function findWhatItStandsOn(
  { database, grants, accessRequests, providers, connections }: ApproveNeeds,
  tx: Queries,
  userId: string,
  grantId: string,
) {
  const grant = approvedOf(await grants.findOfUser(tx, userId, grantId))
  const request: AccessRequest | undefined = await accessRequests.lock(database, tx, grant.accessRequestId)
  const providerId = request?.providerId ?? null
  const provider = providerId === null ? undefined : await providers.lock(database, tx, providerId)
  const connection = await connections.lockOfUser(database, tx, userId, grant.connectionId)
  if (!request || !provider || !connection) throw refusalFor('grant_revoked')
  return { request, provider, connection }
}

function approvedOf(grant: Grant | undefined): ApprovedGrant {
  const { connectionId = null, userId = null, accessRequestId = null } = grant ?? {}
  if (!grant || connectionId === null || userId === null || accessRequestId === null)
    throw new ServiceError('not_found')
  return { ...grant, connectionId, userId, accessRequestId }
}

function assertActive(grant: Grant, now: Date): void {
  const status = statusOf(grant, now)
  if (status !== 'active') throw refusalFor(status === 'revoked' ? 'grant_revoked' : 'grant_expired')
}
