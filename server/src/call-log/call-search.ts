/** Finds calls by where they went, as people write it: "post api.example.com/items". */

export function wordsIn(text: string | undefined): string[] | undefined {
  const words = text
    ?.toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return words && words.length > 0 ? words : undefined
}

/** `detail` is what the record holds of a call; what is no such thing holds no words. */
export function holdsWords(detail: string, words: readonly string[]): boolean {
  const place = placeIn(detail)
  return words.every((word) => place.includes(word) || place.includes(asInUrl(word)))
}

function placeIn(detail: string): string {
  try {
    const { method, host, path } = JSON.parse(detail) as Record<string, unknown>
    return `${textOf(method)} ${textOf(host)}${textOf(path)}`.toLowerCase()
  } catch {
    return ''
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Paths are on record as they were sent. */
function asInUrl(word: string): string {
  return encodeURI(word.toWellFormed()).toLowerCase()
}
