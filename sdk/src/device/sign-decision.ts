/**
 * Signs the user's decision and nothing that the service substitutes: the text is built here, and the nonce has to
 * contain the hash of the decision that was sent.
 */
import { approvalMessage, deviceMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import { fromBase64url } from '@sallyport/protocol/v1/base64url'
import { signText } from './keys.ts'
import type { DeviceKeyPair } from './keys.ts'
import { textOf, untrue } from './untrue.ts'

/** Sent in the body together with a decision. */
export interface Signature {
  challenge_id: string
  signature: string
}

export interface Signed extends Signature {
  /** The signed text. */
  text: string
}

interface Challenge {
  challenge_id: string
  nonce: string
}

const randomBytes = 32

export async function signDecision(
  key: DeviceKeyPair,
  { challenge_id, nonce }: Challenge,
  accessRequestId: string,
  verdict: Verdict,
  decision?: object,
): Promise<Signed> {
  if (!(await holds(nonce, decision))) throw untrue('The challenge is for a different decision.')
  const text = textOf(() => approvalMessage(challenge_id, nonce, accessRequestId, verdict))
  return { challenge_id, signature: await signText(key, text), text }
}

export async function signAction(
  key: DeviceKeyPair,
  { challenge_id, nonce }: Challenge,
  userId: string,
  action: string,
): Promise<Signature> {
  const text = textOf(() => deviceMessage(challenge_id, nonce, userId, action))
  return { challenge_id, signature: await signText(key, text) }
}

/** A nonce is 32 random bytes, followed by the hash of the decision if there is one beyond the verdict. */
async function holds(nonce: string, decision: object | undefined): Promise<boolean> {
  const bytes = fromBase64url(nonce)
  if (decision === undefined) return bytes?.length === randomBytes
  const text = new TextEncoder().encode(canonicalJson(decision))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return bytes?.length === randomBytes + hash.length && hash.every((byte, at) => byte === bytes[randomBytes + at])
}
