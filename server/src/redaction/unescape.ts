/**
 * Undoes one layer of every escape at once, and remembers where each came from. What is between escapes is copied as
 * it is, so that a text with few of them costs little.
 */
import { asByte, escapeStarts, isEscapeStart, nothing, perLength, readEscape } from './escapes.ts'

/** A text with one layer undone. Of each escape: where it begins and ends, in the view and in what the view is of. */
export interface View {
  bytes: Buffer
  length: number
  escapes: number
  viewFrom: Int32Array
  viewTo: Int32Array
  sourceFrom: Int32Array
  sourceTo: Int32Array
}

export function createView(): View {
  const empty = new Int32Array(0)
  const none = { viewFrom: empty, viewTo: empty, sourceFrom: empty, sourceTo: empty }
  return { bytes: Buffer.alloc(0), length: 0, escapes: 0, ...none }
}

/**
 * Fills the view with what `source` says between `from` and `to`, beginning `margin` before the first escape. False
 * where nothing was to undo. Escapes for bytes that are not `wanted` stay as they are: no secret has such a byte.
 */
export function unescapeInto(
  view: View,
  source: Buffer,
  from: number,
  to: number,
  margin: number,
  wanted: Uint8Array,
): boolean {
  let at = firstStart(source, from, to)
  if (at === to) return false
  view.length = 0
  view.escapes = 0
  let copied = -1
  while (at < to) {
    if (isEscapeStart[source[at] ?? 0] === 0) {
      at++
      continue
    }
    const escape = readEscape(source, at, from, to)
    if (escape === 0) {
      at++
      continue
    }
    const length = Math.floor(escape / perLength)
    const stands = escape % perLength
    if (stands === nothing || isWanted(stands, wanted)) {
      if (copied < 0) {
        copied = Math.max(from, at - margin)
        reserve(view, to - copied)
        addEscape(view, copied, copied, nothing)
      }
      copy(view, source, copied, at)
      addEscape(view, at, at + length, stands)
      copied = at + length
    }
    at += length
  }
  if (copied < 0) return false
  copy(view, source, copied, to)
  return true
}

/** All layers, of a text that is short. */
export function unescapeFully(text: string): string {
  const all = new Uint8Array(256).fill(1)
  const view = createView()
  let bytes = Buffer.from(text, 'latin1')
  while (unescapeInto(view, bytes, 0, bytes.length, bytes.length, all)) {
    bytes = Buffer.from(view.bytes.subarray(0, view.length))
  }
  return bytes.toString('latin1')
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

/** Looking for each start by itself is much faster than looking at every byte, where there are many bytes. */
function firstStart(source: Buffer, from: number, to: number): number {
  if (to - from < 1024) return from
  let end = to
  for (const start of escapeStarts) {
    const found = source.subarray(from, end).indexOf(start)
    if (found !== -1) end = from + found
  }
  return end
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

function copy(view: View, source: Buffer, from: number, to: number): void {
  const { bytes } = view
  let { length } = view
  if (to - from > 64) {
    bytes.set(source.subarray(from, to), length)
    length += to - from
  } else {
    for (let i = from; i < to; i++) bytes[length++] = source[i] ?? 0
  }
  view.length = length
}

function addEscape(view: View, from: number, to: number, stands: number): void {
  const index = view.escapes++
  view.viewFrom[index] = view.length
  view.sourceFrom[index] = from
  view.sourceTo[index] = to
  if (stands >= asByte) {
    if (stands !== nothing) view.bytes[view.length++] = stands - asByte
  } else writeUtf8(view, stands)
  view.viewTo[index] = view.length
}

/** As many bytes as UTF-8 takes: never more than the escape itself. */
function writeUtf8(view: View, point: number): void {
  const { bytes } = view
  if (point < 0x80) bytes[view.length++] = point
  else if (point < 0x800) {
    bytes[view.length++] = 0xc0 | (point >> 6)
    bytes[view.length++] = 0x80 | (point & 0x3f)
  } else if (point < 0x10000) {
    bytes[view.length++] = 0xe0 | (point >> 12)
    bytes[view.length++] = 0x80 | ((point >> 6) & 0x3f)
    bytes[view.length++] = 0x80 | (point & 0x3f)
  } else {
    bytes[view.length++] = 0xf0 | (point >> 18)
    bytes[view.length++] = 0x80 | ((point >> 12) & 0x3f)
    bytes[view.length++] = 0x80 | ((point >> 6) & 0x3f)
    bytes[view.length++] = 0x80 | (point & 0x3f)
  }
}
