import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, string, number, object, Buffer>(scrypt)

/**
 * A code has 40 random bits. A plain hash of it could be tried out within its ten minutes by whoever reads the
 * database; this one takes some milliseconds each, and is the same for the same code, so that it can be looked up.
 */
export function hashPairingCode(code: string): Promise<Buffer> {
  return derive(code, 'sallyport pairing code', 32, { N: 4096, r: 8, p: 1 })
}
