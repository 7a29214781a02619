/**
 * Where escapes can begin in a text, one after the other; of bytes that none begins with, some. One text at a time: who
 * begins another has left the last.
 */
import { block, blockBytes, findEscapeStarts, starts } from '../platform/scan.ts'
import { isEscapeStart } from './escapes.ts'

/** In so few bytes it is found sooner by looking at each. */
const fewBytes = 128

/** What of the text is in the block, and how many were found there. */
let blockFrom = 0
let blockTo = 0
let found = 0
let next = 0
let areQuotesWanted = true

/** `wanted`: the bytes that an escape is worth undoing for. */
export function beginStarts(from: number, wanted: Uint8Array): void {
  blockFrom = blockTo = from
  found = next = 0
  areQuotesWanted = wanted[0x22] === 1
}

/** The first one at or behind `from`, which never goes back; where there is none, `to`. */
export function nextStart(source: Buffer, from: number, to: number): number {
  // One escape often follows the other.
  if (from < to && isEscapeStart[source[from] ?? 0] === 1) return from
  if (to - from <= fewBytes) return nextOfFew(source, from, to)
  for (;;) {
    for (; next < found; next++) {
      const at = blockFrom + (starts[next] ?? 0)
      if (at >= from) return at
    }
    if (blockTo === to) return to
    blockFrom = Math.max(from, blockTo)
    blockTo = Math.min(to, blockFrom + blockBytes)
    block.set(source.subarray(blockFrom, blockTo))
    found = findEscapeStarts(blockTo - blockFrom, areQuotesWanted)
    next = 0
  }
}

function nextOfFew(source: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && isEscapeStart[source[at] ?? 0] === 0) at++
  return at
}
