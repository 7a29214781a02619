/** A decision on an access request or a held call. */
export type Verdict = 'approve' | 'deny'

/** The text that a device signs to decide an access request (spec v4, Rules 2). */
export function approvalMessage(challengeId: string, nonce: string, accessRequestId: string, verdict: Verdict): string {
  return joinSigned(['svc-approval', 'v1', challengeId, nonce, accessRequestId, verdict])
}

/**
 * The text that a device signs to change the deciding devices: `off`, `remove:{device_id}` or `enrol:{jwk thumbprint}`.
 */
export function deviceMessage(challengeId: string, nonce: string, userId: string, action: string): string {
  return joinSigned(['svc-device', 'v1', challengeId, nonce, userId, action])
}

/** The text that a device signs to decide a held call. The nonce has the hash of what the call does (call-digest.ts). */
export function callMessage(challengeId: string, nonce: string, callId: string, verdict: Verdict): string {
  return joinSigned(['svc-call', 'v1', challengeId, nonce, callId, verdict])
}

/** No part may contain a dot, so that the text is unambiguous. Ids, base64url and actions never do. */
function joinSigned(parts: string[]): string {
  if (parts.some((part) => part === '' || part.includes('.'))) {
    throw new RangeError('a part of a text to be signed is empty or holds a dot')
  }
  return parts.join('.')
}
