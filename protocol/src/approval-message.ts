/** What a device answers an access request with. */
export type Verdict = 'approve' | 'deny'

/**
 * The text that a device signs to decide an access request (spec v4, Rules 2).
 * No part may hold a dot: ids and base64url never do, so the text reads in one way only.
 */
export function approvalMessage(challengeId: string, nonce: string, accessRequestId: string, verdict: Verdict): string {
  const parts = ['svc-approval', 'v1', challengeId, nonce, accessRequestId, verdict]
  if (parts.some((part) => part === '' || part.includes('.'))) {
    throw new RangeError('a part of an approval message is empty or holds a dot')
  }
  return parts.join('.')
}
