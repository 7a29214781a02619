import type { AuditWriter } from '../audit/audit-log.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { AccessRequestStore } from './access-request-store.ts'
import type { MutedAgent } from './muted-agent.ts'
import type { MutedAgentStore } from './muted-agent-store.ts'

export interface MuteNeeds {
  accessRequests: AccessRequestStore
  mutedAgents: MutedAgentStore
  pushes: PushStore
}

export interface BlockNeeds extends MuteNeeds {
  database: Database
  audit: AuditWriter
  clock: Clock
}

/** Mutes the agent until this time, or permanently. Also drops its pushes that were not sent yet. */
export async function muteAgent(
  { accessRequests, mutedAgents, pushes }: MuteNeeds,
  tx: Queries,
  { userId, agentId }: { userId: string; agentId: string },
  until: Date | null,
  now: Date,
): Promise<void> {
  await mutedAgents.mute(tx, { userId, agentId }, until, now)
  for (const id of await accessRequests.listWaitingBetween(tx, agentId, userId, now)) await pushes.dropOf(tx, id)
}

/** Permanently hides the agent's requests from the user's devices and list. Its grants stay active until revoked. */
export async function blockAgent(
  needs: BlockNeeds,
  { userId }: User,
  agentId: string,
  requestId: string,
): Promise<MutedAgent> {
  const { database, accessRequests, mutedAgents, audit, clock } = needs
  return database.transaction(async (tx) => {
    const at = clock()
    const before = await mutedAgents.find(tx, userId, agentId, at)
    if (before?.mutedUntil === null) return before
    // A user must not learn about agents that never asked them, not even that they exist.
    if (!(await accessRequests.hasAsked(tx, agentId, userId))) throw new ServiceError('not_found')
    await muteAgent(needs, tx, { userId, agentId }, null, at)
    await audit.append(tx, { event: 'agent.blocked', at, requestId, agentId, userId })
    const blocked = await mutedAgents.find(tx, userId, agentId, at)
    if (!blocked) throw new Error('it was blocked just now')
    return blocked
  })
}

/** Undoes muting or blocking. A block remains after the requests that led to it are deleted. */
export async function unmuteAgent(
  { database, accessRequests, mutedAgents, audit, clock }: BlockNeeds,
  { userId }: User,
  agentId: string,
  requestId: string,
): Promise<void> {
  await database.transaction(async (tx) => {
    if (!(await mutedAgents.unmute(tx, userId, agentId))) {
      if (await accessRequests.hasAsked(tx, agentId, userId)) return
      throw new ServiceError('not_found')
    }
    await audit.append(tx, { event: 'agent.unmuted', at: clock(), requestId, agentId, userId })
  })
}
