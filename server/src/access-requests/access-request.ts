import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'

/** An agent's question to a person: may I call this provider in your name? What it names is the most it can get. */
export interface AccessRequest {
  accessRequestId: string
  agentId: string
  /** null: the sandbox. */
  providerId: string | null
  /** Who should decide, in the agent's words. */
  userHint: string | null
  /** The one user whom the hint means. Null without a hint, or with one that means nobody: then anyone with the link decides. */
  userId: string | null
  hosts: string[] | null
  methods: string[] | null
  paths: string[] | null
  maxCalls: number | null
  reason: string | null
  /** As it was written. Expiry is read, not written: ask statusOf. */
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

/** The user whom the hint means, alone; where it means nobody, any signed-in user with the link. */
export function mayDecide({ userId }: AccessRequest, user: User): boolean {
  return userId === null || userId === user.userId
}

export function assertPending(request: AccessRequest, now: Date): void {
  if (statusOf(request, now) !== 'pending') throw new ServiceError('request_not_pending')
}

/** Where the person decides (spec v4, Access request). */
export function approvalUrl(baseUrl: URL, { accessRequestId, userHint }: AccessRequest): string {
  const url = new URL(`/approve-proxy/${accessRequestId}`, baseUrl)
  if (userHint !== null) url.searchParams.set('user', userHint)
  return url.href
}
