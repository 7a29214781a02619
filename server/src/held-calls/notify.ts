/**
 * One push tells a person how many calls wait for them. It passes through push services, so it says which agent and which
 * provider, never what a call is about. Further calls change a push that is not sent yet.
 */
import type { MutedAgentStore } from '../access-requests/muted-agent-store.ts'
import type { Config } from '../config/config.ts'
import { takePush } from '../devices/push-limits.ts'
import { shortName } from '../devices/push-message.ts'
import type { PushStore } from '../devices/push-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { approvalUrl } from './held-call.ts'
import type { HeldCall } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface NotifyNeeds {
  config: Pick<Config, 'baseUrl'>
  heldCallStore: HeldCallStore
  mutedAgents: MutedAgentStore
  pushes: PushStore
}

/** Calls that come together are in one push. */
export const collectMs = 2_000

const does = { read: 'read', write: 'change something', destructive: 'do something destructive' }

export async function notifyOfCall(
  { config, heldCallStore, mutedAgents, pushes }: NotifyNeeds,
  tx: Queries,
  call: HeldCall,
  { providerName, agentName }: { providerName: string | null; agentName: string },
  now: Date,
): Promise<void> {
  const { callId, userId, agentId, access, expiresAt } = call
  if (await mutedAgents.find(tx, userId, agentId, now)) return
  const isCollected = (await pushes.dropWaiting(tx, subjectOf(userId), now)) > 0
  const hasDevice = await pushes.canReach(tx, userId)
  if (!hasDevice || !(isCollected || (await takePush(tx, userId, { agentId, isKnown: true, isAboutCall: true }, now))))
    return
  const count = await heldCallStore.countWaiting(tx, { userId }, now)
  const at = providerName ?? 'an API'
  const one = `“${shortName(agentName)}” (unverified) wants to ${does[access]} at ${at}.`
  await pushes.enqueue(tx, {
    userId,
    subject: subjectOf(userId),
    message: {
      title: count > 1 ? `${count} calls are waiting for you` : 'A call is waiting for you',
      body: count > 1 ? `The latest: ${one}` : one,
      url: approvalUrl(config.baseUrl, callId),
      calls: { newest: callId, count },
    },
    now,
    notBefore: new Date(now.getTime() + collectMs),
    expiresAt,
  })
}

/** When the last of a person's calls is decided, nothing has to be announced any more. */
export async function dropPushesWithoutCalls(
  { heldCallStore, pushes }: Pick<NotifyNeeds, 'heldCallStore' | 'pushes'>,
  tx: Queries,
  userId: string,
  now: Date,
): Promise<void> {
  if ((await heldCallStore.countWaiting(tx, { userId }, now)) === 0) await pushes.dropOf(tx, subjectOf(userId))
}

function subjectOf(userId: string): string {
  return `calls:${userId}`
}
