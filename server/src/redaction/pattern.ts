/**
 * The patterns by which a secret is found: unencoded, in hex and in base64. Only encodings of the secret as a whole are
 * listed here. Those of single characters are decoded before the search (unescape.ts).
 */
import { minRedactable } from '../platform/secret.ts'
import type { SecretPart } from './secret-parts.ts'
import { unescaped } from './unescape.ts'

export interface Pattern {
  /** Already folded. The pattern is from `first` up to `last`; all other positions are offsets into the same bytes. */
  readonly bytes: Uint8Array
  readonly first: number
  readonly last: number
  /** Maps equivalent bytes to one: base64 and base64url, upper and lower case hex. */
  readonly fold: Uint8Array
  /** The part that is searched for. The characters around it may be taken for part of an escape next to them. */
  readonly coreFrom: number
  readonly coreTo: number
  /** A text that ends after the bytes up to here is a match too. */
  readonly enough: number
  /** The minimum length of a match in the original text: a secret that is short once decoded was longer before. */
  readonly leastSource: number
  /** In base64, the character before the first or after the last may hold bits of the secret too. */
  readonly sharesBefore: boolean
  readonly sharesAfter: boolean
}

/** An escape before the secret can take this many of its characters: `\u` is followed by four digits. */
const swallowed = 4

/** The minimum that the search needs (block-search.ts). */
const shortestCore = 3

/** An incomplete escape at the end of a text. */
export const openEscape = /(?:%[\da-f]?|\\(?:u[\da-f]{0,3}|x[\da-f]?|[0-7]{1,2})?|&#?\w{0,8}|=[\da-f]?|=\r)$/i

const same = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const lowerCase = same.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte))
const base64Alphabet = same.map((byte) => (byte === 0x2d ? 0x2b : byte === 0x5f ? 0x2f : byte))

export function patternsOf(secret: string): Pattern[] {
  const bytes = Buffer.from(secret, 'utf8')
  const wide = Buffer.from(secret, 'utf16le')
  const patterns = [...spellings(secret)].map((text) => plain(Buffer.from(text, 'latin1')))
  patterns.push(hex(bytes), ...base64(bytes, present(bytes.length)), ...base64(wide, 2 * present(secret.length)))
  // A base64-encoded dump of a request contains the credential of Basic authentication encoded twice.
  for (const variant of ['base64', 'base64url'] as const) {
    for (const inner of base64Cores(bytes, present(bytes.length))) {
      const text = inner.text.toString('latin1')
      if (variant === 'base64url' && !/[+/]/.test(text)) continue
      const spelled = variant === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_')
      patterns.push(...base64(Buffer.from(spelled, 'latin1'), inner.enough))
    }
  }
  return patterns
}

/**
 * The patterns of one part of a secret. Only the part is searched for; a match is extended to the rest of the secret if
 * that surrounds it. There are fewer forms: a token that was split was not also encoded several times.
 */
export function patternsOfPart(secret: string, { from, to }: SecretPart): Pattern[] {
  const bytes = Buffer.from(secret, 'utf8')
  const enough = from + present(to - from)
  const core = (first: number, last: number) => ({ coreFrom: first + swallowed, coreTo: last })
  return [
    pattern(bytes, same, { ...core(from, to), enough }),
    pattern(Buffer.from(bytes.toString('hex')), lowerCase, { ...core(2 * from, 2 * to), enough: 2 * enough }),
    ...base64Cores(bytes, enough).map(({ text, characterAt, ...rest }) =>
      pattern(text, base64Alphabet, { ...rest, ...core(Math.max(0, characterAt(from)), characterAt(to) - 1) }),
    ),
  ]
}

/**
 * The same of a digest in hex, in capitals or not, and in base64 of its bytes. As a list of values it is found by its
 * bytes, with `bytesOfDigest`.
 */
export function patternsOfDigest(digest: string): Pattern[] {
  const bytes = Buffer.from(digest, 'hex')
  const least = present(bytes.length)
  return [pattern(Buffer.from(digest), lowerCase, { enough: 2 * least }), ...base64(bytes, least)]
}

export function bytesOfDigest(digest: string): Pattern {
  return plain(Buffer.from(digest, 'hex'))
}

/**
 * How much of a secret that is cut off has to be present. Less would be cheap to guess piece by piece; with more than
 * 16 characters missing it is of no use as a credential.
 */
function present(length: number): number {
  return Math.max(Math.min(length, minRedactable), length - 16)
}

/**
 * A secret's own characters can look like escapes, which are decoded like those of the surrounding text. Each encoder
 * escapes only the characters special to it, so each encoding of such a secret decodes to something different.
 */
function spellings(secret: string): Set<string> {
  const wide = Buffer.from(secret, 'utf16le')
  const found = [Buffer.from(secret, 'utf8'), wide, Buffer.from(wide).swap16()]
    .map((bytes) => bytes.toString('latin1').replaceAll('\0', ''))
    .flatMap((text) => [text, text.replaceAll(' ', '+')])
    .flatMap((text) => (looksEscaped(text) ? encodings(text).flatMap((encoded) => [...unescaped(encoded)]) : text))
  return new Set(found.filter((text) => text.length >= shortestCore))
}

function looksEscaped(text: string): boolean {
  return [...unescaped(text)].length > 1
}

const encoders: ((text: string) => string)[] = [
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  (text) => text.replaceAll('=', '=3D'),
]

/** Unencoded, encoded once, and encoded twice: JSON in JSON, or JSON in an HTML page. */
function encodings(text: string): string[] {
  const once = encoders.map((encode) => encode(text))
  return [text, ...once, ...once.flatMap((encoded) => encoders.map((encode) => encode(encoded)))]
}

function plain(bytes: Uint8Array): Pattern {
  const tail = openEscape.exec(Buffer.from(bytes).toString('latin1'))?.[0].length ?? 0
  const coreTo = Math.max(bytes.length - tail, Math.min(bytes.length, minRedactable))
  const coreFrom = Math.min(swallowed, coreTo - shortestCore)
  // Unencoded, a text this short is not a secret.
  const leastSource = bytes.length < minRedactable ? minRedactable : 0
  return pattern(bytes, same, { coreFrom, coreTo, leastSource, enough: present(bytes.length) })
}

function hex(bytes: Buffer): Pattern {
  return pattern(Buffer.from(bytes.toString('hex')), lowerCase, { enough: 2 * present(bytes.length) })
}

function base64(bytes: Buffer, enoughBytes: number): Pattern[] {
  return base64Cores(bytes, enoughBytes).map(({ text, enough, sharesBefore, sharesAfter }) =>
    pattern(text, base64Alphabet, { enough, sharesBefore, sharesAfter }),
  )
}

/** The base64 characters that don't depend on the bytes before and after, for each of the three possible alignments. */
function base64Cores(bytes: Buffer, enoughBytes: number) {
  return [0, 1, 2].map((offset) => {
    const from = offset === 0 ? 0 : offset + 1
    const bits = (offset + bytes.length) * 8
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    return {
      text: Buffer.from(encoded.slice(from, Math.floor(bits / 6)), 'latin1'),
      enough: Math.floor(((offset + enoughBytes) * 8) / 6) - from,
      sharesBefore: offset !== 0,
      sharesAfter: bits % 6 !== 0,
      /** The first character that holds only bits of this byte or later ones. */
      characterAt: (byte: number) => Math.ceil(((offset + byte) * 8) / 6) - from,
    }
  })
}

function pattern(bytes: Uint8Array, fold: Uint8Array, parts: Partial<Pattern> & { enough: number }): Pattern {
  const { coreFrom = swallowed, coreTo = bytes.length, enough, leastSource = 0 } = parts
  const { sharesBefore = false, sharesAfter = false } = parts
  return {
    ...{ bytes, first: 0, last: bytes.length, fold },
    ...{ coreFrom, coreTo, enough, leastSource, sharesBefore, sharesAfter },
  }
}

/**
 * Patterns packed into typed arrays. Each account in use keeps about 60 of them in memory: as objects, each with its
 * own Buffer, they would take four times as much. `patternAt` creates the object while a pattern is compared.
 */
export interface PackedPatterns {
  /** The bytes of all patterns, one after another. */
  readonly bytes: Uint8Array
  readonly numbers: Int32Array
  readonly folds: readonly Uint8Array[]
}

const folds: readonly Uint8Array[] = [same, lowerCase, base64Alphabet]
/** Its position, those of its core, and its other properties in one number. After the last pattern comes its end. */
const numbersEach = 5

export function packPatterns(patterns: readonly Pattern[]): PackedPatterns {
  const bytes = Buffer.allocUnsafeSlow(patterns.reduce((sum, { first, last }) => sum + last - first, 0))
  const numbers = new Int32Array(patterns.length * numbersEach + 1)
  let end = 0
  patterns.forEach((one, index) => {
    const moved = end - one.first
    const flags = Number(one.sharesBefore) | (Number(one.sharesAfter) << 1) | (folds.indexOf(one.fold) << 2)
    const positions = [one.first, one.coreFrom, one.coreTo, one.enough].map((position) => position + moved)
    numbers.set([...positions, flags | (one.leastSource << 4)], index * numbersEach)
    bytes.set(one.bytes.subarray(one.first, one.last), end)
    end += one.last - one.first
  })
  numbers[patterns.length * numbersEach] = end
  return { bytes, numbers, folds }
}

export function patternAt({ bytes, numbers, folds: known }: PackedPatterns, index: number): Pattern {
  const at = index * numbersEach
  const properties = numbers[at + 4] ?? 0
  return {
    bytes,
    first: numbers[at] ?? 0,
    last: numbers[at + numbersEach] ?? 0,
    coreFrom: numbers[at + 1] ?? 0,
    coreTo: numbers[at + 2] ?? 0,
    enough: numbers[at + 3] ?? 0,
    leastSource: properties >> 4,
    fold: known[(properties >> 2) & 3] ?? same,
    sharesBefore: (properties & 1) !== 0,
    sharesAfter: (properties & 2) !== 0,
  }
}
