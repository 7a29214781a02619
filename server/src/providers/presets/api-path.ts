/**
 * Whether a call falls under a path of a preset. Servers read odd paths differently, so every reading that one of them
 * might make is tried: it is better to refuse a strange call than to let one through.
 */
import { matchesHost } from '../api-hosts.ts'

/**
 * `path` covers itself and everything below it. `*` stands for any text within one segment, a segment `**` for any
 * number of segments. Without `methods` it covers all of them.
 */
export interface ApiPath {
  host: string
  path: string
  methods?: readonly string[]
}

export interface ApiCall {
  host: string
  method: string
  path: string
}

interface Segment {
  text: string
  /** The slash before it was written as an escape: some servers read it as a slash, others as part of a name. */
  isJoined: boolean
}

export function matchesApiPath(entry: ApiPath, call: ApiCall): boolean {
  // A port is not looked at: the same server answers, or none.
  if (!matchesHost(entry.host, call.host.replace(/:\d*$/, ''))) return false
  const method = call.method.trim().toUpperCase()
  if (entry.methods && !entry.methods.some((one) => one.toUpperCase() === method)) return false
  const pattern = entry.path.split('/').filter((part) => part !== '')
  const segments = segmentsOf(call.path)
  return covers(pattern, segments) || covers(pattern, withoutDots(segments))
}

function segmentsOf(path: string): Segment[] {
  const [bare = ''] = path.split(/[?#]/)
  const found: Segment[] = []
  for (const written of bare.split(/[/\\]/)) {
    unescaped(written)
      .split(/[/\\]/)
      .forEach((part, at) => {
        const text = withoutParameters(part)
        if (text !== '') found.push({ text, isJoined: at > 0 })
      })
  }
  return found
}

/** Escapes of escapes too (`%2563` is `%63` is `c`): a proxy before the server may have undone one layer. */
function unescaped(text: string): string {
  const undo = (one: string) =>
    one.replace(/%(?:25)*([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return undo(undo(undo(text)))
}

/** `keys;v=1` is `keys` for some servers, others stop at an escaped `?` or `#`, or drop blanks and control characters. */
function withoutParameters(segment: string): string {
  const [name = ''] = segment.split(/[;?#]/)
  return name.replace(/[\p{Cc}\s]+/gu, '').toLowerCase()
}

function withoutDots(segments: Segment[]): Segment[] {
  const kept: Segment[] = []
  for (const segment of segments) {
    if (segment.text === '..') kept.pop()
    else if (segment.text !== '.') kept.push(segment)
  }
  return kept
}

/** Follows all ways through the pattern at once, so that the work grows only with the length of the path. */
function covers(pattern: string[], segments: Segment[]): boolean {
  let ends = new Set([0])
  for (const part of pattern) {
    const next = new Set<number>()
    for (const at of ends) {
      if (part === '**') {
        for (let end = at; end <= segments.length && !next.has(end); end++) next.add(end)
        continue
      }
      const segment = segments[at]
      if (!segment || !matchesSegment(part, segment.text)) continue
      next.add(at + 1)
      // A name with escaped slashes in it (`group%2Fproject`) is one segment for the server that keeps them.
      if (!part.includes('*')) continue
      for (let end = at + 1; segments[end]?.isJoined && !next.has(end + 1); end++) next.add(end + 1)
    }
    ends = next
  }
  return ends.size > 0
}

/** Many frameworks take a format at the end of a path: `keys.json` is `keys`. */
const formats = /\.(?:json|xml|html?|js|csv|ya?ml|atom|rss|txt)$/

function matchesSegment(part: string, text: string): boolean {
  const wanted = part.toLowerCase()
  if (wanted === '*') return true
  return matchesText(wanted, text) || matchesText(wanted, text.replace(formats, ''))
}

function matchesText(wanted: string, text: string): boolean {
  const [first = '', ...rest] = wanted.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.endsWith(last) && text.length - last.length >= at
}
