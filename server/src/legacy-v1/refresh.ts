import type { EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { authenticateClient } from './authenticate-client.ts'
import type { IssuedChallenge } from './issue-challenge.ts'
import { operate } from './operate.ts'
import type { OperateNeeds } from './operate.ts'

/** Exchanges a challenge for a new one. */
export async function refreshChallenge(
  needs: OperateNeeds,
  auth: EnvelopeParts,
  requestId: string,
): Promise<IssuedChallenge> {
  const caller = await authenticateClient(needs, auth, 'authai.refresh', {})
  return operate(needs, caller, { event: 'v1.refreshed', act: () => Promise.resolve({}), requestId })
}
