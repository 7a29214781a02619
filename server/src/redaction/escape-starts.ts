/**
 * Iterates over the positions in a text where an escape sequence may begin. Not every one of them is an escape. The
 * state is global, so texts are scanned one at a time: `beginStarts` abandons the previous one.
 */
import { block, blockBytes, findEscapeStarts, starts } from '../platform/scan.ts'
import { isEscapeStart } from './escapes.ts'

/** A range this short is faster to scan byte by byte. */
const fewBytes = 128

/** The range of the text that was copied into the block, and how many starts were found in it. */
let blockFrom = 0
let blockTo = 0
let found = 0
let next = 0
let areQuotesWanted = true

/** `wanted`: the bytes for which escapes are decoded. */
export function beginStarts(from: number, wanted: Uint8Array): void {
  blockFrom = blockTo = from
  found = next = 0
  areQuotesWanted = wanted[0x22] === 1
}

/** The first position at or after `from`, or `to` if there is none. `from` must not decrease from call to call. */
export function nextStart(source: Buffer, from: number, to: number): number {
  // Escapes often follow one another directly.
  if (from < to && isEscapeStart[source[from] ?? 0] === 1) return from
  if (to - from <= fewBytes) return scanBytewise(source, from, to)
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

function scanBytewise(source: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && isEscapeStart[source[at] ?? 0] === 0) at++
  return at
}
