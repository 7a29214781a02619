/**
 * Parameters by which a call can say that it is another one: a method that overrides its own, or a credential beside
 * ours. Frameworks fold names before they compare them, so they are looked for here in all those writings. A text is
 * searched for them alone and never taken apart as a whole: a long one would keep everybody waiting.
 */
import { ServiceError } from '../platform/errors.ts'
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
  // Google's APIs know it.
  '$httpmethod',
  'x_http_method',
  'x_http_method_override',
  'x_method_override',
]
/**
 * RFC 6750 §2.2 and §2.3 know them in queries and forms; and the other names that it goes by. Google's APIs take any
 * header, this one and a range among them, from a parameter.
 */
const credentialNames = ['access_token', 'oauth_token', 'bearer_token', '$httpheaders']
const overrides: ReadonlySet<string> = new Set(overrideNames)
const credentials: ReadonlySet<string> = new Set(credentialNames)

export function overridesIn(headers: HeaderList): string[] {
  const methods: string[] = []
  for (const [name, value] of headers) {
    // CGI and its heirs know no difference between the two.
    if (/method|verb/.test(name) && overrides.has(name.replaceAll('-', '_'))) methods.push(...methodsIn(value))
  }
  return methods
}

/** None of what is looked for can be written without one of these: a part of a name, or an escape of such a part. */
const hint = /method|verb|token|headers|%(?:2e|4[1-9a-f]|5[0-9abf]|6[1-9a-f]|7[0-9a])|[\\%]u00/i

export function meantByQuery(search: string): Meant {
  return search === '' || !hint.test(search) ? nothing : meantBy(parametersIn(search.slice(1)), 'url')
}

/** How a body is read: as pairs, as parts, or as the members of an object. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'unknown'

export function meantByBody(body: Buffer, kind: BodyKind): Meant {
  const text = body.toString('latin1')
  if (!text.includes('\u0000')) return meantByText(text, kind)
  // UTF-16 is ASCII with zeros in between; elsewhere a zero may end a name.
  const [asItIs, without] = [meantByText(text, kind), meantByText(text.replaceAll('\u0000', ''), kind)]
  return { methods: [...asItIs.methods, ...without.methods], credential: asItIs.credential ?? without.credential }
}

function meantByText(text: string, kind: BodyKind): Meant {
  if (!hint.test(text)) return nothing
  if (kind === 'json') return meantBy(membersIn(text), 'body')
  if (kind === 'multipart') return meantBy(partsIn(text), 'body')
  if (kind === 'form') return meantBy(parametersIn(text), 'body')
  return meantBy(inAnyForm(text), 'body')
}

const nothing: Meant = { methods: [], credential: undefined }
/** Nobody says it more often than that. */
const mostNamed = 100

type Parameter = [name: string, value: string]

function meantBy(parameters: Iterable<Parameter>, field: string): Meant {
  const meant: Meant = { methods: [], credential: undefined }
  let named = 0
  for (const [name, value] of parameters) {
    if (++named > mostNamed) {
      throw new ServiceError('invalid_field', { field, message: `"${field}" says over and over what method it means.` })
    }
    if (overrides.has(name)) meant.methods.push(...methodsIn(value))
    else if (credentials.has(name)) meant.credential ??= name
  }
  return meant
}

/** What is no method stays what it is: it is on no list, and so not allowed. */
function methodsIn(value: string): string[] {
  return value.split(',').map((one) => one.trim().toUpperCase())
}

function* inAnyForm(text: string): Generator<Parameter> {
  yield* parametersIn(text)
  yield* partsIn(text)
  yield* membersIn(text)
}

/** Also as ASP writes them: `%u005f`. */
const escape = String.raw`(?:[\\%]u00|%)`
const blank = String.raw`(?:[\s+]|${escape}(?:20|0[9a-d]|a0))`
/** PHP makes blanks, dots and an open bracket an underscore. */
const underscore = String.raw`(?:[_\s.+[-]|${escape}(?:5f|20|0[9a-d]|a0|2e|5b|2d))`

function writingsOf(name: string): string {
  return Array.from(name, (character) => {
    if (character === '_') return underscore
    const codes = [character, character.toUpperCase()].map((one) => one.charCodeAt(0).toString(16))
    return `(?:[${character}]|${escape}(?:${codes.join('|')}))`
  }).join('')
}

const anyName = `(${[...overrideNames, ...credentialNames].map(writingsOf).join('|')})`
const anyOverride = `(${overrideNames.map(writingsOf).join('|')})`
/** PHP cuts a name at a NUL; `name[]` is `name` to many. */
const cut = String.raw`[[\0]|${escape}(?:00|5b)`

const pair = new RegExp(String.raw`(?:^|[&;])${blank}*${anyName}${blank}*(?=[=&;]|${cut}|$)`, 'gi')

function* parametersIn(text: string): Generator<Parameter> {
  for (const { 0: before, 1: name = '', index } of found(pair, text)) {
    const [, value = ''] = /^[^=&;]{0,200}(?:=([^&;]{0,200})(?=[&;]|$))?/.exec(after(text, index, before)) ?? []
    yield [foldName(unescaped(name)), unescaped(value)]
  }
}

/** RFC 7578: the name of a part stands in its header, its value behind a blank line. PHP takes both kinds of quotes. */
const part = new RegExp(
  String.raw`[;\s]name\*?\s*=\s*(?:[\w-]{0,40}'[\w-]{0,40}')?["']?${blank}*${anyOverride}${blank}*(?=["'\s;]|${cut}|$)`,
  'gi',
)

function* partsIn(text: string): Generator<Parameter> {
  for (const { 0: before, 1: name = '', index } of found(part, text)) {
    const [, value = ''] = /\r?\n\r?\n([^\r\n]*)/.exec(after(text, index, before)) ?? []
    yield [foldName(unescaped(name)), value]
  }
}

/** At whatever depth: which of them a framework looks at is not known here. */
const member = new RegExp(String.raw`"${anyOverride}(?:(?:${cut})[^"]{0,100})?"(?=\s*:\s*")`, 'gi')

function* membersIn(text: string): Generator<Parameter> {
  for (const { 0: before, 1: name = '', index } of found(member, text)) {
    const [, value = ''] = /^\s*:\s*"([^"]{0,200})"/.exec(after(text, index, before)) ?? []
    yield [foldName(unescaped(name)), unescaped(value)]
  }
}

/** To go through what is found costs a copy of the pattern; mostly there is nothing. */
function found(pattern: RegExp, text: string): Iterable<RegExpExecArray> {
  return text.search(pattern) === -1 ? [] : text.matchAll(pattern)
}

/** As much of it as a value could lie in. */
function after(text: string, index: number, before: string): string {
  const from = index + before.length
  return text.slice(from, from + 2000)
}

function foldName(name: string): string {
  return name.replaceAll(/[\s.[-]/g, '_').toLowerCase()
}

function unescaped(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/(?:[\\%]u00|%)([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
