/** Search by words, for the service and for its pages. */

/** Whether every word of what is wanted is part of the text, whatever its accents and capitals. */
export function matchesWords(text: string, wanted: string): boolean {
  const folded = fold(text)
  return fold(wanted)
    .split(/\s+/)
    .every((word) => folded.includes(word))
}

function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trim()
}
