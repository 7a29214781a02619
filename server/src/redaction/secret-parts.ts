/**
 * Splits a secret at its punctuation into parts that are redacted on their own: an upstream may split a token and
 * return one part. A JWT has three; after a prefix such as `ya29.`, `xoxp-`, `glpat-` or `github_pat_` comes nearly all
 * of it. GitHub's tokens of installations are a prefix and a JWT: `ghs_123_eyJ…`.
 */
import { minRedactable } from '../platform/secret.ts'

/** The longest parts only: each one slows down the search. */
const maxParts = 16
/** Asana's tokens contain the account's number, which is in every response about that account: it is not redacted. */
const longestNumber = 24

/** Byte offsets in the secret. */
export interface SecretPart {
  from: number
  to: number
}

export function partsOf(secret: string): SecretPart[] {
  const [header = '', ...rest] = secret.split('.')
  // `-` and `_` belong to the base64url alphabet: they are not punctuation there.
  const isJose = rest.length >= 2 && isJoseHeader(header.slice(Math.max(header.indexOf('eyJ'), 0)))
  const found = isJose ? secret.matchAll(/[^.]+/g) : secret.matchAll(/[\p{L}\p{N}]+/gu)
  return [...found]
    .filter(({ 0: part, index }) => part !== secret && !(isJose && index === 0) && isSecret(part))
    .sort(([one], [other]) => other.length - one.length)
    .slice(0, maxParts)
    .map(({ 0: part, index }) => {
      const from = Buffer.byteLength(secret.slice(0, index))
      return { from, to: from + Buffer.byteLength(part) }
    })
}

function isSecret(part: string): boolean {
  return part.length >= minRedactable && !(part.length <= longestNumber && /^\d+$/.test(part))
}

/** RFC 7515 §4. The header says how the token is signed. It is public, and many tokens of one issuer share it. */
function isJoseHeader(text: string): boolean {
  try {
    const header: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof header === 'object' && header !== null && 'alg' in header
  } catch {
    return false
  }
}
