/**
 * Decodes one layer of escapes of all kinds, and records where each was. Between escapes, only bytes that could be part
 * of the same form as an escape are copied, so a text with few escapes costs little.
 */
import { beginStarts, nextStart } from './escape-starts.ts'
import { asByte, lengthOf, meaningOf, nothing, readEscape } from './escapes.ts'

/** A text with one layer decoded. The arrays hold where each escape begins and ends, in the view and in its source. */
export interface View {
  bytes: Buffer
  length: number
  escapes: number
  viewFrom: Int32Array
  viewTo: Int32Array
  sourceFrom: Int32Array
  sourceTo: Int32Array
  /** Whether it extends to the end of its source. */
  reachesEnd: boolean
}

/** What decoding has to know about the secrets. */
export interface DecodingScope {
  /** How far from an escape a form can extend. */
  reach: number
  /** The bytes that can be part of a form. */
  held: Uint8Array
  /** The bytes for which escapes are decoded. */
  wanted: Uint8Array
}

export function createView(): View {
  const empty = new Int32Array(0)
  const none = { viewFrom: empty, viewTo: empty, sourceFrom: empty, sourceTo: empty }
  return { bytes: Buffer.alloc(0), length: 0, escapes: 0, reachesEnd: false, ...none }
}

/** Replaces text that is left out between two escapes. If it can be part of a form itself, nothing is left out. */
const gap = 0x20

/**
 * Fills the view with the decoded escapes of `source` between `from` and `to`, and the text around them. False if there
 * are none. Escapes for bytes that are not `wanted` are not decoded: no secret contains such a byte.
 */
export function unescapeInto(
  view: View,
  source: Buffer,
  from: number,
  to: number,
  { reach: usualReach, held, wanted }: DecodingScope,
): boolean {
  beginStarts(from, wanted)
  let at = nextStart(source, from, to)
  if (at === to) return false
  reserve(view, to - from)
  // Local variables are faster: this is the redactor's hottest loop.
  const { bytes, viewFrom, viewTo, sourceFrom, sourceTo } = view
  const reach = held[gap] === 1 ? source.length : usualReach
  let copied = -1
  let length = 0
  let escapes = 0
  for (;;) {
    at = nextStart(source, at, to)
    if (at === to) break
    const escape = readEscape(source, at, from, to)
    if (escape === 0) {
      at++
      continue
    }
    const end = at + lengthOf(escape)
    const decodesTo = meaningOf(escape)
    if (decodesTo !== nothing && !isWanted(decodesTo, wanted)) {
      at = end
      continue
    }
    if (copied < 0) {
      copied = runBefore(source, at, Math.max(from, at - reach), held)
      sourceTo[0] = copied
      viewFrom[0] = viewTo[0] = 0
      escapes = 1
    } else if (at - copied > shortGap) {
      const stop = runAfter(source, copied, Math.min(at, copied + reach), held)
      const start = runBefore(source, at, Math.max(stop, at - reach), held)
      if (start > stop) {
        length = copy(source, copied, stop, bytes, length)
        viewFrom[escapes] = length
        sourceFrom[escapes] = stop
        sourceTo[escapes] = copied = start
        bytes[length++] = gap
        viewTo[escapes] = length
        escapes++
      }
    }
    length = copy(source, copied, at, bytes, length)
    viewFrom[escapes] = length
    sourceFrom[escapes] = at
    sourceTo[escapes] = end
    if (decodesTo < 0x80) bytes[length++] = decodesTo
    else if (decodesTo < asByte) length = writeUtf8(decodesTo, bytes, length)
    else if (decodesTo !== nothing) bytes[length++] = decodesTo - asByte
    viewTo[escapes] = length
    escapes++
    copied = at = end
  }
  if (copied < 0) return false
  const stop = runAfter(source, copied, Math.min(to, copied + reach), held)
  view.length = copy(source, copied, stop, bytes, length)
  view.escapes = escapes
  view.reachesEnd = stop === to
  return true
}

/** Copying up to this many bytes is faster than leaving them out. */
const shortGap = 16

/** Where the bytes before `at` that could be part of a form begin. */
function runBefore(source: Buffer, at: number, least: number, held: Uint8Array): number {
  let start = at
  while (start > least && held[source[start - 1] ?? 0] === 1) start--
  return start
}

/** Where the bytes from `at` on that could be part of a form end. */
function runAfter(source: Buffer, at: number, most: number, held: Uint8Array): number {
  let end = at
  while (end < most && held[source[end] ?? 0] === 1) end++
  return end
}

/** The maximum number of layers that are decoded, such as JSON in JSON in a URL in an HTML page. */
export const layers = 5

/** Yields the text itself, then with one layer decoded, with two, and so on. */
export function* unescaped(text: string): Generator<string> {
  yield text
  const all = new Uint8Array(256).fill(1)
  const everything = { reach: 0, held: all, wanted: all }
  const view = createView()
  let bytes = Buffer.from(text, 'latin1')
  for (let layer = 0; layer < layers; layer++) {
    if (!unescapeInto(view, bytes, 0, bytes.length, everything)) return
    bytes = Buffer.from(view.bytes.subarray(0, view.length))
    yield bytes.toString('latin1')
  }
}

/** Where the view's byte at `at` begins in its source. */
export function sourceStart(view: View, at: number): number {
  const index = lastEscape(view, at)
  const isWithin = at < (view.viewTo[index] ?? 0)
  return isWithin ? (view.sourceFrom[index] ?? 0) : (view.sourceTo[index] ?? 0) + at - (view.viewTo[index] ?? 0)
}

/** Where the view's byte before `end` ends in its source. */
export function sourceEnd(view: View, end: number): number {
  const index = lastEscape(view, end - 1)
  const isWithin = end <= (view.viewTo[index] ?? 0)
  return isWithin ? (view.sourceTo[index] ?? 0) : (view.sourceTo[index] ?? 0) + end - (view.viewTo[index] ?? 0)
}

/** The index of the last escape that begins at or before `at`. */
function lastEscape({ viewFrom, escapes }: View, at: number): number {
  let low = 0
  let high = escapes - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((viewFrom[middle] ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}

function isWanted(decodesTo: number, wanted: Uint8Array): boolean {
  const byte = decodesTo >= asByte ? decodesTo - asByte : Math.min(decodesTo, 0xff)
  return wanted[byte] === 1
}

/** There are at most as many escapes as bytes, plus one entry for the start. */
function reserve(view: View, bytes: number): void {
  if (view.bytes.length >= bytes) return
  const size = bytes + (bytes >> 1)
  view.bytes = Buffer.allocUnsafeSlow(size)
  view.viewFrom = new Int32Array(size + 1)
  view.viewTo = new Int32Array(size + 1)
  view.sourceFrom = new Int32Array(size + 1)
  view.sourceTo = new Int32Array(size + 1)
}

/** Returns where the copy ends. */
function copy(source: Buffer, from: number, to: number, bytes: Buffer, length: number): number {
  // A call of `set` costs as much as copying a few hundred bytes in a loop.
  if (to - from > 400) {
    bytes.set(source.subarray(from, to), length)
    return length + to - from
  }
  let end = length
  for (let at = from; at < to; at++) bytes[end++] = source[at] ?? 0
  return end
}

/** Writes a code point as UTF-8, which never takes more bytes than its escape. */
function writeUtf8(point: number, bytes: Buffer, length: number): number {
  let end = length
  if (point < 0x800) bytes[end++] = 0xc0 | (point >> 6)
  else {
    if (point < 0x10000) bytes[end++] = 0xe0 | (point >> 12)
    else {
      bytes[end++] = 0xf0 | (point >> 18)
      bytes[end++] = 0x80 | ((point >> 12) & 0x3f)
    }
    bytes[end++] = 0x80 | ((point >> 6) & 0x3f)
  }
  bytes[end++] = 0x80 | (point & 0x3f)
  return end
}
