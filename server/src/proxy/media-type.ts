/** How a server would parse a body, by its Content-Type. */
import { memoizeByText } from '../platform/cache/memoize.ts'
import { readParameters } from '../platform/multipart.ts'
import type { HeaderList } from './upstream.ts'

/** As pairs, as parts, as members of an object, or in any of these ways. Undefined: a type that has no parameters. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'unknown' | undefined

interface MediaType {
  kind: BodyKind
  /** In lower case, without parameters. */
  type: string
  /** Undefined if there is none, or parsers could find different ones. */
  boundary: string | undefined
  charset: 'utf-8' | 'latin1' | 'other'
}

export function mediaTypeOf(headers: HeaderList): MediaType {
  return parseMediaType(valueOf(headers, 'content-type'))
}

/** Of several headers all count, and so does a name with an underscore, which CGI does not distinguish. */
function valueOf(headers: HeaderList, wanted: string): string {
  return headers
    .filter(([name]) => name.replaceAll('_', '-') === wanted)
    .map(([, value]) => value)
    .join(', ')
}

/** Several encodings, or one by a name that is not known, count too. */
export function isCompressed(headers: HeaderList): boolean {
  return !['', 'identity'].includes(contentEncodingOf(headers))
}

/** In lower case. */
export function contentEncodingOf(headers: HeaderList): string {
  return valueOf(headers, 'content-encoding').trim().toLowerCase()
}

const parseMediaType = memoizeByText((header): MediaType => {
  const [, written = '', rest = ''] = /^[ \t]*([\w!#$&^.+-]+\/[\w!#$&^.+*-]+)[ \t]*(;.*)?$/.exec(header) ?? []
  const parameters = readParameters(rest)
  // Of two headers servers read either.
  const isOne = parameters !== undefined || !header.includes(',')
  const type = isOne ? written.toLowerCase() : ''
  const isPlain = parameters !== undefined && !parameters.some(([name]) => name.includes('*'))
  const valuesOf = (wanted: string) =>
    isPlain ? parameters.filter(([name]) => name === wanted).map(([, value]) => value) : []
  const boundaries = valuesOf('boundary')
  const charsets = new Set(valuesOf('charset').map(charsetNamed))
  const [charset = 'utf-8'] = charsets
  const hasOne = boundaries.length === 1 && boundaries[0] !== '' && isFoundBySearch(rest, parameters)
  return {
    kind: kindOf(type, header),
    type,
    boundary: hasOne ? boundaries[0] : undefined,
    charset: isPlain && charsets.size <= 1 ? charset : 'other',
  }
})

/** PHP takes what follows the first `boundary` and the next `=`, wherever they stand. It looks for lower case first. */
function isFoundBySearch(text: string, parameters: readonly (readonly string[])[] = []): boolean {
  const first = parameters.find((parameter) => /boundary/i.test(parameter.join('=')))
  const [found = '', ...others] = text.match(/boundary/gi) ?? []
  return first?.[0] === 'boundary' && (found === 'boundary' || others.length === 0)
}

function charsetNamed(name: string): MediaType['charset'] {
  if (/^(?:utf-?8|us-ascii)$/i.test(name)) return 'utf-8'
  return /^(?:iso-8859-1|windows-1252)$/i.test(name) ? 'latin1' : 'other'
}

/** Some servers read a body without a valid type as a form. Laravel searches the whole header for `/json` and `+json`. */
function kindOf(type: string, header: string): BodyKind {
  if (type === '') return /multipart/i.test(header) ? 'multipart' : 'unknown'
  if (type.startsWith('multipart/')) return 'multipart'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (/[/+]json/.test(type)) return 'json'
  return /[/+]json/i.test(header) ? 'unknown' : undefined
}
