/**
 * Whether a batch names one of a preset's credential fields. A name has no other spelling but in its case, to some; the
 * JSON or form around it does, so these are undone first. It does not matter where the name stands: a comment or an
 * alias that says `apiKeyCreate` is refused too.
 */
import { withoutEscapes, withoutPercents } from './undo-escapes.ts'

export function namesCredentialField(fields: readonly string[], request: string): boolean {
  if (fields.length === 0) return false
  // UTF-16 is ASCII with zeros in between.
  const bare = request.replaceAll('\u0000', '')
  const readings = [bare, withoutPercents(bare), withoutEscapes(bare), withoutEscapes(withoutPercents(bare))]
  const patterns = fields.map((field) => (field.startsWith('=') ? wholeValue(field.slice(1)) : word(field)))
  const name = new RegExp(patterns.join('|'), 'i')
  return readings.some((text) => name.test(text))
}

const word = (name: string) => `(?<![\\w])${name}(?![\\w])`
const wholeValue = (name: string) => `(?<=["'>]\\s?)${name}(?=\\s?(?:\\\\*["']|<))`
