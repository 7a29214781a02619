/** The only place where a user's approval creates a grant. Grant, status, callback and audit record are one commit. */
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import type { AgentStore } from '../agents/agent-store.ts'
import { statusOf as connectionStatusOf } from '../connections/connection.ts'
import type { Connection } from '../connections/connection.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import type { Signed } from '../devices/challenge.ts'
import type { Decider, Signature } from '../devices/judge-signed.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Provider } from '../providers/provider.ts'
import type { User } from '../sessions/user.ts'
import type { AccessRequest } from './access-request.ts'
import { lockPending, settleOutside, signatureOn } from './decide.ts'
import type { DecideNeeds } from './decide.ts'
import { grantedBy } from './decision.ts'
import type { Decision } from './decision.ts'
import { receiptFor } from './receipt.ts'

export interface ApproveNeeds extends DecideNeeds {
  agents: AgentStore
  connections: ConnectionStore
  grants: GrantStore
}

export interface Approval {
  decision: Decision
  /** The decision exactly as sent. It has to equal what the device signed. */
  sent: Record<string, unknown>
  signed: Signed | undefined
}

export async function approveAccessRequest(
  needs: ApproveNeeds,
  decider: Decider,
  accessRequestId: string,
  { decision, sent, signed }: Approval,
  requestId: string,
): Promise<Grant> {
  const { database, accessRequests, grants, audit, clock } = needs
  const { userId } = decider.user
  const grant = await database.transaction(async (tx) => {
    const now = clock()
    const { request, user } = await lockPending(needs, tx, decider, accessRequestId, now)
    const { provider, connection } = await judgeWhatItStandsOn(needs, tx, request, decision, userId, now)
    const granted = grantedBy(decision, request, provider, connection, now)
    const signature = await signatureOn(needs, tx, decider, request, 'approve', signed)
    judgeScope(user, decider, sent, signature)
    const approved = {
      grantId: newId('grt', now),
      agentId: request.agentId,
      kind: 'connection',
      userId,
      connectionId: connection.connectionId,
      accessRequestId,
      ...granted,
      calls: 0,
      lastUsedAt: null,
      createdAt: now,
      revokedAt: null,
      revokedBy: null,
      isCutOff: false,
      isPaused: false,
      termsVersion: 1,
    } satisfies Grant
    const receipt = receiptFor(approved, signature, now)
    await grants.insert(tx, approved, receipt)
    const ending = { status: 'approved', by: userId, on: signature?.device.deviceId ?? null } as const
    const ended = await accessRequests.end(tx, accessRequestId, { ...ending, grantId: approved.grantId }, now)
    if (!ended) throw new ServiceError('request_not_pending')
    await settleOutside(needs, tx, ended, now)
    await audit.append(tx, {
      event: 'access_request.approved',
      at: now,
      requestId,
      agentId: request.agentId,
      userId,
      grantId: approved.grantId,
      connectionId: approved.connectionId,
      detail: { access_request_id: accessRequestId, receipt },
    })
    return approved
  })
  needs.onDecided()
  return grant
}

/**
 * Throws unless the agent and the provider are active, and the connection is this user's, active, and for that
 * provider.
 */
export async function judgeWhatItStandsOn(
  { database, agents, providers, connections }: ApproveNeeds,
  tx: Queries,
  { agentId, providerId }: AccessRequest,
  { connectionId }: Pick<Decision, 'connectionId'>,
  userId: string,
  now: Date,
): Promise<{ provider: Provider; connection: Connection }> {
  if ((await agents.find(tx, agentId))?.disabledAt !== null) {
    throw new ServiceError('conflict', { message: 'The agent that requested access is disabled.' })
  }
  const provider = providerId === null ? undefined : await providers.lock(database, tx, providerId)
  if (provider?.status !== 'active') {
    throw new ServiceError('conflict', { message: 'The provider is no longer active.' })
  }
  const field = 'connection_id'
  const connection = await connections.lockOfUser(database, tx, userId, connectionId)
  if (!connection || connection.status === 'revoked') {
    throw new ServiceError('not_found', { field, message: 'You have no connection with this id.' })
  }
  if (connection.providerId !== providerId) {
    throw new ServiceError('invalid_field', { field, message: 'This connection is for another provider.' })
  }
  if (connectionStatusOf(connection, now) !== 'active') throw new ServiceError('connection_needs_reauth', { field })
  return { provider, connection }
}

/**
 * A device approves the terms that it showed: whoever relays its signature can't change them. If the challenge had no
 * decision, whoever sends the approval chooses the terms (spec v4, Rules 2), unless the user requires device approval:
 * a stolen console session must not choose them.
 */
export function judgeScope(
  { requiresDevice }: User,
  { device }: Decider,
  sent: Record<string, unknown>,
  signature: Signature | undefined,
): void {
  if (!signature) {
    if (requiresDevice) throw new ServiceError('device_signature_required')
    return
  }
  const { decision } = signature.challenge
  if (decision === null && requiresDevice && device?.deviceId !== signature.device.deviceId) {
    const message =
      'You approve on a device only, so the challenge has to include the decision. Request a challenge with the decision in its body.'
    throw new ServiceError('decision_mismatch', { message })
  }
  if (decision !== null && decision !== canonicalJson(sent)) throw new ServiceError('decision_mismatch')
}
