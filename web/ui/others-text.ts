/** How the words of others are kept from reaching beyond the place that is theirs. */

/** By whole characters, as people count them. */
export function shortened(text: string, length: number): string {
  const characters = [...new Intl.Segmenter('en').segment(text)]
  if (characters.length <= length) return text
  const kept = characters.slice(0, length - 1).map(({ segment }) => segment)
  return `${kept.join('')}…`
}

/** No script stacks more marks than this on a letter; more of them would be painted over the lines around. */
const tower = /(\p{M}{4})\p{M}+/gu

export function unstacked(text: string): string {
  return text.replace(tower, '$1')
}
