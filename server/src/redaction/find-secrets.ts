/** Finds every form of every secret in a range of bytes: as received, then after decoding each layer of escapes. */
import { search } from './block-search.ts'
import type { TextRange } from './block-search.ts'
import { findInLists } from './decimal-lists.ts'
import type { ListSpan } from './decimal-lists.ts'
import { findInHexLists } from './hex-lists.ts'
import { isBase64, isEscapeStart } from './escapes.ts'
import { openEscape } from './pattern.ts'
import type { Pattern } from './pattern.ts'
import type { SecretForms } from './secret-forms.ts'
import { createView, layers, sourceEnd, sourceStart, unescapeInto } from './unescape.ts'

export interface Span {
  from: number
  to: number
  /** In a list of numbers, the separator between them. */
  separator?: ListSpan['separator']
}

/** The length of the longest incomplete escape. */
const longestOpen = 10

/** Reused across calls to avoid large allocations. Nothing here is asynchronous, so no two calls share them. */
const views = Array.from({ length: layers }, createView)

/** In order, without overlaps. */
export function findSecrets(forms: SecretForms, range: TextRange, isLowerCase = false): Span[] {
  if (!forms.search) return []
  const spans: Span[] = []
  for (const search of forms.inLists) {
    findInLists(search, range, (span) => spans.push(span))
    findInHexLists(search, range, (span) => spans.push(span))
  }
  let current = range
  for (let layer = 0; ; layer++) {
    searchLayer(forms, current, layer, range, isLowerCase, spans)
    const view = views[layer]
    if (!view || !unescapeInto(view, current.bytes, current.from, current.to, forms)) break
    current = { bytes: view.bytes, from: 0, to: view.length, isEnd: current.isEnd && view.reachesEnd }
  }
  if (forms.also) spans.push(...findSecrets(forms.also, range, isLowerCase))
  return spans.length < 2 ? spans : merge(spans)
}

function searchLayer(
  forms: SecretForms,
  text: TextRange,
  layer: number,
  whole: TextRange,
  isLowerCase: boolean,
  spans: Span[],
): void {
  if (!forms.search) return
  const add = (pattern: Pattern, from: number, to: number) => {
    const span = inSource(pattern, text, layer, whole, from, to)
    if (span.to - span.from < pattern.leastSource) return
    const last = spans.at(-1)
    if (last && last.from <= span.from && span.from < last.to) last.to = Math.max(last.to, span.to)
    else spans.push(span)
  }
  search(forms.search, text, isLowerCase, add)
  if (!text.isEnd) return
  const open = openAtEnd(text)
  if (open === 0) return
  const from = Math.max(text.from, text.to - forms.longestPattern - open)
  const cutOff = { ...text, from, to: text.to - open }
  search(forms.search, cutOff, isLowerCase, (pattern, start, end) => {
    add(pattern, start, end === cutOff.to ? text.to : end)
  })
}

/** The length of an incomplete escape at the end of the text: a body can be cut off within one. */
function openAtEnd({ bytes, from, to }: TextRange): number {
  for (let at = to - 1; at >= from && at >= to - longestOpen; at--) {
    if (isEscapeStart[bytes[at] ?? 0] === 1) {
      return openEscape.exec(bytes.toString('latin1', Math.max(from, to - longestOpen), to))?.[0].length ?? 0
    }
  }
  return 0
}

/** Maps a match back to its place in the original bytes, extended to the rest of the pattern on both sides. */
function inSource(
  pattern: Pattern,
  text: TextRange,
  layer: number,
  whole: TextRange,
  start: number,
  end: number,
): Span {
  const { bytes, first, last, fold, coreFrom, coreTo, sharesBefore, sharesAfter } = pattern
  let from = start
  let to = end
  let before = coreFrom
  let after = coreTo
  let isBeforeShared = sharesBefore
  for (let depth = layer; ; depth--) {
    const view = views[depth - 1]
    const {
      bytes: here,
      from: textFrom,
      to: textTo,
    } = depth === 0 || !view ? whole : { ...view, from: 0, to: view.length }
    while (before > first && from > textFrom && fold[here[from - 1] ?? 0] === bytes[before - 1]) {
      from--
      before--
    }
    while (after < last && to < textTo && fold[here[to] ?? 0] === bytes[after]) {
      to++
      after++
    }
    if (isBeforeShared && before === first && from > textFrom && isBase64[here[from - 1] ?? 0] === 1) {
      from--
      isBeforeShared = false
    }
    if (depth === layer && sharesAfter) {
      if (to < textTo && isBase64[here[to] ?? 0] === 1) to++
      while (to < textTo && here[to] === 0x3d) to++
    }
    if (depth === 0 || !view) return { from, to }
    const isAtEnd = text.isEnd && to === textTo
    from = sourceStart(view, from)
    to = isAtEnd ? (views[depth - 2]?.length ?? whole.to) : sourceEnd(view, to)
  }
}

/** Merges overlapping spans. Adjacent ones are separate secrets. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.sort((one, other) => one.from - other.from || other.to - one.to)) {
    const last = merged.at(-1)
    if (last && span.from < last.to) last.to = Math.max(last.to, span.to)
    else merged.push(span)
  }
  return merged
}
