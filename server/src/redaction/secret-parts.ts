/**
 * The parts that a secret is cut into at its own punctuation: what an upstream that splits a token hands back. A JWT has
 * three, and behind `ya29.`, `xoxp-`, `glpat-` or `github_pat_` stands nearly all of the secret.
 */
import { minRedactable } from '../platform/secret.ts'

/** More of them would slow down the search for all. The longest are the ones that matter. */
const mostParts = 16
/** An account's number in its token, as Asana has it, is in every answer about that account. */
const longestNumber = 24

/** Where one stands in its secret, in bytes. */
export interface SecretPart {
  from: number
  to: number
}

export function partsOf(secret: string): SecretPart[] {
  const [header = '', ...rest] = secret.split('.')
  // In base64url `-` and `_` are digits, not punctuation.
  const isJose = rest.length >= 2 && isJoseHeader(header)
  const found = isJose ? secret.matchAll(/[^.]+/g) : secret.matchAll(/[\p{L}\p{N}]+/gu)
  return [...found]
    .filter(({ 0: part, index }) => part !== secret && !(isJose && index === 0) && isSecret(part))
    .sort(([one], [other]) => other.length - one.length)
    .slice(0, mostParts)
    .map(({ 0: part, index }) => {
      const from = Buffer.byteLength(secret.slice(0, index))
      return { from, to: from + Buffer.byteLength(part) }
    })
}

function isSecret(part: string): boolean {
  return part.length >= minRedactable && !(part.length <= longestNumber && /^\d+$/.test(part))
}

/** RFC 7515 §4: it says how the token is signed, is public, and many tokens of one issuer have the same. */
function isJoseHeader(text: string): boolean {
  try {
    const header: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof header === 'object' && header !== null && 'alg' in header
  } catch {
    return false
  }
}
