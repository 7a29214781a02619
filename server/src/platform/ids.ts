import { randomBytes } from 'node:crypto'

/** Crockford's alphabet in lower case: no i, l, o or u. Its order is the order of its values. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix =
  | 'agt'
  | 'arq'
  | 'aud'
  | 'cfl'
  | 'chn'
  | 'chl'
  | 'con'
  | 'dev'
  | 'dfl'
  | 'dlv'
  | 'fmr'
  | 'grt'
  | 'lfl'
  | 'prv'
  | 'psh'
  | 'req'
  | 'ses'
  | 'usr'

/** `<prefix>_` and a UUIDv7 in base32. Ids made later sort later, to the millisecond. */
export function newId(prefix: IdPrefix, now: Date): string {
  return `${prefix}_${base32(uuidV7(now))}`
}

function uuidV7(now: Date): Buffer {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now.getTime(), 0, 6)
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f)
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f)
  return bytes
}

/** 128 bits in 26 characters, the first of which carries three bits. */
function base32(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let index = 0; index < 26; index++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return text
}
