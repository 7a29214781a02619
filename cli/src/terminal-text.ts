/**
 * Text that others wrote (names, reasons, bodies of upstreams), as it may stand on a terminal: nothing in it moves the
 * cursor, changes colours or titles, reorders what is read, or can't be seen.
 */
const unsafe =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]/g
const unsafeButLines = new RegExp(`(?![\\n\\t])(?:${unsafe.source})`, 'gu')
const unsafeInLine = new RegExp(unsafe.source, 'gu')

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** For one line: line breaks and tabs are escaped too. */
export function inLine(text: string): string {
  return text.replace(unsafeInLine, escaped)
}

/** For a text of several lines. A carriage return before a line feed is a part of the line's end. */
export function inLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(unsafeButLines, escaped)
}

/** JSON that means the same, and has nothing in it that a terminal would act upon. */
export function safeJson(json: string): string {
  return json.replace(
    unsafeButLines,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
