/** The word that was probably meant: an edit distance of at most two. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, distance: distance(given, word) }))
    .filter((one) => one.distance <= 2 && one.distance < one.word.replace(/^-+/, '').length)
    .sort((one, other) => one.distance - other.distance)
  return best?.word
}

/** Levenshtein distance, row by row. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return 3
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [index, letter] of Array.from(one).entries()) {
    const next = [index + 1]
    for (let at = 1; at <= other.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (other[at - 1] === letter ? 0 : 1)
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
