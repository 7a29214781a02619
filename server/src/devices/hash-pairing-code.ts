import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, string, number, object, Buffer>(scrypt)

/**
 * A code has 40 random bits. Someone who can read the database could brute-force a plain hash within the code's ten
 * minutes, so this hash takes some milliseconds. It is unsalted, so that a code can be looked up by its hash.
 */
export function hashPairingCode(code: string): Promise<Buffer> {
  return derive(code, 'sallyport pairing code', 32, { N: 4096, r: 8, p: 1 })
}
