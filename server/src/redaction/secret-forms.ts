/** Compiles secrets into search patterns. The result is cached between calls and is as sensitive as the secrets. */
import { isRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'
import { compileSearch } from './block-search.ts'
import type { BlockSearch } from './block-search.ts'
import { anyByte, usualBytes } from './held-back.ts'
import { bytesOfDigest, patternsOf, patternsOfDigest, patternsOfPart } from './pattern.ts'
import type { Pattern } from './pattern.ts'
import { partsOf } from './secret-parts.ts'
import type { DecodingScope } from './unescape.ts'

export interface SecretForms extends DecodingScope {
  /** Undefined if there is nothing to search for. */
  readonly search: BlockSearch | undefined
  /** What lists of byte values are searched for. */
  readonly inLists: readonly BlockSearch[]
  readonly longestPattern: number
  /** Secrets of one request, which are searched for as well: compiling all of them each time would take longer. */
  readonly also?: SecretForms
  /** The maximum length of any encoded form of a secret, in bytes. */
  readonly longestForm: number
  /** A cache of header names without secrets, as received and in lower case. An upstream uses few different names. */
  readonly plainNames: Map<string, string>
}

/** Base64 characters at one end of a match that hold bits of the secret and of its neighbor, and padding. */
const sharedCharacters = 4

/** The longest forms are `%255Cu0041`, the six characters of `\u0041` in UTF-16, and a number on an indented line. */
const bytesPerCharacter = 20

/** In addition to the secrets' own bytes: the base64 alphabet, characters that escapes consist of, and line breaks. */
const alwaysWanted = Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_%\\&#;\r\n',
  'latin1',
)

/** `digests` are secrets in lower-case hex, which stand for bytes. */
export function compileSecrets(secrets: readonly Secret[], digests: readonly Secret[] = []): SecretForms {
  const revealed = [...new Set([...secrets, ...digests].filter(isRedactable).map((secret) => secret.reveal()))]
  const patterns = revealed.flatMap((value) => [
    ...patternsOf(value),
    ...partsOf(value).flatMap((part) => patternsOfPart(value, part)),
  ])
  const ofDigests = digests.map((digest) => digest.reveal())
  patterns.push(...ofDigests.flatMap(patternsOfDigest))
  const search = patterns.length === 0 ? undefined : compileSearch(patterns)
  const longest = revealed.reduce((most, value) => Math.max(most, Buffer.byteLength(value)), 0)
  // Taken from the patterns, not the secrets: a secret that looks like escapes has other bytes once it is decoded.
  const patternBytes = bytesOf(patterns)
  const isUsual = patternBytes.every((isIn, byte) => isIn === 0 || usualBytes[byte] === 1)
  const longestPattern = patterns.reduce((most, { first, last }) => Math.max(most, last - first), 0)
  return {
    search,
    inLists: [
      ...(search ? [search] : []),
      ...(ofDigests.length > 0 ? [compileSearch(ofDigests.map(bytesOfDigest))] : []),
    ],
    longestPattern,
    reach: longestPattern + sharedCharacters,
    longestForm: longest * bytesPerCharacter,
    plainNames: new Map(),
    held: isUsual ? usualBytes : anyByte,
    wanted: wantedBytes(patternBytes),
  }
}

/** With the signatures of a call's requests. */
export function formsWith(forms: SecretForms, signatures: readonly Secret[]): SecretForms {
  const also = compileSecrets([], signatures)
  if (!forms.search) return also
  const longestForm = Math.max(forms.longestForm, also.longestForm)
  return { ...forms, also, longestForm, plainNames: new Map() }
}

function bytesOf(patterns: readonly Pattern[]): Uint8Array {
  const found = new Uint8Array(256)
  for (const { bytes, first, last } of patterns) for (const byte of bytes.subarray(first, last)) found[byte] = 1
  return found
}

const usuallyWanted = new Uint8Array(256)
for (const byte of alwaysWanted) usuallyWanted[byte] = 1

function wantedBytes(patternBytes: Uint8Array): Uint8Array {
  if (patternBytes.every((isIn, byte) => isIn <= (usuallyWanted[byte] ?? 0))) return usuallyWanted
  const wanted = patternBytes.map((isIn, byte) => isIn | (usuallyWanted[byte] ?? 0))
  // A non-ASCII character can be encoded in several ways, each with different bytes.
  if (wanted.subarray(0x80).includes(1)) wanted.fill(1)
  return wanted
}
