import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'

/** An agent's request to call a provider on behalf of a user. Its terms are the most that can be granted. */
export interface AccessRequest {
  accessRequestId: string
  agentId: string
  /** Null for the sandbox. */
  providerId: string | null
  /** The user who should decide, as named by the agent. */
  userHint: string | null
  /**
   * The user that the hint refers to. Null if there is no hint or it matches no user: anyone with the link may decide
   * then.
   */
  userId: string | null
  hosts: string[] | null
  methods: string[] | null
  paths: string[] | null
  maxCalls: number | null
  reason: string | null
  /** As stored. Expiry is computed when read: use statusOf. */
  status: WrittenStatus
  createdAt: Date
  expiresAt: Date
  decidedAt: Date | null
  decidedBy: string | null
  /** The device that signed the decision. */
  decidedOn: string | null
  denialReason: string | null
  grantId: string | null
}

export type WrittenStatus = 'pending' | 'approved' | 'denied' | 'cancelled'
export type AccessRequestStatus = WrittenStatus | 'expired'

export const lifetimeMs = 86_400_000

export function statusOf({ status, expiresAt }: AccessRequest, now: Date): AccessRequestStatus {
  return status === 'pending' && expiresAt <= now ? 'expired' : status
}

/** Only the user that the hint refers to. If it matches no user, any signed-in user with the link. */
export function mayDecide({ userId }: AccessRequest, user: User): boolean {
  return userId === null || userId === user.userId
}

export function assertPending(request: AccessRequest, now: Date): void {
  if (statusOf(request, now) !== 'pending') throw new ServiceError('request_not_pending')
}

/** The page where the user decides (spec v4, Access request). */
export function approvalUrl(baseUrl: URL, { accessRequestId, userHint }: AccessRequest): string {
  const url = new URL(`/approve-proxy/${accessRequestId}`, baseUrl)
  if (userHint !== null) url.searchParams.set('user', userHint)
  return url.href
}
