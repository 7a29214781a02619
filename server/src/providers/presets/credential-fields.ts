/**
 * Whether a batch names one of a preset's credential fields. Names can't be spelled differently, except that some APIs
 * ignore case. The JSON or form around them may contain escapes, which are decoded first. A name is found anywhere: a
 * comment or an alias `apiKeyCreate` is refused too.
 */
import { withoutEscapes, withoutPercents } from './undo-escapes.ts'

export function namesCredentialField(fields: readonly string[], request: string): boolean {
  if (fields.length === 0) return false
  // In UTF-16, there is a NUL between ASCII characters.
  const bare = request.replaceAll('\u0000', '')
  const readings = [bare, withoutPercents(bare), withoutEscapes(bare), withoutEscapes(withoutPercents(bare))]
  const patterns = fields.map((field) => (field.startsWith('=') ? wholeValue(field.slice(1)) : word(field)))
  const name = new RegExp(patterns.join('|'), 'i')
  return readings.some((text) => name.test(text))
}

const word = (name: string) => `(?<![\\w])${name}(?![\\w])`
const wholeValue = (name: string) => `(?<=["'>]\\s?)${name}(?=\\s?(?:\\\\*["']|<))`
