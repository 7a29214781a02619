/**
 * Which paths a grant covers. A pattern is a prefix by whole segments; a segment `*` stands for any one. Under a path
 * limit a call's path must read in one way only: whatever an upstream might read as another path is covered by nothing.
 */
import { unescapeUnreserved } from '@sallyport/protocol/percent-encoding'
import { ServiceError } from '../platform/errors.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'

const maxPathPatterns = 50
const maxPatternLength = 1024

export function readPathPatterns(texts: readonly string[], field: string): string[] {
  if (texts.length > maxPathPatterns) {
    throw new ServiceError('invalid_field', { field, message: `"${field}" holds more than ${maxPathPatterns} paths.` })
  }
  return [...new Set(texts.map((text, index) => readPathPattern(text, `${field}.${index}`)))]
}

/** The pattern as it is kept: without a slash at its end, and with nothing escaped that needs no escape. */
export function readPathPattern(text: string, field: string): string {
  const refuse = (message: string) => new ServiceError('invalid_field', { field, message: `"${field}" ${message}` })
  if (text.length > maxPatternLength) throw refuse(`is longer than ${maxPatternLength} characters.`)
  if (!text.startsWith('/')) throw refuse('is no path. Begin it with a slash.')
  // Dot segments, a query, a fragment, blanks and backslashes would all be written otherwise in a URL.
  if (URL.parse(`https://host.example${text}`)?.pathname !== text) {
    throw refuse('is not written as in a URL: no query, no fragment, no dots for folders, in ASCII.')
  }
  const segments = segmentsOf(text)
  if (!segments || /%2e/i.test(text))
    throw refuse('holds an empty segment, or an escape that could be read as another path.')
  if (segments.some((segment) => segment.includes('*') && segment !== '*')) {
    throw refuse('has a * inside a segment. It stands for one whole segment.')
  }
  return `/${segments.join('/')}`
}

/** Whether a call's path, as a URL writes it, lies under one of the patterns. */
export function coversAnyPath(patterns: readonly string[], path: string): boolean {
  const segments = segmentsOf(path)
  return segments !== undefined && patterns.some((pattern) => covers(segmentsOfPattern(pattern), segments))
}

/** Whether all that the inner pattern covers is covered by the outer one. */
export function coversPathPattern(outer: string, inner: string): boolean {
  return coversAnyPath([outer], inner)
}

const segmentsOfPattern = memoizeByText((pattern) => segmentsOf(pattern) ?? null)

function covers(wide: string[] | null, narrow: string[]): boolean {
  if (wide === null || wide.length > narrow.length) return false
  return wide.every((segment, index) => segment === '*' || segment === narrow[index])
}

/** Nothing in it is escaped, and no segment begins with a dot. */
const plainPath = /^(?:\/[\w~-][\w.~-]*)+\/?$/

/** Undefined where the path has an empty segment inside, or one that could be read as something else. */
function segmentsOf(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  const parts = path.slice(1).split('/')
  if (parts.at(-1) === '') parts.pop()
  if (plainPath.test(path)) return parts
  const segments = parts.map(unescapeUnreserved)
  return segments.every(readsInOneWay) ? segments : undefined
}

/** What some server might take for a slash, for the folder above, or for an escape to be undone once more. */
function readsInOneWay(segment: string): boolean {
  const text = decoded(segment)
  if (text === undefined || text === '') return false
  // Look-alikes of dot, slash and per cent are folded into the ASCII ones by some, blanks and what nobody sees are
  // dropped, and `;` cuts a segment short, as do a `?` and a `#` that are read once more.
  const folded = text.normalize('NFKC').replace(/[\s\p{Cf}]+/gu, '')
  return !/[/\\%]/.test(folded) && !/\p{Cc}/u.test(text) && !/^\.{1,2}(?:[;?#]|$)/.test(folded)
}

/** Undefined where an escape is cut short or is not UTF-8, as an overlong writing of a slash is not. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
