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
