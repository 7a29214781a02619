/**
 * Says whether bytes are JSON (RFC 8259) without building anything of it: what is passed on as JSON must be JSON, and
 * nobody here looks inside. Nested deeper than `maxDepth` it counts as none: readers that recurse run out of stack.
 */
import { isUtf8 } from 'node:buffer'
import { maxJsonDepth } from './json.ts'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

const tableOf = (isIn: (byte: number) => boolean) => Uint8Array.from({ length: 256 }, (_, byte) => Number(isIn(byte)))
/** What stands in a string as it is. */
const plain = tableOf((byte) => byte >= 0x20 && byte !== quote && byte !== backslash)
const blank = tableOf((byte) => [0x20, 0x0a, 0x0d, 0x09].includes(byte))
const digit = tableOf((byte) => byte >= 0x30 && byte <= 0x39)
const hexDigit = tableOf((byte) => /[0-9a-f]/i.test(String.fromCharCode(byte)))
const simpleEscapes = new Set(Buffer.from('"\\/bfnrt'))
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))
const failed = -1

export function isJsonText(text: Buffer, maxDepth = maxJsonDepth): boolean {
  if (!isUtf8(text)) return false
  /** What is open: true for an object. */
  const open: boolean[] = []
  let at = afterBlanks(text, 0)
  for (;;) {
    // A value is due here.
    const byte = text[at]
    if (byte === openObject || byte === openArray) {
      if (open.length === maxDepth) return false
      const isObject = byte === openObject
      at = afterBlanks(text, at + 1)
      if (text[at] !== (isObject ? closeObject : closeArray)) {
        open.push(isObject)
        if (isObject && (at = afterName(text, at)) === failed) return false
        continue
      }
      at++
    } else {
      at = byte === quote ? afterString(text, at) : afterPlain(text, at)
      if (at === failed) return false
    }
    // A value has ended here, and so may have what it stands in.
    at = afterBlanks(text, at)
    while (open.length > 0 && text[at] === (open.at(-1) ? closeObject : closeArray)) {
      open.pop()
      at = afterBlanks(text, at + 1)
    }
    if (open.length === 0) return at === text.length
    if (text[at] !== comma) return false
    at = afterBlanks(text, at + 1)
    if (open.at(-1) && (at = afterName(text, at)) === failed) return false
  }
}

/** Past all bytes of this kind. Reading past the end would make every read slow. */
function after(kind: Uint8Array, text: Buffer, from: number): number {
  const { length } = text
  let at = from
  while (at < length && kind[text[at] as number] === 1) at++
  return at
}

function afterBlanks(text: Buffer, from: number): number {
  return from < text.length && blank[text[from] as number] === 0 ? from : after(blank, text, from)
}

function afterName(text: Buffer, from: number): number {
  if (text[from] !== quote) return failed
  const end = afterString(text, from)
  if (end === failed) return failed
  const at = afterBlanks(text, end)
  return text[at] === colon ? afterBlanks(text, at + 1) : failed
}

function afterString(text: Buffer, from: number): number {
  let at = from + 1
  for (;;) {
    at = after(plain, text, at)
    const byte = text[at]
    if (byte === quote) return at + 1
    if (byte !== backslash) return failed
    const escape = text[at + 1] ?? 0
    if (escape === 0x75) {
      if (after(hexDigit, text, at + 2) < at + 6) return failed
      at += 6
    } else {
      if (!simpleEscapes.has(escape)) return failed
      at += 2
    }
  }
}

/** A number, or one of the three words. */
function afterPlain(text: Buffer, from: number): number {
  const word = words.get(text[from] ?? 0)
  if (word) return text.subarray(from, from + word.length).equals(word) ? from + word.length : failed
  let at = text[from] === 0x2d ? from + 1 : from
  if (text[at] === 0x30) at++
  else if ((at = afterDigits(text, at)) === failed) return failed
  if (text[at] === 0x2e && (at = afterDigits(text, at + 1)) === failed) return failed
  if (text[at] === 0x65 || text[at] === 0x45) {
    const signed = text[at + 1] === 0x2b || text[at + 1] === 0x2d
    at = afterDigits(text, signed ? at + 2 : at + 1)
  }
  return at
}

function afterDigits(text: Buffer, from: number): number {
  const at = after(digit, text, from)
  return at === from ? failed : at
}
