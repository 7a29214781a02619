/** Reads one escape sequence: its length, and what it decodes to. */
import { addLetter, htmlEntities } from './html-entities.ts'

/**
 * Both are packed into one number to avoid allocations: the length times `perLength`, plus a code point, or `asByte`
 * plus a byte, or `nothing` for a line break or NULs, which are dropped. 0 if there is no escape.
 */
const perLength = 0x200000
export const asByte = 0x110000
export const nothing = 0x110100

export function lengthOf(escape: number): number {
  return escape >>> 21
}

export function meaningOf(escape: number): number {
  return escape & 0x1fffff
}

/** The bytes that an escape can begin with. */
const escapeStarts = [0x00, 0x0a, 0x0d, 0x25, 0x26, 0x3d, 0x5c]

export const isEscapeStart = Uint8Array.from({ length: 256 }, (_, byte) => (escapeStarts.includes(byte) ? 1 : 0))

export const isBase64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[\w+/=-]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

const hexValue = Int8Array.from({ length: 256 }, (_, byte) =>
  /[\da-f]/i.test(String.fromCharCode(byte)) ? parseInt(String.fromCharCode(byte), 16) : -1,
)

const isPunctuation = Uint8Array.from({ length: 256 }, (_, byte) =>
  /^[!-/:-@[-`{-~]$/.test(String.fromCharCode(byte)) ? 1 : 0,
)

const none = 0
/** Longer entities are not decoded: a stream would have to hold back more. */
const longestEntity = 10

export function readEscape(input: Uint8Array, at: number, from: number, to: number): number {
  switch (input[at]) {
    case 0x00:
      return nulls(input, at, to)
    case 0x0a:
    case 0x0d:
      return lineBreak(input, at, from, to)
    case 0x25:
      return byteInHex(input, at + 1, to, 3)
    case 0x26:
      return entity(input, at, to)
    case 0x3d:
      return byteInHex(input, at + 1, to, 3) || softBreak(input, at, to)
    case 0x5c:
      return backslash(input, at, to)
    default:
      return none
  }
}

/** UTF-16 and UTF-32 have NULs between ASCII characters. */
function nulls(input: Uint8Array, at: number, to: number): number {
  const limit = Math.min(to, at + 0xff)
  let end = at + 1
  while (end < limit && input[end] === 0) end++
  return (end - at) * perLength + nothing
}

/** Drops a line break within base64. A blank line is not dropped: a stream releases there what it held back. */
function lineBreak(input: Uint8Array, at: number, from: number, to: number): number {
  const end = endOfLine(input, at, to)
  const isWithin = at > from && end < to && isBase64[input[at - 1] ?? 0] === 1 && isBase64[input[end] ?? 0] === 1
  return isWithin ? (end - at) * perLength + nothing : none
}

/** A soft line break: `=` in quoted-printable, or a backslash at the end of a line. */
function softBreak(input: Uint8Array, at: number, to: number): number {
  const isBreak = at + 1 < to && (input[at + 1] === 0x0a || input[at + 1] === 0x0d)
  if (!isBreak) return none
  const end = endOfLine(input, at + 1, to)
  // The bytes from `to` on may be left over from another text.
  const isBlankLine = end < to && (input[end] === 0x0a || input[end] === 0x0d)
  return isBlankLine ? none : (end - at) * perLength + nothing
}

function endOfLine(input: Uint8Array, at: number, to: number): number {
  return input[at] === 0x0d && at + 1 < to && input[at + 1] === 0x0a ? at + 2 : at + 1
}

function byteInHex(input: Uint8Array, at: number, to: number, length: number): number {
  const value = hexDigits(input, at, to, 2)
  return value < 0 ? none : length * perLength + asByte + value
}

/** Negative if one of them is missing or not a hex digit. */
function hexDigits(input: Uint8Array, at: number, to: number, count: number): number {
  if (at + count > to) return -1
  let value = 0
  for (let i = at; i < at + count; i++) {
    const digit = hexValue[input[i] ?? 0] ?? -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function backslash(input: Uint8Array, at: number, to: number): number {
  if (at + 1 >= to) return none
  const next = input[at + 1] ?? 0
  if (next === 0x75) return utf16Escape(input, at, to)
  if (next === 0x78) return byteInHex(input, at + 2, to, 4)
  if (next >= 0x30 && next <= 0x33) return octal(input, at, to)
  if (next === 0x6e) return 2 * perLength + 0x0a
  if (next === 0x72) return 2 * perLength + 0x0d
  if (next === 0x74) return 2 * perLength + 0x09
  if (next === 0x0a || next === 0x0d) return softBreak(input, at, to)
  return isPunctuation[next] === 1 ? 2 * perLength + next : none
}

function utf16Escape(input: Uint8Array, at: number, to: number): number {
  const first = hexDigits(input, at + 2, to, 4)
  if (first < 0) return none
  const isPair = first >> 10 === 0x36 && input[at + 6] === 0x5c && input[at + 7] === 0x75
  const second = isPair ? hexDigits(input, at + 8, to, 4) : -1
  if (second >> 10 !== 0x37) return 6 * perLength + first
  return 12 * perLength + 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)
}

function octal(input: Uint8Array, at: number, to: number): number {
  if (at + 4 > to) return none
  let value = 0
  for (let i = at + 1; i < at + 4; i++) {
    const digit = (input[i] ?? 0) - 0x30
    if (digit < 0 || digit > 7) return none
    value = value * 8 + digit
  }
  return 4 * perLength + asByte + value
}

function entity(input: Uint8Array, at: number, to: number): number {
  if (input[at + 1] === 0x23) return numericEntity(input, at, to)
  const limit = Math.min(to, at + longestEntity)
  let end = at + 1
  let name = 0
  for (; end < limit && isLetter(input[end] ?? 0); end++) name = addLetter(name, input[end] ?? 0)
  if (end >= limit || input[end] !== 0x3b) return none
  const point = htmlEntities.get(name)
  return point === undefined ? none : (end + 1 - at) * perLength + point
}

function isLetter(byte: number): boolean {
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
}

/** The semicolon is optional, as in browsers. */
function numericEntity(input: Uint8Array, at: number, to: number): number {
  const isHex = ((input[at + 2] ?? 0) | 0x20) === 0x78
  const base = isHex ? 16 : 10
  const start = at + (isHex ? 3 : 2)
  const limit = Math.min(to, start + longestEntity)
  let end = start
  let point = 0
  for (; end < limit; end++) {
    const digit = hexValue[input[end] ?? 0] ?? -1
    if (digit < 0 || digit >= base) break
    point = point * base + digit
  }
  if (end === start || point >= asByte) return none
  return (end - at + (end < to && input[end] === 0x3b ? 1 : 0)) * perLength + point
}
