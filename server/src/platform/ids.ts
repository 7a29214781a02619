import { randomFillSync } from 'node:crypto'

/** Crockford's base32 alphabet in lower case (no i, l, o or u). It sorts like the values that it encodes. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix =
  | 'agt'
  | 'arq'
  | 'aud'
  | 'cal'
  | 'cfl'
  | 'chn'
  | 'chl'
  | 'chs'
  | 'con'
  | 'dev'
  | 'dfl'
  | 'dlv'
  | 'fmr'
  | 'grt'
  | 'key'
  | 'lfl'
  | 'prv'
  | 'psh'
  | 'rep'
  | 'req'
  | 'ses'
  | 'usr'

/** `<prefix>_` and a UUIDv7 in base32. Ids sort by creation time, to the millisecond. */
export function newId(prefix: IdPrefix, now: Date): string {
  return `${prefix}_${base32(uuidV7(now))}`
}

/** A lower bound for ids created at or after this time. */
export function lowestId(prefix: IdPrefix, time: Date): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.min(Math.max(time.getTime(), 0), 2 ** 48 - 1), 0, 6)
  return `${prefix}_${base32(bytes)}`
}

/** When the id was created, in milliseconds; NaN for text that is not an id. */
export function timeOf(id: string): number {
  const digits = id.slice(-26)
  if (digits.length < 26) return NaN
  let time = 0
  // The first ten characters hold two zero bits and the 48 of the time.
  for (const character of digits.slice(0, 10)) {
    const value = alphabet.indexOf(character)
    if (value === -1) return NaN
    time = time * 32 + value
  }
  return time
}

/** Random bytes for many ids: each call of `randomFillSync` costs more than the rest of an id. */
const random = Buffer.alloc(4096)
let used = random.length

function uuidV7(now: Date): Buffer {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  const bytes = random.subarray(used, (used += 16))
  bytes.writeUIntBE(now.getTime(), 0, 6)
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f)
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f)
  return bytes
}

/** All pairs of characters, indexed by their ten bits. */
const pairs = Array.from({ length: 1024 }, (_, value) => alphabet.charAt(value >> 5) + alphabet.charAt(value & 31))

/** 128 bits in 26 characters, the first of which carries three bits. */
function base32(bytes: Buffer): string {
  let text = ''
  // Two zero bits stand before the first byte; from there on, ten at a time.
  let value = 0
  let bits = 2
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    if (bits < 10) continue
    bits -= 10
    text += pairs[value >> bits] ?? ''
    value &= (1 << bits) - 1
  }
  return text
}
