/** Path patterns: prefixes of whole segments, in which `*` matches any one segment. What a pattern may look like. */
import { unescapeUnreserved } from './percent-encoding.ts'

export type PatternFault = 'too_long' | 'no_slash' | 'not_normal' | 'ambiguous' | 'star_in_segment'

const maxPatternLength = 1024

/** `{credential}` stands for a segment that is part of the credential. The URL parser escapes its braces. */
export function withCredentialSegment(pattern: string): string {
  return pattern.replaceAll(/\/\{credential\}(?=\/|$)/g, '/%7Bcredential%7D')
}

/** Why this is not a pattern. Undefined if it is one. */
export function patternFault(text: string): PatternFault | undefined {
  if (text.length > maxPatternLength) return 'too_long'
  if (!text.startsWith('/')) return 'no_slash'
  // The URL parser changes dot segments, queries, fragments, blanks and backslashes.
  if (pathnameOf(text) !== text) return 'not_normal'
  const segments = segmentsOf(text)
  if (!segments || /%2e/i.test(text)) return 'ambiguous'
  return segments.some((segment) => segment.includes('*') && segment !== '*') ? 'star_in_segment' : undefined
}

/** Without URL.parse, which not all browsers have. */
function pathnameOf(text: string): string | undefined {
  try {
    return new URL(`https://host.example${text}`).pathname
  } catch {
    return undefined
  }
}

/** Fast check: no escapes, and no segment begins with a dot. */
const plainPath = /^(?:\/[\w~-][\w.~-]*)+\/?$/

/** Undefined if the path has an empty segment, or one that could be read in another way. */
export function segmentsOf(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  const parts = path.slice(1).split('/')
  if (parts.at(-1) === '') parts.pop()
  if (plainPath.test(path)) return parts
  const segments = parts.map(unescapeUnreserved)
  return segments.every(isPlainSegment) ? segments : undefined
}

/** False if some server might read a slash, a parent folder or another escape in it. */
function isPlainSegment(segment: string): boolean {
  const text = decoded(segment)
  if (text === undefined || text === '') return false
  // Some servers fold look-alikes of dot, slash and percent into ASCII, drop blanks and invisible characters, or cut a
  // segment at `;`, or at `?` and `#` after decoding twice.
  const folded = text.normalize('NFKC').replace(/[\s\p{Cf}]+/gu, '')
  return !/[/\\%]/.test(folded) && !/\p{Cc}/u.test(text) && !/^\.{1,2}(?:[;?#]|$)/.test(folded)
}

/** Undefined if an escape is incomplete or not UTF-8, such as an overlong slash. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
