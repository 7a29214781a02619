/**
 * Finds secrets written as a list of hexadecimal byte values, as error pages and dumps print them: `41 57 53`,
 * `41:57:53`, `0x41, 0x57`. Between two bytes there are up to four blanks, commas, colons or hyphens, and no new line.
 */
import { search } from './block-search.ts'
import type { BlockSearch, TextRange } from './block-search.ts'
import { extendMatch } from './decimal-lists.ts'

export interface HexSpan {
  from: number
  to: number
}

/** The digit's value plus one; 0 for any other byte. */
const digits = Uint8Array.from({ length: 256 }, (_, byte) => {
  const at = '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase())
  return at + 1
})
const separators = Uint8Array.from({ length: 256 }, (_, byte) => (' \t,:-'.includes(String.fromCharCode(byte)) ? 1 : 0))
const zero = 0x30
const isX = (byte: number | undefined) => byte === 0x78 || byte === 0x58
const longestGap = 4
/** Twelve bytes, shorter than any match. Checking one byte per `stride` finds every list. */
const shortestList = 35
const stride = 32

/** May belong to a list. */
const hexListBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  (digits[byte] ?? 0) > 0 || separators[byte] === 1 || isX(byte) ? 1 : 0,
)

let decoded = Buffer.alloc(0)
let starts = new Int32Array(0)
let ends = new Int32Array(0)

export function findInHexLists(forms: BlockSearch, range: TextRange, found: (span: HexSpan) => void): void {
  const { bytes, from, to } = range
  for (let at = from + stride - 1, least = from; at < to;) {
    if (hexListBytes[bytes[at] ?? 0] === 0) {
      at += stride
      continue
    }
    let start = at
    while (start > least && hexListBytes[bytes[start - 1] ?? 0] !== 0) start--
    let end = at + 1
    while (end < to && hexListBytes[bytes[end] ?? 0] !== 0) end++
    if (end - start >= shortestList) searchRun(forms, bytes, start, end, range.isEnd && end === to, found)
    least = end
    at = end + stride
  }
}

function isDigit(byte: number | undefined): boolean {
  return (digits[byte ?? 0] ?? 0) > 0
}

function searchRun(
  forms: BlockSearch,
  bytes: Buffer,
  from: number,
  to: number,
  isEnd: boolean,
  found: (span: HexSpan) => void,
): void {
  reserve(to - from)
  let length = 0
  const flush = (isLast: boolean) => {
    if (length >= forms.window) {
      const list = { bytes: decoded, from: 0, to: length, isEnd: isLast }
      search(forms, list, false, (pattern, start, end) => {
        const match = extendMatch(pattern, list, start, end)
        found({ from: starts[match.from] ?? 0, to: ends[match.to - 1] ?? 0 })
      })
    }
    length = 0
  }
  const add = (start: number, first: number) => {
    starts[length] = start
    ends[length] = first + 2
    decoded[length++] = ((digits[bytes[first] ?? 0] ?? 1) - 1) * 16 + (digits[bytes[first + 1] ?? 0] ?? 1) - 1
  }
  const isValue = (first: number, end: number) => first + 1 < end && isDigit(bytes[first]) && isDigit(bytes[first + 1])
  for (let at = from; at < to;) {
    const gapFrom = at
    while (at < to && separators[bytes[at] ?? 0] === 1) at++
    if (at - gapFrom > longestGap) flush(false)
    let end = at
    while (end < to && separators[bytes[end] ?? 0] === 0) end++
    const first = bytes[at] === zero && isX(bytes[at + 1]) ? at + 2 : at
    if (end - first === 2 && isValue(first, end)) add(at, first)
    else if (end > at) {
      // Other text may adjoin the list: its last value begins this group, or the first one of another ends it.
      if (length > 0 && isValue(first, end)) add(at, first)
      flush(isEnd && end === to && end - first < 2)
      if (isValue(end - 2, end) && end - 2 > first) add(end - 2, end - 2)
    }
    at = end
  }
  flush(isEnd)
}

function reserve(bytes: number): void {
  const most = (bytes >> 1) + 2
  if (decoded.length >= most) return
  decoded = Buffer.allocUnsafeSlow(2 * most)
  starts = new Int32Array(2 * most)
  ends = new Int32Array(2 * most)
}

/**
 * Where the list that may continue at `to` begins, or `to` if there is none: groups of two digits, of which the last one
 * may be incomplete. `known` and `fresh`: see heldFrom.
 */
export function startOfHexList(bytes: Uint8Array, known: number, fresh: number, to: number): number {
  let start = to
  for (let at = to; at > known;) {
    const isLast = at === to
    let gap = 0
    while (at > known && separators[bytes[at - 1] ?? 0] === 1) {
      at--
      gap++
    }
    const mayBePart = isLast && gap === 0
    let count = 0
    while (count < 3 && at > known && (digits[bytes[at - 1] ?? 0] ?? 0) > 0) {
      at--
      count++
    }
    if (at - 1 > known && isX(bytes[at - 1]) && bytes[at - 2] === zero) at -= 2
    const isGroup = mayBePart ? count <= 2 && at < to : count === 2
    if (gap > longestGap || !isGroup || isWord(bytes[at - 1])) break
    if (at < fresh) return known
    start = at
    if (separators[bytes[at - 1] ?? 0] === 0) break
  }
  return start
}

function isWord(byte: number | undefined): boolean {
  return byte !== undefined && /\w/.test(String.fromCharCode(byte))
}
