/** Decodes the escapes of URLs, JSON and strings in a body, as an API would. */

export function withoutPercents(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

/**
 * In JSON `\u0061` is `a`, and `\n` separates words although its `n` looks like part of the next one. The lookbehinds
 * make each run of backslashes match once, from its start: otherwise the time would be quadratic.
 */
export function withoutEscapes(text: string): string {
  return text
    .replace(/(?<!\\)\\+u([0-9a-f]{4})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/(?<!\\)\\+([/"'])/g, '$1')
    .replace(/(?<!\\)\\+[nrtbf]/g, ' ')
}
