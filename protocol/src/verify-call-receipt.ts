/**
 * Verifies the receipt of a held call without the service: the device's key signed this decision on exactly this call.
 * Trusts only the key: the caller has to know that it is the user's own.
 */
import { callMessage } from './approval-message.ts'
import { holdsCall } from './call-digest.ts'
import type { CallReceipt } from './calls.ts'
import { isSignedText } from './ecdsa-signature.ts'

export interface CallReceiptCheck {
  /** `unsigned`: the receipt has no signature, so only the service says so. `invalid`: a claim in it is false. */
  verdict: 'signed' | 'unsigned' | 'invalid'
  /** For `invalid`: the reason. */
  problem?: string
}

const invalid = (problem: string): CallReceiptCheck => ({ verdict: 'invalid', problem })

/** A receipt may come from an attacker: one that can't be parsed is invalid too. */
export async function verifyCallReceipt(receipt: CallReceipt): Promise<CallReceiptCheck> {
  try {
    return await check(receipt)
  } catch {
    return invalid('it does not have the form of a receipt')
  }
}

async function check(receipt: CallReceipt): Promise<CallReceiptCheck> {
  const { call_id, verdict, signed, signing_input, signature, challenge, description, device } = receipt
  const repeatForSeconds = receipt.repeat_for_seconds
  if (!isVerdict(verdict)) return invalid('it is not a receipt of a decision on a call')
  if (!isSpan(repeatForSeconds)) return invalid('"repeat_for_seconds" is not a number of seconds')
  if (verdict === 'deny' && repeatForSeconds !== null) return invalid('a denial does not repeat')
  if (!isObject(description)) return invalid('it does not describe a call')
  if (!isBoolean(signed)) return invalid('"signed" is not true or false')
  if (!signed) {
    const isBare = signing_input === null && signature === null && challenge === null && device === null
    return isBare ? { verdict: 'unsigned' } : invalid('it contains more than "signed" admits')
  }
  if (signature === null || challenge === null || device === null) return invalid('a part of the signature is missing')
  const message = callMessage(challenge.challenge_id, challenge.nonce, call_id, verdict)
  if (signing_input !== message) return invalid('another text was signed')
  if (!(await isSignedText(message, signature, device.public_key_jwk))) return invalid('the signature does not verify')
  if (!(await holdsCall(challenge.nonce, description, repeatForSeconds))) {
    return invalid('the nonce was not made for this call and this decision')
  }
  return { verdict: 'signed' }
}

const isVerdict = (value: unknown): boolean => value === 'approve' || value === 'deny'
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function isSpan(value: unknown): boolean {
  return value === null || (Number.isInteger(value) && Number(value) > 0)
}
