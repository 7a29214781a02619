/** Sentences with untrusted parts, which are kept separate until they are rendered. */
export type Part = string | { theirs: string }
export type Words = readonly Part[]

export function theirs(text: string): Part {
  return { theirs: text }
}

/** As plain text, for labels, titles and search. */
export function plainText(words: Words): string {
  return words.map((part) => (typeof part === 'string' ? part : part.theirs)).join('')
}

const lists = new Intl.ListFormat('en', { type: 'conjunction' })

export function listOf(texts: readonly string[]): Part[] {
  return lists.formatToParts(texts).map(({ type, value }) => (type === 'element' ? theirs(value) : value))
}

/** Lists the first few items of a long list. */
export function listOfFew(texts: readonly string[], few = 6): Part[] {
  if (texts.length <= few) return listOf(texts)
  const first = texts.slice(0, few - 1).flatMap((text) => [theirs(text), ', '])
  return [...first, `and ${texts.length - few + 1} others`]
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}
