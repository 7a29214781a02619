/**
 * Where the bytes stand that an escape can begin with: NUL, line breaks, `%`, `&`, `=` and the backslash. The commonest
 * that are none are left out: line breaks that are not within base64 and, unless they are wanted, `\"`.
 */
import { block } from './block'

/** The places in the block, in order, as 32-bit numbers: one for each byte at most. */
export const starts: usize = memory.data(32768 * 4, 16)

const base64: usize = memory.data(256)
const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'
for (let index = 0; index < characters.length; index++) store<u8>(base64 + characters.charCodeAt(index), 1)

/** How many there are among the block's first `length` bytes. */
export function findEscapeStarts(length: i32, areQuotesWanted: bool): i32 {
  // Either half of a byte names some of 00 0a 0d (1), 25 26 (2), 3d (4) and 5c (8); what both name, the byte is.
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
      out += isNone(start, length, areQuotesWanted) ? 0 : 4
    }
  }
  return <i32>((out - starts) >> 2)
}

/** Whatever lies outside the block: there it could be one. */
function isNone(start: i32, length: i32, areQuotesWanted: bool): bool {
  const byte = load<u8>(block + start)
  const isLast = start + 1 == length
  if (byte == 0x5c) return !areQuotesWanted && !isLast && load<u8>(block + start + 1) == 0x22
  if (byte != 0x0a && byte != 0x0d) return false
  if (start > 0 && load<u8>(base64 + load<u8>(block + start - 1)) == 0) return true
  return byte == 0x0a && !isLast && load<u8>(base64 + load<u8>(block + start + 1)) == 0
}
