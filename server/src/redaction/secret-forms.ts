/** What is searched for. Made once for a set of secrets and kept between calls: it is a credential itself. */
import { isRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'
import { compileSearch } from './block-search.ts'
import type { BlockSearch } from './block-search.ts'
import { anyByte, usualBytes } from './held-back.ts'
import { patternsOf, patternsOfPart } from './pattern.ts'
import type { Pattern } from './pattern.ts'
import { partsOf } from './secret-parts.ts'
import type { Sought } from './unescape.ts'

export interface SecretForms extends Sought {
  /** None where there is nothing to search for. */
  readonly search: BlockSearch | undefined
  readonly longestPattern: number
  /** No form takes more bytes than that. */
  readonly longestForm: number
  /** Names of headers that were found to hold none, in lower case by how they came: an upstream uses few. */
  readonly plainNames: Map<string, string>
}

/** Characters of base64 that hold bits of a secret too, on one side; and the signs that fill it up. */
const sharedCharacters = 4

/** `%255Cu0041`, the six characters of `\u0041` in UTF-16, or a number on an indented line of its own. */
const bytesPerCharacter = 20

/** Besides the secrets' own: those of base64, of escapes themselves, and line breaks. */
const alwaysWanted = Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_%\\&#;\r\n',
  'latin1',
)

export function compileSecrets(secrets: readonly Secret[]): SecretForms {
  const revealed = [...new Set(secrets.filter(isRedactable).map((secret) => secret.reveal()))]
  const patterns = revealed.flatMap((value) => [
    ...patternsOf(value),
    ...partsOf(value).flatMap((part) => patternsOfPart(value, part)),
  ])
  const longest = revealed.reduce((most, value) => Math.max(most, Buffer.byteLength(value)), 0)
  // RolledBack, a secret that looks like escapes has other bytes than it shows.
  const sought = bytesOf(patterns)
  const isUsual = sought.every((isIn, byte) => isIn === 0 || usualBytes[byte] === 1)
  const longestPattern = patterns.reduce((most, { first, last }) => Math.max(most, last - first), 0)
  return {
    search: patterns.length === 0 ? undefined : compileSearch(patterns),
    longestPattern,
    reach: longestPattern + sharedCharacters,
    longestForm: longest * bytesPerCharacter,
    plainNames: new Map(),
    held: isUsual ? usualBytes : anyByte,
    wanted: wantedBytes(sought),
  }
}

function bytesOf(patterns: readonly Pattern[]): Uint8Array {
  const found = new Uint8Array(256)
  for (const { bytes, first, last } of patterns) for (const byte of bytes.subarray(first, last)) found[byte] = 1
  return found
}

function wantedBytes(sought: Uint8Array): Uint8Array {
  const wanted = Uint8Array.from(sought)
  for (const byte of alwaysWanted) wanted[byte] = 1
  // One beyond ASCII can be written in several ways, with other bytes each.
  if (wanted.subarray(0x80).includes(1)) wanted.fill(1)
  return wanted
}
