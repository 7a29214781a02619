/**
 * Looks for many patterns at once (Wu and Manber): three bytes at the end of a window say how far no pattern can begin,
 * so that most bytes are never looked at. What looks like a start is compared, and never twice over the same bytes.
 */
import { packed, patternAt } from './pattern.ts'
import type { PackedPatterns, Pattern } from './pattern.ts'

export interface BlockSearch {
  /** The length of the window: how much of each core it is known by. */
  readonly window: number
  readonly shifts: Uint8Array
  /** The hashes that windows of patterns end with, in ascending order, and beside each the pattern's index. */
  readonly endings: Uint16Array
  readonly indexes: Int32Array
  readonly patterns: PackedPatterns
  /** By a pattern's index: borders of its core (Knuth, Morris and Pratt), made when they are first needed. */
  borders?: Map<number, Int32Array>
}

/** A text with its bounds. `isEnd`: nothing follows, so that a form that is cut off there is one. */
export interface Stretch {
  bytes: Buffer
  from: number
  to: number
  isEnd: boolean
}

const tableSize = 0x2000
const block = 3
const longestShift = 0xff
/** Further than that a comparison is continued where the last one stopped. */
const compareAtOnce = 16

export function compileSearch(patterns: readonly Pattern[]): BlockSearch {
  const cores = patterns.map(({ coreFrom, coreTo, enough }) => Math.min(coreTo, enough) - coreFrom)
  const window = Math.min(longestShift + block - 1, ...cores)
  const shifts = new Uint8Array(tableSize).fill(window - block + 1)
  /** Hash and index in one number, so that they sort by hash. */
  const ending = new Set<number>()
  for (const [index, pattern] of patterns.entries()) {
    const { bytes, coreFrom } = pattern
    for (let end = block; end <= window; end++) {
      const at = coreFrom + end
      // In base64 a block can be written in several ways.
      for (const first of waysToWrite(pattern, bytes[at - 3] ?? 0)) {
        for (const second of waysToWrite(pattern, bytes[at - 2] ?? 0)) {
          for (const third of waysToWrite(pattern, bytes[at - 1] ?? 0)) {
            const hash = hashOf(first, second, third)
            shifts[hash] = Math.min(shifts[hash] ?? 0, window - end)
            if (end === window) ending.add(hash * patterns.length + index)
          }
        }
      }
    }
  }
  const sorted = Float64Array.from(ending).sort()
  return {
    window,
    shifts,
    endings: Uint16Array.from(sorted, (both) => Math.floor(both / patterns.length)),
    indexes: Int32Array.from(sorted, (both) => both % patterns.length),
    patterns: packed(patterns),
  }
}

/** Five bits of each byte are the same for upper and lower case. */
function hashOf(first: number, second: number, third: number): number {
  return ((first & 31) << 8) ^ ((second & 31) << 4) ^ (third & 31)
}

const onlyItself = Array.from({ length: 256 }, (_, byte) => [byte])
const plusOrMinus = [0x2b, 0x2d]
const slashOrUnderscore = [0x2f, 0x5f]

function waysToWrite({ fold }: Pattern, byte: number): number[] {
  if (byte === 0x2b && fold[0x2d] === byte) return plusOrMinus
  if (byte === 0x2f && fold[0x5f] === byte) return slashOrUnderscore
  return onlyItself[byte] ?? []
}

/** Where the first of the endings is that has this hash, or would be. */
function placeOf(endings: Uint16Array, hash: number): number {
  let low = 0
  let high = endings.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((endings[middle] ?? 0) < hash) low = middle + 1
    else high = middle
  }
  return low
}

/** What is found begins at the pattern's core, and may overlap. `lowerCase`: the text has lost its upper case. */
export function search(
  forms: BlockSearch,
  stretch: Stretch,
  lowerCase: boolean,
  found: (pattern: Pattern, from: number, to: number) => void,
): void {
  const { window, shifts, endings, indexes, patterns } = forms
  const { bytes, to } = stretch
  let compared: Map<number, Progress> | undefined
  let end = stretch.from + window
  while (end <= to) {
    const hash = hashOf(bytes[end - 3] ?? 0, bytes[end - 2] ?? 0, bytes[end - 1] ?? 0)
    const shift = shifts[hash] ?? 0
    if (shift !== 0) {
      end += shift
      continue
    }
    const start = end - window
    for (let at = placeOf(endings, hash); endings[at] === hash; at++) {
      const index = indexes[at] ?? 0
      const pattern = patternAt(patterns, index)
      let matchEnd = compare(pattern, stretch, start, lowerCase)
      if (matchEnd === unsure) {
        compared ??= new Map<number, Progress>()
        const progress = compared.get(index) ?? { textAt: start, matched: 0 }
        compared.set(index, progress)
        matchEnd = continueCompare(pattern, bordersAt(forms, index, pattern), stretch, start, progress)
      }
      if (matchEnd !== differs) found(pattern, start, matchEnd)
    }
    end++
  }
}

const differs = -1
const unsure = -2

function compare(pattern: Pattern, { bytes: text, to, isEnd }: Stretch, start: number, lowerCase: boolean): number {
  const { bytes, fold, coreFrom, coreTo, enough } = pattern
  // In lower case nothing is long: it is a header's name.
  const stop = lowerCase ? coreTo : Math.min(coreTo, coreFrom + compareAtOnce)
  let at = coreFrom
  let textAt = start
  while (at < stop && textAt < to) {
    const byte = fold[text[textAt] ?? 0] ?? 0
    const expected = bytes[at] ?? 0
    if (byte !== expected && !(lowerCase && byte === lower(expected))) return differs
    at++
    textAt++
  }
  if (at === coreTo) return textAt
  if (textAt === to) return isEnd && at >= enough ? textAt : differs
  return unsure
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
}

/** How far a text was compared with a pattern's core, and how much of the core its last bytes are. */
interface Progress {
  textAt: number
  matched: number
}

/** Knuth, Morris and Pratt: a text of near misses costs no more than any other. */
function continueCompare(
  { bytes, fold, coreFrom, coreTo, enough }: Pattern,
  borders: Int32Array,
  stretch: Stretch,
  start: number,
  progress: Progress,
): number {
  for (;;) {
    while (progress.matched > 0 && progress.textAt - progress.matched < start) {
      progress.matched = borders[progress.matched - 1] ?? 0
    }
    progress.textAt = Math.max(progress.textAt, start)
    if (progress.textAt - progress.matched > start) return differs
    if (coreFrom + progress.matched === coreTo) return progress.textAt
    if (progress.textAt === stretch.to) {
      return stretch.isEnd && coreFrom + progress.matched >= enough ? progress.textAt : differs
    }
    const byte = fold[stretch.bytes[progress.textAt] ?? 0] ?? 0
    while (progress.matched > 0 && bytes[coreFrom + progress.matched] !== byte) {
      progress.matched = borders[progress.matched - 1] ?? 0
    }
    if (bytes[coreFrom + progress.matched] === byte) progress.matched++
    progress.textAt++
  }
}

function bordersAt(forms: BlockSearch, index: number, { bytes, coreFrom, coreTo }: Pattern): Int32Array {
  forms.borders ??= new Map()
  const borders = forms.borders.get(index) ?? bordersOf(bytes.subarray(coreFrom, coreTo))
  forms.borders.set(index, borders)
  return borders
}

/** For each length, how much of the start is the end too. */
function bordersOf(core: Uint8Array): Int32Array {
  const borders = new Int32Array(core.length)
  let matched = 0
  for (let at = 1; at < core.length; at++) {
    while (matched > 0 && core[at] !== core[matched]) matched = borders[matched - 1] ?? 0
    if (core[at] === core[matched]) matched++
    borders[at] = matched
  }
  return borders
}
