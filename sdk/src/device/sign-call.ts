/**
 * Signs a decision on a held call, and only on the call that the user was shown: its digest is computed here from the
 * description, and the nonce has to be made for exactly that description and this decision.
 */
import { callMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import { callDigest, holdsCall } from '@sallyport/protocol/call-digest'
import type { CallChallengeReply, PersonCall } from '../wire.ts'
import { signText } from './keys.ts'
import type { DeviceKeyPair } from './keys.ts'
import type { Signed } from './sign-decision.ts'
import { textOf, untrue } from './untrue.ts'

/** What a decision on a call covers. */
export type ShownCall = Pick<PersonCall, 'call_id' | 'description' | 'digest'>

/** Throws unless `digest` is that of the description. */
export async function assertDigest({ description, digest }: ShownCall): Promise<void> {
  const own = await callDigest(description).catch(() => undefined)
  if (own !== digest) throw untrue('The digest belongs to a different call than the one shown.')
}

export async function signCall(
  key: DeviceKeyPair,
  { challenge_id, nonce }: Pick<CallChallengeReply, 'challenge_id' | 'nonce'>,
  call: ShownCall,
  verdict: Verdict,
  repeatForSeconds: number | null,
): Promise<Signed> {
  await assertDigest(call)
  if (!(await holdsCall(nonce, call.description, repeatForSeconds))) {
    throw untrue('The challenge is for a different call or decision.')
  }
  const text = textOf(() => callMessage(challenge_id, nonce, call.call_id, verdict))
  return { challenge_id, signature: await signText(key, text), text }
}
