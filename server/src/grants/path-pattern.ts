/**
 * Which paths a grant covers. A pattern is a prefix of whole segments; `*` matches any one segment. A path that an
 * upstream might read as another path is covered by no pattern.
 */
import { unescapeUnreserved } from '@sallyport/protocol/percent-encoding'
import { ServiceError } from '../platform/errors.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'

const maxPathPatterns = 50
const maxPatternLength = 1024

export function readPathPatterns(texts: readonly string[], field: string): string[] {
  if (texts.length > maxPathPatterns) {
    throw new ServiceError('invalid_field', {
      field,
      message: `"${field}" contains more than ${maxPathPatterns} paths.`,
    })
  }
  return [...new Set(texts.map((text, index) => readPathPattern(text, `${field}.${index}`)))]
}

/** Normalized: without a slash at its end, and without unnecessary escapes. */
export function readPathPattern(given: string, field: string): string {
  // Stands for a segment that is part of the credential. The URL parser escapes its braces.
  const text = given.replaceAll(/\/\{credential\}(?=\/|$)/g, '/%7Bcredential%7D')
  const refuse = (message: string) => new ServiceError('invalid_field', { field, message: `"${field}" ${message}` })
  if (text.length > maxPatternLength) throw refuse(`is longer than ${maxPatternLength} characters.`)
  if (!text.startsWith('/')) throw refuse('is not a path. Start it with a slash.')
  // URL.parse changes dot segments, queries, fragments, blanks and backslashes.
  if (URL.parse(`https://host.example${text}`)?.pathname !== text) {
    throw refuse('is not a normalized URL path: use ASCII without a query, a fragment or dot segments.')
  }
  const segments = segmentsOf(text)
  if (!segments || /%2e/i.test(text)) throw refuse('contains an empty segment or an ambiguous percent-encoding.')
  if (segments.some((segment) => segment.includes('*') && segment !== '*')) {
    throw refuse('has a * inside a segment. A * must be a whole segment.')
  }
  return `/${segments.join('/')}`
}

/** Whether one of the patterns matches a call's path, as written in its URL. */
export function coversAnyPath(patterns: readonly string[], path: string): boolean {
  const segments = segmentsOf(path)
  return segments !== undefined && patterns.some((pattern) => covers(segmentsOfPattern(pattern), segments))
}

/** Whether every server reads the path in the same way. */
export function readsInOneWay(path: string): boolean {
  return segmentsOf(path) !== undefined
}

/** Whether the outer pattern covers every path that the inner one does. */
export function coversPathPattern(outer: string, inner: string): boolean {
  return coversAnyPath([outer], inner)
}

const segmentsOfPattern = memoizeByText((pattern) => segmentsOf(pattern) ?? null)

function covers(wide: string[] | null, narrow: string[]): boolean {
  if (wide === null || wide.length > narrow.length) return false
  return wide.every((segment, index) => segment === '*' || segment === narrow[index])
}

/** Fast check: no escapes, and no segment begins with a dot. */
const plainPath = /^(?:\/[\w~-][\w.~-]*)+\/?$/

/** Undefined if the path has an empty segment, or one that could be read in another way. */
function segmentsOf(path: string): string[] | undefined {
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
