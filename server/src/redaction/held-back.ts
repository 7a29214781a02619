/**
 * Decides how many bytes at the end of a stream's buffer are held back until more arrives. That depends only on the
 * kind and number of these bytes, never on whether they resemble a secret: otherwise someone who can place guesses in a
 * stream could learn the secret by watching what is held back.
 */
import { startOfList } from './decimal-lists.ts'
import { startOfHexList } from './hex-lists.ts'
import { isBase64 } from './escapes.ts'

/** Secrets usually contain no spaces, quotes, commas or brackets. Encodings add line breaks and, in UTF-16, NUL. */
export const usualBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[!#$%&()*+\-./0-9:;=?@A-Z\\^_`a-z|~\r\n\0]$/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** For a secret that contains other bytes. An observer learns no more than that it does. */
export const anyByte = new Uint8Array(256).fill(1)

/** Base64 that continues on the next line has lines of at least this length. */
const shortestLine = 16

/**
 * Where the bytes to hold back begin. Those before `fresh` were examined by an earlier call, whose result was `known`.
 * If more than `most` bytes would be held back, only the length of the longest form is: a form that began earlier is
 * complete.
 */
export function heldFrom(
  bytes: Uint8Array,
  { known, fresh, to, most }: { known: number; fresh: number; to: number; most: number },
  { held, longestForm }: { held: Uint8Array; longestForm: number },
): number {
  // Looking further back would not change the result. The extra bytes are needed to judge a line break.
  const least = Math.max(known, to - most - 2 * shortestLine)
  const from = Math.min(
    startOfRun(bytes, least, fresh, to, held),
    startOfList(bytes, least, fresh, to),
    startOfHexList(bytes, least, fresh, to),
  )
  return to - from > most ? to - longestForm : from
}

function startOfRun(bytes: Uint8Array, known: number, fresh: number, to: number, held: Uint8Array): number {
  let at = to
  while (at > known) {
    const byte = bytes[at - 1] ?? 0
    if (byte === 0x0a || byte === 0x0d) {
      const line = beforeBreaks(bytes, known, at)
      if (!continuesAfterBreak(bytes, known, line, at)) return at
      at = line
      continue
    }
    if (held[byte] === 0) return at
    // Of the bytes examined earlier, only line breaks can be judged differently now that more has arrived.
    if (at <= fresh) return known
    at--
  }
  return known
}

/** Where the line breaks that end at `at` begin. */
function beforeBreaks(bytes: Uint8Array, from: number, at: number): number {
  let start = at
  while (start > from && (bytes[start - 1] === 0x0a || bytes[start - 1] === 0x0d)) start--
  return start
}

/** Whether a form may continue on the next line: only after base64 or a soft line break, never after a blank line. */
function continuesAfterBreak(bytes: Uint8Array, from: number, lineEnd: number, breakEnd: number): boolean {
  const isOneBreak =
    breakEnd - lineEnd === 1 || (breakEnd - lineEnd === 2 && bytes[lineEnd] === 0x0d && bytes[lineEnd + 1] === 0x0a)
  if (!isOneBreak || lineEnd === from) return false
  const last = bytes[lineEnd - 1]
  if (last === 0x3d || last === 0x5c) return true
  if (lineEnd - from < shortestLine) return false
  for (let at = lineEnd - shortestLine; at < lineEnd; at++) if (isBase64[bytes[at] ?? 0] === 0) return false
  return true
}
