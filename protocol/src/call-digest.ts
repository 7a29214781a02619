/**
 * What a decision on a held call covers, as a hash. Both ends compute it from the description that the person sees. Needs
 * only Web Crypto, so that browsers and the SDK can use it as it is.
 */
import type { CallDescription } from './calls.ts'
import { canonicalJson } from './canonical-json.ts'
import { fromBase64url, toBase64url } from './v1/base64url.ts'

/** A description as it came over the wire. All of its members count, also those that this version does not know. */
export type DescribedCall = CallDescription | Readonly<Record<string, unknown>>

const randomBytes = 32

/** The RFC 8785 form of a call's description. */
export function callText(description: DescribedCall): string {
  return canonicalJson(description)
}

/** The `digest` of a held call: base64url of the SHA-256 of `callText`. */
export async function callDigest(description: DescribedCall): Promise<string> {
  return toBase64url(await sha256(callText(description)))
}

/** The RFC 8785 form of what a device signs: the description, and for how long the approval repeats (null: it does not). */
export function decidedCallText(description: DescribedCall, repeatForSeconds: number | null): string {
  if (Object.hasOwn(description, 'repeat_for_seconds')) {
    throw new RangeError('a description of a call has no member "repeat_for_seconds"')
  }
  return canonicalJson({ ...description, repeat_for_seconds: repeatForSeconds })
}

/** The SHA-256 of `decidedCallText`: the second half of a challenge's nonce. */
export function decidedCallHash(description: DescribedCall, repeatForSeconds: number | null): Promise<Uint8Array> {
  return sha256(decidedCallText(description, repeatForSeconds))
}

/** Makes the nonce of a challenge from 32 random bytes. */
export async function callNonce(
  random: Uint8Array,
  description: DescribedCall,
  repeatForSeconds: number | null,
): Promise<string> {
  if (random.length !== randomBytes) throw new RangeError('a nonce begins with 32 random bytes')
  return toBase64url(Uint8Array.from([...random, ...(await decidedCallHash(description, repeatForSeconds))]))
}

/** Whether a challenge's nonce was made for this call and this decision. False for one that is malformed. */
export async function holdsCall(
  nonce: string,
  description: DescribedCall,
  repeatForSeconds: number | null,
): Promise<boolean> {
  const bytes = nonceBytes(nonce)
  const hash = await decidedCallHash(description, repeatForSeconds)
  return bytes?.length === randomBytes + hash.length && hash.every((byte, at) => byte === bytes[randomBytes + at])
}

/** Without padding: a nonce has one spelling. */
function nonceBytes(nonce: string): Uint8Array | undefined {
  return nonce.endsWith('=') ? undefined : fromBase64url(nonce)
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
