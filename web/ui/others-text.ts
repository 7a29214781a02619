/** Confines untrusted text to its place. */

/** Shortens by grapheme clusters. */
export function shortened(text: string, length: number): string {
  const characters = [...new Intl.Segmenter('en').segment(text)]
  if (characters.length <= length) return text
  const kept = characters.slice(0, length - 1).map(({ segment }) => segment)
  return `${kept.join('')}…`
}

/** No script stacks more combining marks on a letter. More would overlap other lines. */
const tower = /(\p{M}{4})\p{M}+/gu

export function unstacked(text: string): string {
  return text.replace(tower, '$1')
}

/** The parts of a sentence of ours in which the words of others are in “…”, which those can't end themselves. */
export function quotations(sentence: string): { text: string; isTheirs: boolean }[] {
  const parts = sentence.split(/(“[^“”]*”)/)
  return parts.flatMap((text, index) => (text === '' ? [] : [{ text, isTheirs: index % 2 === 1 }]))
}

/** Text in order, with the characters in it that can't be seen. */
export type Revealed = (string | { hidden: string })[]

/**
 * Control characters, direction marks and others that can't be seen. Joiners and variation selectors after a letter of
 * another script or an emoji are part of how those are written.
 */
const hidden =
  /(?:(?![\n\t]|(?<=\P{ASCII})[\p{Join_Control}\p{Variation_Selector}])[\p{Cc}\p{Cf}\p{DI}\u2028\u2029])+/gu

export function revealed(text: string): Revealed {
  const lines = text.replaceAll('\r\n', '\n')
  const parts: Revealed = []
  let end = 0
  for (const { index, 0: run } of lines.matchAll(hidden)) {
    if (index > end) parts.push(lines.slice(end, index))
    parts.push({ hidden: nameOf(run) })
    end = index + run.length
  }
  if (end < lines.length) parts.push(lines.slice(end))
  return parts
}

function nameOf(run: string): string {
  const { length } = Array.from(run)
  if (length > 1) return `${length.toLocaleString('en')} hidden characters`
  return `U+${(run.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
