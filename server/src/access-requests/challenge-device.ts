import { canonicalJson } from '@sallyport/protocol/canonical-json'
import type { Challenge } from '../devices/challenge.ts'
import type { Device } from '../devices/device.ts'
import { issueChallenge } from '../devices/issue-challenge.ts'
import type { IssueChallengeNeeds } from '../devices/issue-challenge.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import { assertPending, mayDecide } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'

export interface ChallengeDeviceNeeds extends IssueChallengeNeeds {
  accessRequests: AccessRequestStore
}

export async function challengeDevice(
  needs: ChallengeDeviceNeeds,
  { user, device }: { user: User; device: Device },
  accessRequestId: string,
  decision: Record<string, unknown> | undefined,
): Promise<Challenge> {
  const request = await needs.accessRequests.find(needs.database.queries, accessRequestId)
  if (!request || !mayDecide(request, user)) throw new ServiceError('not_found')
  assertPending(request, needs.clock())
  return issueChallenge(needs, device, accessRequestId, decision && canonicalJson(decision))
}
