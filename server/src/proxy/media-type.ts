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
  const type = written.toLowerCase()
  const parameters = readParameters(rest)
  const isPlain = parameters !== undefined && !parameters.some(([name]) => name.includes('*'))
  const valuesOf = (wanted: string) =>
    isPlain ? parameters.filter(([name]) => name === wanted).map(([, value]) => value) : []
  const boundaries = valuesOf('boundary')
  const charsets = new Set(valuesOf('charset').map(charsetNamed))
  const [charset = 'utf-8'] = charsets
  return {
    kind: kindOf(type),
    type,
    boundary: boundaries.length === 1 && boundaries[0] !== '' ? boundaries[0] : undefined,
    charset: isPlain && charsets.size <= 1 ? charset : 'other',
  }
})

function charsetNamed(name: string): MediaType['charset'] {
  if (/^(?:utf-?8|us-ascii)$/i.test(name)) return 'utf-8'
  return /^(?:iso-8859-1|windows-1252)$/i.test(name) ? 'latin1' : 'other'
}

/** Some servers read a body without a valid type as a form. */
function kindOf(type: string): BodyKind {
  if (type === '') return 'unknown'
  if (/^application\/(?:[\w.+-]+\+)?json$|^text\/json$/.test(type)) return 'json'
  if (type.startsWith('multipart/')) return 'multipart'
  return type === 'application/x-www-form-urlencoded' ? 'form' : undefined
}
