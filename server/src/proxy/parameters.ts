/**
 * Parameters by which a call can say that it is another one: a method that overrides its own, or a credential beside
 * ours. Frameworks fold names before they compare them, so they are folded here in the same ways.
 */
import type { HeaderList } from './upstream.ts'

export interface Meant {
  /** Methods that the call names beside its own, in capitals. */
  methods: string[]
  /** The first parameter that carries a credential. */
  credential: string | undefined
}

const overrideNames = [
  '_method',
  '_httpmethod',
  '_http_method',
  '_verb',
  'x_http_method',
  'x_http_method_override',
  'x_method_override',
]
/** RFC 6750 §2.2 and §2.3 know them in queries and forms; and the other names that it goes by. */
const credentialNames = ['access_token', 'oauth_token', 'bearer_token']
const overrides: ReadonlySet<string> = new Set(overrideNames)
const credentials: ReadonlySet<string> = new Set(credentialNames)
const interesting: ReadonlySet<string> = new Set([...overrideNames, ...credentialNames])

export function overridesIn(headers: HeaderList): string[] {
  const methods: string[] = []
  for (const [name, value] of headers) {
    // CGI and its heirs know no difference between the two.
    if (/method|verb/.test(name) && overrides.has(name.replaceAll('-', '_'))) methods.push(...methodsIn(value))
  }
  return methods
}

/** None of what is looked for can be written without one of these: a part of a name, or an escape of such a part. */
const hint = /method|verb|token|%(?:2e|4[1-9a-f]|5[0-9abf]|6[1-9a-f]|7[0-9a])|\\u00/i

export function meantByQuery(search: string): Meant {
  return search === '' || !hint.test(search) ? nothing : meantBy(parametersIn(search.slice(1)))
}

/** How a body is read: as pairs, as parts, or as the members of an object. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'unknown'

export function meantByBody(body: Buffer, kind: BodyKind): Meant {
  // UTF-16 is ASCII with zeros in between.
  const text = body.toString('latin1').replaceAll('\u0000', '')
  if (!hint.test(text)) return nothing
  if (kind === 'json') return meantBy(membersIn(text))
  if (kind === 'multipart') return meantBy(partsIn(text))
  if (kind === 'form') return meantBy(parametersIn(text))
  return meantBy([...parametersIn(text), ...partsIn(text), ...membersIn(text)])
}

const nothing: Meant = { methods: [], credential: undefined }

type Parameter = [name: string, value: string]

function meantBy(parameters: Iterable<Parameter>): Meant {
  const meant: Meant = { methods: [], credential: undefined }
  for (const [name, value] of parameters) {
    if (overrides.has(name)) meant.methods.push(...methodsIn(value))
    else if (credentials.has(name)) meant.credential ??= name
  }
  return meant
}

/** What is no method stays what it is: it is on no list, and so not allowed. */
function methodsIn(value: string): string[] {
  return value.split(',').map((one) => one.trim().toUpperCase())
}

function* parametersIn(text: string): Generator<Parameter> {
  for (const pair of text.split(/[&;]/)) {
    const at = pair.indexOf('=')
    const name = foldName(unescaped(at === -1 ? pair.slice(0, 200) : pair.slice(0, Math.min(at, 200))))
    if (interesting.has(name)) yield [name, at === -1 ? '' : unescaped(pair.slice(at + 1))]
  }
}

/** RFC 7578: the name of a part stands in its header, its value behind a blank line. */
function* partsIn(text: string): Generator<Parameter> {
  for (const { 1: written = '', index } of text.matchAll(/[;\s]name\*?\s*=\s*("[^"\r\n]{0,200}"|[^\s;]{1,200})/gi)) {
    const name = foldName(unescaped(written.replace(/^[\w-]*'[\w-]*'/, '').replaceAll('"', '')))
    if (!overrides.has(name)) continue
    const [, value = ''] = /\r?\n\r?\n([^\r\n]*)/.exec(text.slice(index, index + 2000)) ?? []
    yield [name, value]
  }
}

/** At whatever depth: which of them a framework looks at is not known here. */
function* membersIn(text: string): Generator<Parameter> {
  const plain = text.replace(/\\u00([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  for (const { 1: name = '', 2: value = '' } of plain.matchAll(/"([\w.\-[\]]{1,100})"\s*:\s*"([^"]{0,200})"/g)) {
    if (overrides.has(foldName(name))) yield [foldName(name), value]
  }
}

/** PHP makes blanks, dots and an open bracket an underscore and cuts at a NUL; `name[]` is `name` to many. */
function foldName(name: string): string {
  const [whole = ''] = name.trim().split('\u0000')
  const bracket = whole.indexOf('[', 1)
  return (bracket === -1 ? whole : whole.slice(0, bracket)).replaceAll(/[\s.[-]/g, '_').toLowerCase()
}

function unescaped(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
