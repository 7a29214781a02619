/**
 * Finds secrets written as a list of decimal byte values, as JSON serializes a Buffer: `[115, 112, 95]`. Numbers are
 * separated by commas and blanks, and a list continues on the next line only after a comma.
 */
import { search } from './block-search.ts'
import type { BlockSearch, TextRange } from './block-search.ts'
import type { Pattern } from './pattern.ts'

export interface ListSpan {
  from: number
  to: number
  /** The separator between its numbers. */
  separator: ',' | ' '
}

const comma = 0x2c
const blanks = [0x20, 0x09, 0x0a, 0x0d]
/** 1 for digits, 2 for separators. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x30 && byte <= 0x39 ? 1 : byte === comma || blanks.includes(byte) ? 2 : 0,
)
/** A longer gap between two numbers ends the list. */
const longestGap = 64
/** The length of twelve two-digit numbers, shorter than any match. Checking one byte per `stride` finds every list. */
const shortestList = 35
const stride = 32

/** Where the list that may continue at `to` begins, or `to` if there is none. `known` and `fresh`: see heldFrom. */
export function startOfList(bytes: Uint8Array, known: number, fresh: number, to: number): number {
  let start = to
  let gap = 0
  for (let at = to - 1; at >= known; at--) {
    const byte = bytes[at] ?? 0
    if (kinds[byte] === 1) {
      if (at < fresh) return known
      start = at
      gap = 0
    } else if (kinds[byte] === 0 || ++gap > longestGap || endsList(bytes, at, known)) break
  }
  return start
}

/** Whether there is a line break here that doesn't follow a comma. */
function endsList(bytes: Uint8Array, at: number, from: number): boolean {
  if (bytes[at] !== 0x0a && bytes[at] !== 0x0d) return false
  let before = at - 1
  // Stops at another line break: a blank line ends the list.
  while (before >= from && at - before < longestGap && isBlankBefore(bytes, before)) before--
  return before < from || bytes[before] !== comma
}

function isBlankBefore(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]
  return byte === 0x20 || byte === 0x09 || (byte === 0x0d && bytes[at + 1] === 0x0a)
}

/** One decoded list, and where each number begins and ends. Reused across calls: nothing here is asynchronous. */
let decoded = Buffer.alloc(0)
let starts = new Int32Array(0)
let ends = new Int32Array(0)

export function findInLists(forms: BlockSearch, range: TextRange, found: (span: ListSpan) => void): void {
  const { bytes, from, to } = range
  for (let at = from + stride - 1, least = from; at < to;) {
    if (kinds[bytes[at] ?? 0] === 0) {
      at += stride
      continue
    }
    let start = at
    while (start > least && kinds[bytes[start - 1] ?? 0] !== 0) start--
    let end = at + 1
    while (end < to && kinds[bytes[end] ?? 0] !== 0) end++
    if (end - start >= shortestList)
      searchRun(forms, { ...range, from: start, to: end, isEnd: range.isEnd && end === to }, found)
    least = end
    at = end + stride
  }
}

/** Searches a run of digits and separators, which is one list or several. */
function searchRun(forms: BlockSearch, run: TextRange, found: (span: ListSpan) => void): void {
  const { bytes, from, to } = run
  reserve(to - from)
  // Local variables are faster in this loop over every byte.
  const [values, valueFrom, valueTo] = [decoded, starts, ends]
  let length = 0
  let at = from
  while (at < to) {
    const gapFrom = at
    let isOver = false
    let byte = bytes[at] ?? 0
    while (at < to && kinds[byte] === 2) {
      if (byte < 0x20 && endsList(bytes, at, from)) isOver = true
      byte = bytes[++at] ?? 0
    }
    if (isOver || at - gapFrom > longestGap) length = flushDecoded(forms, bytes, length, found)
    if (at === to) break
    const start = at
    let value = 0
    while (at < to && kinds[byte] === 1) {
      value = value > 255 ? value : value * 10 + byte - 0x30
      byte = bytes[++at] ?? 0
    }
    if (value > 255 || at - start > 3) {
      length = flushDecoded(forms, bytes, length, found)
      continue
    }
    valueFrom[length] = start
    valueTo[length] = at
    values[length++] = value
  }
  // A body can be cut off within a number: search without the last one too.
  const last = length - 1
  if (run.isEnd && last >= forms.window && ends[last] === to) {
    searchList(forms, bytes, { bytes: decoded, from: 0, to: last, isEnd: true }, (span) => {
      found({ ...span, to: span.to === ends[last - 1] ? to : span.to })
    })
  }
  flushDecoded(forms, bytes, length, found, run.isEnd)
}

/** Searches what was decoded so far. Returns the new length, 0: it is not needed any more. */
function flushDecoded(
  forms: BlockSearch,
  source: Buffer,
  length: number,
  found: (span: ListSpan) => void,
  isEnd = false,
): 0 {
  if (length >= forms.window) searchList(forms, source, { bytes: decoded, from: 0, to: length, isEnd }, found)
  return 0
}

function searchList(forms: BlockSearch, source: Buffer, list: TextRange, found: (span: ListSpan) => void): void {
  search(forms, list, false, (pattern, coreStart, coreEnd) => {
    const { from, to } = extendMatch(pattern, list, coreStart, coreEnd)
    const start = starts[from] ?? 0
    const isSpaced = source.subarray(ends[from], starts[from + 1]).indexOf(comma) === -1
    found({ from: start, to: ends[to - 1] ?? start, separator: isSpaced ? ' ' : ',' })
  })
}

/** Extends a match of the core by as much of the pattern as is on both sides. */
export function extendMatch(pattern: Pattern, list: TextRange, start: number, end: number) {
  const { bytes, first, last, fold, coreFrom, coreTo } = pattern
  let [from, to] = [start, end]
  const isAt = (at: number, index: number) => fold[list.bytes[at] ?? 0] === bytes[index]
  for (let before = coreFrom; before > first && from > 0 && isAt(from - 1, before - 1); before--) from--
  for (let after = coreTo; after < last && to < list.to && isAt(to, after); after++) to++
  return { from, to }
}

function reserve(bytes: number): void {
  const most = (bytes >> 1) + 1
  if (decoded.length >= most) return
  decoded = Buffer.allocUnsafeSlow(2 * most)
  starts = new Int32Array(2 * most)
  ends = new Int32Array(2 * most)
}
