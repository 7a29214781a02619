/**
 * Whether a request names one of a preset's credential fields. Names in GraphQL and types in JSON are compared as they
 * are. SOQL, SOSL, XML and CSV have no parser here: in such a text each word counts, also in the value of a record.
 */
import { memoizeByObject } from '../../platform/cache/memoize.ts'

/** Without case: some APIs ignore it. `=User` is the name of a type only where it is the whole text. */
export function isCredentialField(fields: readonly string[], name: string): boolean {
  return namesOf(fields).has(name.trim().toLowerCase())
}

const namesOf = memoizeByObject((fields: readonly string[]) => new Set(fields.map((field) => field.toLowerCase())))

export function isCredentialType(fields: readonly string[], name: string): boolean {
  return isCredentialField(fields, name) || isCredentialField(fields, `=${name.trim()}`)
}

/** Also with the character references of XML. */
export function textNamesCredentialField(fields: readonly string[], text: string): boolean {
  if (fields.length === 0) return false
  // In UTF-16, there is a NUL between ASCII characters.
  const bare = text.replaceAll('\u0000', '')
  const name = patternOf(fields)
  return name.test(bare) || name.test(withoutReferences(bare))
}

const patternOf = memoizeByObject((fields: readonly string[]) => {
  const patterns = fields.map((field) => (field.startsWith('=') ? wholeValue(field.slice(1)) : word(field)))
  return new RegExp(patterns.join('|'), 'i')
})

const word = (name: string) => `(?<![\\w])${name}(?![\\w])`
const wholeValue = (name: string) => `(?<=["'>]\\s?)${name}(?=\\s?(?:["']|<))`

function withoutReferences(text: string): string {
  return text.replace(/&#(?:x([0-9a-f]{1,6})|(\d{1,7}));/gi, (whole, hex?: string, decimal?: string) => {
    const code = hex === undefined ? Number(decimal) : parseInt(hex, 16)
    return code < 128 ? String.fromCharCode(code) : whole
  })
}
