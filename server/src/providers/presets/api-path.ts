/**
 * Whether a call matches one of a preset's paths. Servers interpret unusual paths differently, so every interpretation
 * that one of them might use is tried: it is better to refuse a strange call than to let one through.
 */
import { matchesHost } from '../api-hosts.ts'
import type { PathReading } from './path-readings.ts'
import { readingsOf } from './path-readings.ts'

/**
 * `path` covers itself and everything below it, unless `isExact` is set. `*` matches any text within a segment, a
 * segment `**` matches any number of segments. Without `methods`, all methods are covered.
 */
export interface ApiPath {
  host: string
  path: string
  methods?: readonly string[]
  isExact?: boolean
}

export interface ApiCall {
  host: string
  method: string
  path: string
}

/** The pattern of one segment. */
interface Part {
  text: string
  kind: 'literal' | 'text with stars' | 'any one' | 'any number'
}

export interface PathRule {
  parts: readonly Part[]
  hasAnyNumber: boolean
  isExact: boolean
  /** A segment that has to be present exactly, except that a format may follow it. */
  literal: string | undefined
  /** In upper case. Undefined: all. */
  methods: ReadonlySet<string> | undefined
}

export function compilePath({ path, methods, isExact = false }: Omit<ApiPath, 'host'>): PathRule {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map((part): Part => ({ text: part.toLowerCase(), kind: kindOf(part) }))
  return {
    parts,
    hasAnyNumber: parts.some(({ kind }) => kind === 'any number'),
    isExact,
    literal: parts.find(({ kind }) => kind === 'literal')?.text,
    methods: methods && new Set(methods.map((method) => method.toUpperCase())),
  }
}

function kindOf(part: string): Part['kind'] {
  if (part === '**') return 'any number'
  if (part === '*') return 'any one'
  return part.includes('*') ? 'text with stars' : 'literal'
}

export function matchesApiPath(entry: ApiPath, call: ApiCall): boolean {
  // The port is ignored: the rules apply on all ports.
  if (!matchesHost(entry.host, call.host.replace(/:\d*$/, ''))) return false
  return matchesRule(compilePath(entry), readingsOf(call.path), [call.method.trim().toUpperCase()])
}

/** `methods` are all that the upstream might execute the call as. One match is enough; undefined matches any rule. */
export function matchesRule(
  rule: PathRule,
  readings: readonly PathReading[],
  methods: readonly string[] | undefined,
): boolean {
  const { methods: covered } = rule
  if (covered && methods && !methods.some((method) => covered.has(method))) return false
  return readings.some((reading) => coversReading(rule, reading))
}

/**
 * Whether the rule is for this path and no other, however it is interpreted: nothing below it, no format at the end. For
 * rules that make a call milder, where a false match is worse than none.
 */
export function matchesExactly({ parts, hasAnyNumber }: PathRule, readings: readonly PathReading[]): boolean {
  return readings.every(({ segments, isJoined }) => {
    if (isJoined) return false
    if (hasAnyNumber) return endsOf(parts, segments, undefined, isSegment).has(segments.length)
    return parts.length === segments.length && parts.every((part, at) => isSegment(part, segments[at]))
  })
}

/** Whether the rule is for one segment at any depth. */
export function isForAnyPlace({ parts: [first, ...rest], isExact }: PathRule): boolean {
  return first?.kind === 'any number' && rest.length === 1 && !isExact
}

function coversReading(rule: PathRule, { segments, isJoined, hasDots }: PathReading): boolean {
  const { parts, hasAnyNumber, isExact, literal } = rule
  if (!hasAnyNumber && !isJoined) {
    if (isExact && parts.length < segments.length) return false
    return parts.length <= segments.length && parts.every((part, at) => matchesSegment(part, segments[at]))
  }
  // A cheap check that rules out most calls.
  if (literal !== undefined && !segments.some((text) => (hasDots ? text.startsWith(literal) : text === literal))) {
    return false
  }
  if (isForAnyPlace(rule)) return segments.some((segment) => matchesSegment(parts[1], segment))
  const ends = endsOf(parts, segments, isJoined)
  return isExact ? ends.has(segments.length) : ends.size > 0
}

/**
 * How many segments the pattern can cover. Follows all alternatives at once, so the time grows only with the length of
 * the path.
 */
function endsOf(
  parts: readonly Part[],
  segments: readonly string[],
  isJoined: readonly boolean[] | undefined,
  matches = matchesSegment,
): Set<number> {
  let ends = new Set([0])
  for (const part of parts) {
    const next = new Set<number>()
    for (const at of ends) {
      if (part.kind === 'any number') {
        for (let end = at; end <= segments.length && !next.has(end); end++) next.add(end)
        continue
      }
      const segment = segments[at]
      if (!matches(part, segment)) continue
      next.add(at + 1)
      // A name with escaped slashes (`group%2Fproject`) is one segment for servers that don't decode them.
      if (part.kind === 'literal') continue
      for (let end = at + 1; isJoined?.[end] && !next.has(end + 1); end++) next.add(end + 1)
    }
    ends = next
  }
  return ends
}

/** Many frameworks accept a format at the end of a path, known to them or not: `keys.json` is `keys`. */
const format = /\.[a-z0-9]{1,8}$/

function matchesSegment(part: Part | undefined, text: string | undefined): boolean {
  if (part === undefined || text === undefined) return false
  return isSegment(part, text) || (text.includes('.') && matchesText(part, text.replace(format, '')))
}

/** The same without the format. */
function isSegment(part: Part | undefined, text: string | undefined): boolean {
  if (part === undefined || text === undefined) return false
  return part.kind === 'any one' || matchesText(part, text)
}

function matchesText({ kind, text: wanted }: Part, text: string): boolean {
  return kind === 'literal' ? text === wanted : matchesStars(wanted, text)
}

/** Whether a text fits a pattern in which `*` stands for any text. */
export function matchesStars(wanted: string, text: string): boolean {
  const [first = '', ...rest] = wanted.split('*')
  const last = rest.pop() ?? ''
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.endsWith(last) && text.length - last.length >= at
}
