/**
 * Undoes one layer of every escape at once, and remembers where each came from. Of what is between escapes only that is
 * copied which could be part of a form together with one of them, so that a text with few of them costs little.
 */
import { beginStarts, nextStart } from './escape-starts.ts'
import { asByte, lengthOf, meaningOf, nothing, readEscape } from './escapes.ts'

/** A text with one layer undone. Of each escape: where it begins and ends, in the view and in what the view is of. */
export interface View {
  bytes: Buffer
  length: number
  escapes: number
  viewFrom: Int32Array
  viewTo: Int32Array
  sourceFrom: Int32Array
  sourceTo: Int32Array
  /** It ends where what it is of ends. */
  reachesEnd: boolean
}

/** What matters of the secrets that are searched for. */
export interface Sought {
  /** So far from an escape a form can reach. */
  reach: number
  /** The bytes that can be part of a form. */
  held: Uint8Array
  /** The bytes that an escape is worth undoing for. */
  wanted: Uint8Array
}

export function createView(): View {
  const empty = new Int32Array(0)
  const none = { viewFrom: empty, viewTo: empty, sourceFrom: empty, sourceTo: empty }
  return { bytes: Buffer.alloc(0), length: 0, escapes: 0, reachesEnd: false, ...none }
}

/** Stands for what was left out between two escapes; where it can be part of a form, nothing is. */
const gap = 0x20

/**
 * Fills the view with what `source` says around its escapes between `from` and `to`. False where nothing was to undo.
 * Escapes for bytes that are not `wanted` stay as they are: no secret has such a byte.
 */
export function unescapeInto(
  view: View,
  source: Buffer,
  from: number,
  to: number,
  { reach: usualReach, held, wanted }: Sought,
): boolean {
  beginStarts(from, wanted)
  let at = nextStart(source, from, to)
  if (at === to) return false
  reserve(view, to - from)
  // Kept in variables of the loop's own: it is the redactor's hottest.
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
    const stands = meaningOf(escape)
    if (stands !== nothing && !isWanted(stands, wanted)) {
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
    if (stands < 0x80) bytes[length++] = stands
    else if (stands < asByte) length = writeUtf8(stands, bytes, length)
    else if (stands !== nothing) bytes[length++] = stands - asByte
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

/** To leave out less takes longer than to copy it. */
const shortGap = 16

/** Where the bytes begin that stand before `at` and could be part of a form. */
function runBefore(source: Buffer, at: number, least: number, held: Uint8Array): number {
  let start = at
  while (start > least && held[source[start - 1] ?? 0] === 1) start--
  return start
}

/** Where those end that begin at `at`. */
function runAfter(source: Buffer, at: number, most: number, held: Uint8Array): number {
  let end = at
  while (end < most && held[source[end] ?? 0] === 1) end++
  return end
}

/** As many layers as are ever undone: JSON in JSON in a URL in a page, say. */
export const layers = 5

/** The text itself, and what it is with one layer undone, with two, and on. */
export function* unescaped(text: string): Generator<string> {
  yield text
  const all = new Uint8Array(256).fill(1)
  const sought = { reach: 0, held: all, wanted: all }
  const view = createView()
  let bytes = Buffer.from(text, 'latin1')
  for (let layer = 0; layer < layers; layer++) {
    if (!unescapeInto(view, bytes, 0, bytes.length, sought)) return
    bytes = Buffer.from(view.bytes.subarray(0, view.length))
    yield bytes.toString('latin1')
  }
}

/** Where in the view's source its byte at `at` begins. */
export function sourceStart(view: View, at: number): number {
  const index = lastEscape(view, at)
  const isWithin = at < (view.viewTo[index] ?? 0)
  return isWithin ? (view.sourceFrom[index] ?? 0) : (view.sourceTo[index] ?? 0) + at - (view.viewTo[index] ?? 0)
}

/** Where in the view's source its byte before `end` ends. */
export function sourceEnd(view: View, end: number): number {
  const index = lastEscape(view, end - 1)
  const isWithin = end <= (view.viewTo[index] ?? 0)
  return isWithin ? (view.sourceTo[index] ?? 0) : (view.sourceTo[index] ?? 0) + end - (view.viewTo[index] ?? 0)
}

/** The last one that begins at or before `at`. */
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

function isWanted(stands: number, wanted: Uint8Array): boolean {
  const byte = stands >= asByte ? stands - asByte : Math.min(stands, 0xff)
  return wanted[byte] === 1
}

/** There are never more escapes than bytes, and one for the start. */
function reserve(view: View, bytes: number): void {
  if (view.bytes.length >= bytes) return
  const size = bytes + (bytes >> 1)
  view.bytes = Buffer.allocUnsafeSlow(size)
  view.viewFrom = new Int32Array(size + 1)
  view.viewTo = new Int32Array(size + 1)
  view.sourceFrom = new Int32Array(size + 1)
  view.sourceTo = new Int32Array(size + 1)
}

/** Where the copy ends. */
function copy(source: Buffer, from: number, to: number, bytes: Buffer, length: number): number {
  // A call costs as much as some hundred bytes in a loop.
  if (to - from > 400) {
    bytes.set(source.subarray(from, to), length)
    return length + to - from
  }
  let end = length
  for (let at = from; at < to; at++) bytes[end++] = source[at] ?? 0
  return end
}

/** As many bytes as UTF-8 takes: never more than the escape itself. */
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
