/**
 * Searches for many patterns at once (after Wu–Manber): if no pattern has the last three bytes of a window, the window is
 * moved past them, so most bytes are never examined. Candidates are compared in linear time (Knuth–Morris–Pratt).
 */
import { packPatterns, patternAt } from './pattern.ts'
import type { PackedPatterns, Pattern } from './pattern.ts'

export interface BlockSearch {
  /** The length of the window: the first bytes of each pattern's core. */
  readonly window: number
  /** The hashes of all blocks of three bytes in the windows of patterns. */
  readonly blocks: BitSet
  /** The low bits of the hashes of their last blocks. */
  readonly lastBlocks: BitSet
  /** In ascending order: the hash of the last block, followed by the pattern's index in the low bits. */
  readonly endings: Int32Array
  readonly patterns: PackedPatterns
  /** By pattern index: the failure function of its core (Knuth–Morris–Pratt), computed on first use. */
  borders?: Map<number, Int32Array>
}

/** A range of a text. `isEnd`: nothing follows, so a form that is cut off there counts as a match. */
export interface TextRange {
  bytes: Buffer
  from: number
  to: number
  isEnd: boolean
}

/** One bit for each number. */
type BitSet = Int32Array

const block = 3
const hashBits = 14
const lastBlockMask = 2 ** 11 - 1
const indexBits = 31 - hashBits
const indexMask = 2 ** indexBits - 1
const longestWindow = 257
/** After this many bytes, a comparison continues where the previous one stopped. */
const compareAtOnce = 16

export function compileSearch(patterns: readonly Pattern[]): BlockSearch {
  const cores = patterns.map(({ coreFrom, coreTo, enough }) => Math.min(coreTo, enough) - coreFrom)
  const window = Math.min(longestWindow, ...cores)
  const blocks = new Int32Array(2 ** hashBits / 32)
  const lastBlocks = new Int32Array((lastBlockMask + 1) / 32)
  const endings = new Set<number>()
  for (const [index, pattern] of patterns.entries()) {
    const { bytes, coreFrom } = pattern
    for (let end = block; end <= window; end++) {
      const at = coreFrom + end
      // In base64 and base64url, equivalent blocks have different bytes.
      for (const first of equivalentBytes(pattern, bytes[at - 3] ?? 0)) {
        for (const second of equivalentBytes(pattern, bytes[at - 2] ?? 0)) {
          for (const third of equivalentBytes(pattern, bytes[at - 1] ?? 0)) {
            const hash = hashOf(first, second, third)
            add(blocks, hash)
            if (end < window) continue
            add(lastBlocks, hash & lastBlockMask)
            endings.add((hash << indexBits) | index)
          }
        }
      }
    }
  }
  return inOneBuffer({
    window,
    blocks,
    lastBlocks,
    endings: Int32Array.from(endings).sort(),
    patterns: packPatterns(patterns),
  })
}

/** Each account in use has one of these in memory: with a buffer for each array it would take 1 KB more. */
function inOneBuffer({ window, blocks, lastBlocks, endings, patterns }: BlockSearch): BlockSearch {
  const { numbers, bytes, folds } = patterns
  const arrays = [blocks, lastBlocks, endings, numbers, bytes]
  const buffer = new ArrayBuffer(arrays.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let end = 0
  const moved = (from: Int32Array) => {
    const to = new Int32Array(buffer, end, from.length)
    to.set(from)
    end += from.byteLength
    return to
  }
  const search = { window, blocks: moved(blocks), lastBlocks: moved(lastBlocks), endings: moved(endings) }
  const packed = { numbers: moved(numbers), bytes: new Uint8Array(buffer, end), folds }
  packed.bytes.set(bytes)
  return { ...search, patterns: packed }
}

function add(set: BitSet, number: number): void {
  set[number >> 5] = (set[number >> 5] ?? 0) | (1 << (number & 31))
}

function has(set: BitSet, number: number): boolean {
  return (((set[number >> 5] ?? 0) >> (number & 31)) & 1) === 1
}

/** Uses the low five bits of each byte, in which upper and lower case letters don't differ. */
function hashOf(first: number, second: number, third: number): number {
  return ((first & 31) << 9) ^ ((second & 31) << 5) ^ (third & 31)
}

const onlyItself = Array.from({ length: 256 }, (_, byte) => [byte])
const plusOrMinus = [0x2b, 0x2d]
const slashOrUnderscore = [0x2f, 0x5f]

function equivalentBytes({ fold }: Pattern, byte: number): number[] {
  if (byte === 0x2b && fold[0x2d] === byte) return plusOrMinus
  if (byte === 0x2f && fold[0x5f] === byte) return slashOrUnderscore
  return onlyItself[byte] ?? []
}

/** Binary search: where the first ending with this hash is, or would be. */
function lowerBound(endings: Int32Array, hash: number): number {
  let low = 0
  let high = endings.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((endings[middle] ?? 0) >> indexBits < hash) low = middle + 1
    else high = middle
  }
  return low
}

/** Matches begin at the pattern's core and may overlap. `lowerCase`: the text was converted to lower case. */
export function search(
  forms: BlockSearch,
  range: TextRange,
  lowerCase: boolean,
  found: (pattern: Pattern, from: number, to: number) => void,
): void {
  const { window, blocks, lastBlocks, endings, patterns } = forms
  const { bytes, to } = range
  let compared: Map<number, Progress> | undefined
  const shift = window - block + 1
  let end = range.from + window
  while (end <= to) {
    const hash = hashOf(bytes[end - 3] ?? 0, bytes[end - 2] ?? 0, bytes[end - 1] ?? 0)
    if (!has(blocks, hash)) {
      end += shift
      continue
    }
    if (!has(lastBlocks, hash & lastBlockMask)) {
      end++
      continue
    }
    const start = end - window
    for (let at = lowerBound(endings, hash); (endings[at] ?? -1) >> indexBits === hash; at++) {
      const index = (endings[at] ?? 0) & indexMask
      const pattern = patternAt(patterns, index)
      let matchEnd = compare(pattern, range, start, lowerCase)
      if (matchEnd === unsure) {
        compared ??= new Map<number, Progress>()
        const progress = compared.get(index) ?? { textAt: start, matched: 0 }
        compared.set(index, progress)
        matchEnd = continueCompare(pattern, bordersAt(forms, index, pattern), range, start, progress)
      }
      if (matchEnd !== differs) found(pattern, start, matchEnd)
    }
    end++
  }
}

const differs = -1
const unsure = -2

function compare(pattern: Pattern, { bytes: text, to, isEnd }: TextRange, start: number, lowerCase: boolean): number {
  const { bytes, fold, coreFrom, coreTo, enough } = pattern
  // Lower-case text is a header name, which is short.
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

/** How far the text was compared with a pattern's core, and how long a prefix of the core its last bytes match. */
interface Progress {
  textAt: number
  matched: number
}

/** Knuth–Morris–Pratt: text full of near misses takes linear time as well. */
function continueCompare(
  { bytes, fold, coreFrom, coreTo, enough }: Pattern,
  borders: Int32Array,
  range: TextRange,
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
    if (progress.textAt === range.to) {
      return range.isEnd && coreFrom + progress.matched >= enough ? progress.textAt : differs
    }
    const byte = fold[range.bytes[progress.textAt] ?? 0] ?? 0
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

/** For each prefix of the core, the length of its longest proper prefix that is also its suffix. */
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
