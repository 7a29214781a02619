/**
 * Finds the bytes that an escape sequence can begin with: NUL, line breaks, `%`, `&`, `=` and the backslash. The most
 * frequent ones that begin none are left out: line breaks outside base64 and, unless quotes are wanted, `\"`.
 */
import { block } from './block'

/** The positions in the block, in order, as 32-bit numbers: at most one for each byte. */
export const starts: usize = memory.data(32768 * 4, 16)

const base64: usize = memory.data(256)
const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'
for (let index = 0; index < characters.length; index++) store<u8>(base64 + characters.charCodeAt(index), 1)

/** Writes to `starts` and returns how many were found in the first `length` bytes of the block. */
export function findEscapeStarts(length: i32, areQuotesWanted: bool): i32 {
  // Each half of a byte is looked up as a set of groups: 00 0a 0d (1), 25 26 (2), 3d (4), 5c (8). A byte belongs to the
  // group that is in both sets.
  const byLow = i8x16(1, 0, 0, 0, 0, 2, 2, 0, 0, 0, 1, 0, 8, 1 | 4, 0, 0)
  const byHigh = i8x16(1, 0, 2, 4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  let out = starts
  for (let at = 0; at < length; at += 16) {
    const bytes = v128.load(block + at)
    const low = i8x16.swizzle(byLow, v128.and(bytes, i8x16.splat(0x0f)))
    const high = i8x16.swizzle(byHigh, i8x16.shr_u(bytes, 4))
    const both = v128.and(low, high)
    if (!v128.any_true(both)) continue
    let found = i8x16.bitmask(i8x16.ne(both, i8x16.splat(0)))
    if (length - at < 16) found &= (1 << (length - at)) - 1
    for (; found != 0; found &= found - 1) {
      const start = at + ctz(found)
      store<i32>(out, start)
      out += isNoEscape(start, length, areQuotesWanted) ? 0 : 4
    }
  }
  return <i32>((out - starts) >> 2)
}

/** Whether no escape begins here. False if that depends on bytes outside the block. */
function isNoEscape(start: i32, length: i32, areQuotesWanted: bool): bool {
  const byte = load<u8>(block + start)
  const isLast = start + 1 == length
  if (byte == 0x5c) return !areQuotesWanted && !isLast && load<u8>(block + start + 1) == 0x22
  if (byte != 0x0a && byte != 0x0d) return false
  if (start > 0 && load<u8>(base64 + load<u8>(block + start - 1)) == 0) return true
  return byte == 0x0a && !isLast && load<u8>(base64 + load<u8>(block + start + 1)) == 0
}
