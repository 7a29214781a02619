/**
 * Validates JSON text (RFC 8259) in blocks that may end anywhere. A table maps each state and byte to the next state;
 * only transitions that depend on the enclosing array or object need code. Strings are skipped 16 bytes at a time.
 */
import { block } from './block'

/** What may come next. No transition leads out of `failed`. */
enum State {
  failed,
  value,
  valueOrEnd,
  name,
  nameOrEnd,
  colon,
  ended,
  // Within a number, named after the part that was read last.
  minus,
  zero,
  digits,
  point,
  fraction,
  exponent,
  sign,
  power,
  // After a letter of `true`, `false` or `null`.
  t,
  tr,
  tru,
  f,
  fa,
  fal,
  fals,
  n,
  nu,
  nul,
  // Within a string, after a backslash, and before each of the four digits after `\u`.
  nameText,
  nameEscape,
  nameHex1,
  nameHex2,
  nameHex3,
  nameHex4,
  valueText,
  valueEscape,
  valueHex1,
  valueHex2,
  valueHex3,
  valueHex4,
  // Not states: transitions that depend on the enclosing array or object.
  openArray,
  openObject,
  closeArray,
  closeObject,
  comma,
}

const table: usize = memory.data(42 * 256)
const mostDepth: i32 = 1024
/** A stack of the open arrays (0) and objects (1). */
const open: usize = memory.data(1024)

let state: i32 = State.failed
let depth: i32 = 0
let maxDepth: i32 = 0

function allow(from: State, bytes: string, to: State): void {
  for (let index = 0; index < bytes.length; index++) allowByte(from, bytes.charCodeAt(index), to)
}

function allowByte(from: State, byte: i32, to: State): void {
  store<u8>(table + (from << 8) + byte, <u8>to)
}

const blanks = ' \t\n\r'
const nonZero = '123456789'
const digits = '0123456789'

function allowValue(from: State): void {
  allow(from, blanks, from)
  allow(from, '{', State.openObject)
  allow(from, '[', State.openArray)
  allow(from, '"', State.valueText)
  allow(from, '-', State.minus)
  allow(from, '0', State.zero)
  allow(from, nonZero, State.digits)
  allow(from, 't', State.t)
  allow(from, 'f', State.f)
  allow(from, 'n', State.n)
}

function allowAfterValue(from: State): void {
  allow(from, blanks, State.ended)
  allow(from, ',', State.comma)
  allow(from, ']', State.closeArray)
  allow(from, '}', State.closeObject)
}

function allowString(text: State, then: State): void {
  const escape = text + 1
  // Control characters have to be escaped.
  for (let byte = 0x20; byte < 256; byte++) allowByte(text, byte, text)
  allow(text, '"', then)
  allow(text, '\\', escape)
  allow(escape, '"\\/bfnrt', text)
  allow(escape, 'u', escape + 1)
  for (let hex = escape + 1; hex <= escape + 4; hex++) {
    allow(hex, '0123456789abcdefABCDEF', hex == escape + 4 ? text : hex + 1)
  }
}

function allowWord(first: State, rest: string): void {
  const last = rest.length - 1
  for (let at = 0; at <= last; at++) {
    allowByte(first + at, rest.charCodeAt(at), at == last ? State.ended : first + at + 1)
  }
}

allowValue(State.value)
allowValue(State.valueOrEnd)
allow(State.valueOrEnd, ']', State.closeArray)
allow(State.name, blanks, State.name)
allow(State.name, '"', State.nameText)
allow(State.nameOrEnd, blanks, State.nameOrEnd)
allow(State.nameOrEnd, '"', State.nameText)
allow(State.nameOrEnd, '}', State.closeObject)
allow(State.colon, blanks, State.colon)
allow(State.colon, ':', State.value)
allowAfterValue(State.ended)

allow(State.minus, '0', State.zero)
allow(State.minus, nonZero, State.digits)
allow(State.digits, digits, State.digits)
allow(State.point, digits, State.fraction)
allow(State.fraction, digits, State.fraction)
allow(State.exponent, '+-', State.sign)
allow(State.exponent, digits, State.power)
allow(State.sign, digits, State.power)
allow(State.power, digits, State.power)
allow(State.zero, '.', State.point)
allow(State.digits, '.', State.point)
allow(State.zero, 'eE', State.exponent)
allow(State.digits, 'eE', State.exponent)
allow(State.fraction, 'eE', State.exponent)
allowAfterValue(State.zero)
allowAfterValue(State.digits)
allowAfterValue(State.fraction)
allowAfterValue(State.power)

allowWord(State.t, 'rue')
allowWord(State.f, 'alse')
allowWord(State.n, 'ull')
allowString(State.nameText, State.colon)
allowString(State.valueText, State.ended)

export function beginJson(atMostDeep: i32): void {
  state = State.value
  depth = 0
  maxDepth = min(atMostDeep, mostDepth)
}

/** False once the text can't become valid JSON any more. */
export function continueJson(length: i32): bool {
  const end = block + length
  let at = block
  let now = state
  while (at < end) {
    if (now == State.valueText || now == State.nameText) {
      at = afterText(at, end)
      if (at == end) break
    }
    const next: i32 = load<u8>(table + (now << 8) + load<u8>(at))
    at++
    now = next < State.openArray ? next : change(next)
  }
  state = now
  return now != State.failed
}

export function endJson(): bool {
  const isNumber = state == State.zero || state == State.digits || state == State.fraction || state == State.power
  return depth == 0 && (state == State.ended || isNumber)
}

function change(what: i32): i32 {
  if (what == State.openArray || what == State.openObject) {
    if (depth == maxDepth) return State.failed
    store<u8>(open + depth++, what == State.openObject ? 1 : 0)
    return what == State.openObject ? State.nameOrEnd : State.valueOrEnd
  }
  if (depth == 0) return State.failed
  const isInObject = load<u8>(open + depth - 1) == 1
  if (what == State.comma) return isInObject ? State.name : State.value
  if (isInObject != (what == State.closeObject)) return State.failed
  depth--
  return State.ended
}

/** The first byte that is neither a plain character of a string nor part of a complete `\u` escape. */
function afterText(from: usize, end: usize): usize {
  let at = afterPlain(from, end)
  while (isUnicodeEscape(at, end)) {
    at += 6
    // These escapes often follow one another directly.
    if (at < end && load<u8>(at) != 0x5c) at = afterPlain(at, end)
  }
  return at
}

/** `\u` and four hex digits, all within this block. */
function isUnicodeEscape(at: usize, end: usize): bool {
  if (at + 6 > end || load<u16>(at) != 0x755c) return false
  return (isHex(at + 2) & isHex(at + 3) & isHex(at + 4) & isHex(at + 5)) == 1
}

function isHex(at: usize): i32 {
  return <i32>(load<u8>(table + (State.valueHex1 << 8) + load<u8>(at)) != State.failed)
}

/** The first quote, backslash or control character, or `end`. */
function afterPlain(from: usize, end: usize): usize {
  for (let at = from; at < end; at += 16) {
    const bytes = v128.load(at)
    const quotes = i8x16.eq(bytes, i8x16.splat(0x22))
    const backslashes = i8x16.eq(bytes, i8x16.splat(0x5c))
    const found = v128.or(v128.or(quotes, backslashes), i8x16.lt_u(bytes, i8x16.splat(0x20)))
    // Two 64-bit halves: `i8x16.bitmask` is slower on some machines.
    const first = i64x2.extract_lane(found, 0)
    if (first != 0) return min(at + <usize>(ctz(first) >> 3), end)
    const second = i64x2.extract_lane(found, 1)
    if (second != 0) return min(at + 8 + <usize>(ctz(second) >> 3), end)
  }
  return end
}
