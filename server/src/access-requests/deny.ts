import type { Signed } from '../devices/challenge.ts'
import type { Decider } from '../devices/judge-signed.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AccessRequest } from './access-request.ts'
import { muteAgent } from './mute-agent.ts'
import type { MuteNeeds } from './mute-agent.ts'
import { lockPending, settleOutside, signatureOn } from './decide.ts'
import type { DecideNeeds } from './decide.ts'
import { muteMs } from './muted-agent.ts'

export type DenyNeeds = DecideNeeds & MuteNeeds

export interface Denial {
  reason: string | undefined
  /** Hides all further requests of this agent from the user's devices and list. */
  block: boolean
  signed: Signed | undefined
}

/** Denying needs only a session, except on a device. Mutes pushes from this agent for a day. */
export async function denyAccessRequest(
  needs: DenyNeeds,
  decider: Decider,
  accessRequestId: string,
  { reason, block, signed }: Denial,
  requestId: string,
): Promise<AccessRequest> {
  const { database, accessRequests, audit, clock } = needs
  const { userId } = decider.user
  const denied = await database.transaction(async (tx) => {
    const now = clock()
    const { request } = await lockPending(needs, tx, decider, accessRequestId, now)
    const signature = await signatureOn(needs, tx, decider, request, 'deny', signed)
    const on = signature?.device.deviceId ?? null
    const ending = { status: 'denied', by: userId, on, reason: reason ?? null } as const
    const ended = await accessRequests.end(tx, accessRequestId, ending, now)
    if (!ended) throw new ServiceError('request_not_pending')
    await muteAgent(needs, tx, { userId, agentId: ended.agentId }, block ? null : endOfMute(now), now)
    await settleOutside(needs, tx, ended, now)
    await audit.append(tx, {
      event: 'access_request.denied',
      at: now,
      requestId,
      agentId: ended.agentId,
      userId,
      detail: { access_request_id: accessRequestId, device_id: on, blocked: block },
    })
    return ended
  })
  needs.onDecided()
  return denied
}

function endOfMute(now: Date): Date {
  return new Date(now.getTime() + muteMs)
}
