/**
 * How much of what came has to wait for more. It is decided by which bytes stand at the end and how many, never by
 * whether they are like a secret: who can place guesses in a stream would learn a secret by watching what waits.
 */
import { startOfList } from './decimal-lists.ts'
import { isBase64 } from './escapes.ts'

/** A secret has no spaces, quotes, commas or brackets; forms add line breaks and, in UTF-16, NUL. */
export const usualBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[!#$%&()*+\-./0-9:;=?@A-Z\\^_`a-z|~\r\n\0]$/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** For a secret that does have such. That it has is all that shows. */
export const anyByte = new Uint8Array(256).fill(1)

/** A line of base64 that goes on in the next one is at least that long. */
const shortestLine = 16

/**
 * Where the bytes that have to wait begin. Until `fresh` the answer is known already: `known`. Where more than `most`
 * would wait, only as many do as the longest form has: what began earlier is complete.
 */
export function heldFrom(
  bytes: Uint8Array,
  { known, fresh, to, most }: { known: number; fresh: number; to: number; most: number },
  { held, longestForm }: { held: Uint8Array; longestForm: number },
): number {
  // Nobody has to know how much longer than that it is. A line before it is needed to judge a break.
  const least = Math.max(known, to - most - 2 * shortestLine)
  const from = Math.min(startOfRun(bytes, least, fresh, to, held), startOfList(bytes, least, fresh, to))
  return to - from > most ? to - longestForm : from
}

function startOfRun(bytes: Uint8Array, known: number, fresh: number, to: number, held: Uint8Array): number {
  let at = to
  while (at > known) {
    const byte = bytes[at - 1] ?? 0
    if (byte === 0x0a || byte === 0x0d) {
      const line = beforeBreaks(bytes, known, at)
      if (!goesOn(bytes, known, line, at)) return at
      at = line
      continue
    }
    if (held[byte] === 0) return at
    // Only a break of lines can be read anew with what follows it.
    if (at <= fresh) return known
    at--
  }
  return known
}

/** Where the line breaks begin that end at `at`. */
function beforeBreaks(bytes: Uint8Array, from: number, at: number): number {
  let start = at
  while (start > from && (bytes[start - 1] === 0x0a || bytes[start - 1] === 0x0d)) start--
  return start
}

/** A blank line always lets go, and so does the end of a line that is neither base64 nor broken softly. */
function goesOn(bytes: Uint8Array, from: number, lineEnd: number, breakEnd: number): boolean {
  const isOneBreak =
    breakEnd - lineEnd === 1 || (breakEnd - lineEnd === 2 && bytes[lineEnd] === 0x0d && bytes[lineEnd + 1] === 0x0a)
  if (!isOneBreak || lineEnd === from) return false
  const last = bytes[lineEnd - 1]
  if (last === 0x3d || last === 0x5c) return true
  if (lineEnd - from < shortestLine) return false
  for (let at = lineEnd - shortestLine; at < lineEnd; at++) if (isBase64[bytes[at] ?? 0] === 0) return false
  return true
}
