/**
 * Escapes untrusted text (names, reasons, upstream bodies) for a terminal: nothing in it may move the cursor, change
 * colors or titles, reorder text, or be invisible. The zero-width joiner and non-joiner may stay: scripts and emoji
 * need them.
 */
const unsafe = String.raw`(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]`
const unsafeInLine = new RegExp(unsafe, 'gu')
const unsafeInLines = new RegExp(String.raw`(?![\n\t])${unsafe}`, 'gu')

/** For one line: also escapes line breaks and tabs. */
export function inLine(text: string): string {
  return text.replace(unsafeInLine, escaped)
}

/** For several lines. CRLF becomes LF. */
export function inLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unsafeInLines, escaped)
}

/** Equivalent JSON without characters that a terminal would interpret. */
export function safeJson(json: string): string {
  return json.replace(unsafeInLines, (character) =>
    Array.from({ length: character.length }, (_, at) => unit(character.charCodeAt(at))).join(''),
  )
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unit(code)
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
