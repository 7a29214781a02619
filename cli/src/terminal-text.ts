/**
 * Text that others wrote (names, reasons, bodies of upstreams), as it may stand on a terminal: nothing in it moves the
 * cursor, changes colours or titles, reorders what is read, or can't be seen. The two joiners may stay: scripts and
 * emoji need them.
 */
const unsafe = String.raw`(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]`
const unsafeInLine = new RegExp(unsafe, 'gu')
const unsafeInLines = new RegExp(String.raw`(?![\n\t])${unsafe}`, 'gu')

/** For one line: line breaks and tabs are escaped too. */
export function inLine(text: string): string {
  return text.replace(unsafeInLine, escaped)
}

/** For a text of several lines. A carriage return before a line feed is a part of the line's end. */
export function inLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unsafeInLines, escaped)
}

/** JSON that means the same, and has nothing in it that a terminal would act upon. */
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
