/**
 * Bytes that are written as a list of decimal numbers, as JSON writes a Buffer: `[115, 112, 95]`. Between two numbers
 * stand commas and blanks, and a line goes on in the next one only behind a comma.
 */
import { search } from './block-search.ts'
import type { BlockSearch, Stretch } from './block-search.ts'
import type { Pattern } from './pattern.ts'

export interface ListSpan {
  from: number
  to: number
  /** What stands between its numbers. */
  separator: ',' | ' '
}

const comma = 0x2c
const blanks = [0x20, 0x09, 0x0a, 0x0d]
/** Digits are 1, what stands between numbers is 2. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x30 && byte <= 0x39 ? 1 : byte === comma || blanks.includes(byte) ? 2 : 0,
)
/** More than that between two numbers parts them. */
const longestGap = 64
/** Twelve numbers of two digits, fewer than any search asks for: a look at every so many bytes meets each list. */
const shortestList = 35
const stride = 32

/** Where the list begins that `to` could be within; `to` where it can't be. As for heldFrom, `known` holds until `fresh`. */
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

/** The end of a line that is not behind a comma. */
function endsList(bytes: Uint8Array, at: number, from: number): boolean {
  if (bytes[at] !== 0x0a && bytes[at] !== 0x0d) return false
  let before = at - 1
  // A blank line is none of them: it lets go.
  while (before >= from && at - before < longestGap && isBlankBefore(bytes, before)) before--
  return before < from || bytes[before] !== comma
}

function isBlankBefore(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]
  return byte === 0x20 || byte === 0x09 || (byte === 0x0d && bytes[at + 1] === 0x0a)
}

/** What one list says, and where each of its numbers stands. Kept between calls; nothing waits while it is in use. */
let decoded = Buffer.alloc(0)
let starts = new Int32Array(0)
let ends = new Int32Array(0)

export function findInLists(forms: BlockSearch, stretch: Stretch, found: (span: ListSpan) => void): void {
  const { bytes, from, to } = stretch
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
      searchRun(forms, { ...stretch, from: start, to: end, isEnd: stretch.isEnd && end === to }, found)
    least = end
    at = end + stride
  }
}

/** A run of digits and what stands between them: one list, or several. */
function searchRun(forms: BlockSearch, run: Stretch, found: (span: ListSpan) => void): void {
  const { bytes, from, to } = run
  reserve(to - from)
  // Kept in variables of the loop's own, as it looks at each byte.
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
    if (isOver || at - gapFrom > longestGap) length = searchSome(forms, bytes, length, found)
    if (at === to) break
    const start = at
    let value = 0
    while (at < to && kinds[byte] === 1) {
      value = value > 255 ? value : value * 10 + byte - 0x30
      byte = bytes[++at] ?? 0
    }
    if (value > 255 || at - start > 3) {
      length = searchSome(forms, bytes, length, found)
      continue
    }
    valueFrom[length] = start
    valueTo[length] = at
    values[length++] = value
  }
  // A body can end within a number.
  const last = length - 1
  if (run.isEnd && last >= forms.window && ends[last] === to) {
    searchList(forms, bytes, { bytes: decoded, from: 0, to: last, isEnd: true }, (span) => {
      found({ ...span, to: span.to === ends[last - 1] ? to : span.to })
    })
  }
  searchSome(forms, bytes, length, found, run.isEnd)
}

/** What was decoded so far; nothing of it is needed any more. */
function searchSome(
  forms: BlockSearch,
  source: Buffer,
  length: number,
  found: (span: ListSpan) => void,
  isEnd = false,
): 0 {
  if (length >= forms.window) searchList(forms, source, { bytes: decoded, from: 0, to: length, isEnd }, found)
  return 0
}

function searchList(forms: BlockSearch, source: Buffer, list: Stretch, found: (span: ListSpan) => void): void {
  search(forms, list, false, (pattern, coreStart, coreEnd) => {
    const { from, to } = withEnds(pattern, list, coreStart, coreEnd)
    const start = starts[from] ?? 0
    const isSpaced = source.subarray(ends[from], starts[from + 1]).indexOf(comma) === -1
    found({ from: start, to: ends[to - 1] ?? start, separator: isSpaced ? ' ' : ',' })
  })
}

/** With as much of the pattern as stands beside its core. */
function withEnds(pattern: Pattern, list: Stretch, start: number, end: number) {
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
