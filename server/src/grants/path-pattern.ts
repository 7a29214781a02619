/**
 * Which paths a grant covers. A pattern is a prefix of whole segments; `*` matches any one segment. A path that an
 * upstream might read as another path is covered by no pattern.
 */
import { patternFault, segmentsOf, withCredentialSegment } from '@sallyport/protocol/path-pattern'
import type { PatternFault } from '@sallyport/protocol/path-pattern'
import { ServiceError } from '../platform/errors.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'

const maxPathPatterns = 50

const faults: Record<PatternFault, string> = {
  too_long: 'is longer than 1024 characters.',
  no_slash: 'is not a path. Start it with a slash.',
  not_normal: 'is not a normalized URL path: use ASCII without a query, a fragment or dot segments.',
  ambiguous: 'contains an empty segment or an ambiguous percent-encoding.',
  star_in_segment: 'has a * inside a segment. A * must be a whole segment.',
}

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
  const text = withCredentialSegment(given)
  const fault = patternFault(text)
  if (fault) throw new ServiceError('invalid_field', { field, message: `"${field}" ${faults[fault]}` })
  return `/${(segmentsOf(text) ?? []).join('/')}`
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
