import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Secret } from './secret.ts'

/**
 * The tokens that the service issues. Secret scanners recognise them by prefix and checksum, and a mistyped one is
 * refused without a query. Only their SHA-256 is stored: 256 random bits need no slower hash.
 */
export type TokenKind = 'admin' | 'agent' | 'connect' | 'device' | 'key' | 'login' | 'prelogin' | 'sandbox' | 'session'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 43
const checksumLength = 6

/** Every issued token begins with it. */
export const issuedTokenPrefix = 'sp_'

/** Finds issued tokens inside a longer text. */
export const issuedTokenPattern =
  /sp_(?:admin|agent|connect|device|key|login|prelogin|sandbox|session)_[0-9A-Za-z]{20,}/g

export function mintToken(kind: TokenKind): Secret {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), randomLength)
  return new Secret(`sp_${kind}_${random}${checksum(kind, random)}`)
}

/** Whether the text has the form of such a token, not whether it was issued. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  const prefix = `sp_${kind}_`
  if (!text.startsWith(prefix) || text.length !== prefix.length + randomLength + checksumLength) return false
  const random = text.slice(prefix.length, -checksumLength)
  return text.endsWith(checksum(kind, random))
}

export function isWellFormedSecret(kind: TokenKind, secret: Secret): boolean {
  return isWellFormedToken(kind, secret.reveal())
}

export function hashToken(token: Secret): Buffer {
  return hash('sha256', token.reveal(), 'buffer')
}

/** Comparing hashes in constant time reveals neither length nor content through timing. */
export function isSameHash(one: Buffer, other: Buffer): boolean {
  return timingSafeEqual(one, other)
}

/** 32 bits in base 62. */
function checksum(kind: TokenKind, random: string): string {
  let text = ''
  let rest = crc32(`${kind}_${random}`)
  for (; text.length < checksumLength; rest = Math.floor(rest / 62)) text = alphabet.charAt(rest % 62) + text
  return text
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text
  return text
}
