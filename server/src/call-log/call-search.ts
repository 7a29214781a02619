/** Searches calls by method, host and path, as in "post api.example.com/items". */

export function wordsIn(text: string | undefined): string[] | undefined {
  const words = text
    ?.toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return words && words.length > 0 ? words : undefined
}

/** `detail` is the detail of a record. One that is not of a call contains no words. */
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

/** Paths are recorded percent-encoded. */
function asInUrl(word: string): string {
  return encodeURI(word.toWellFormed()).toLowerCase()
}
