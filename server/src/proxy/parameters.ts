/**
 * Finds parameters that change what a call means: method overrides, and credentials beside ours. Frameworks normalize
 * names in different ways, so a name counts if any of them would read it as one of these.
 */
import { ServiceError } from '../platform/errors.ts'
import { looksLikeJson, membersIn, parseJson, readParts, readText, UnreadableBody } from './body-content.ts'
import type { GivenBody } from './body-content.ts'
import type { BodyKind } from './media-type.ts'
import type { JudgedCall } from './policy.ts'

const overrides: ReadonlySet<string> = new Set([
  ...['_method', '_httpmethod', '_http_method', '_verb', 'x_http_method', 'x_http_method_override'],
  'x_method_override',
  // Of Google's APIs, and of Asana's.
  ...['$httpmethod', 'opt_method', 'options_method'],
])
/**
 * From RFC 6750 §2.2 and §2.3, and other common names. Google's APIs take any header, such as Authorization or Range,
 * from `$httpHeaders`.
 */
const credentials: ReadonlySet<string> = new Set(['access_token', 'oauth_token', 'bearer_token', '$httpheaders'])

/**
 * Every method that an upstream could read a call as: its own, and those in method overrides. `kind`: how its body is
 * read. `isLimited`: it matters to the grant. Throws if the caller sends a credential of its own in a parameter.
 */
export function possibleMethods(call: JudgedCall, kind: BodyKind, isLimited: boolean): string[] {
  const { method, headers, destination, body } = call
  const methods = [method, ...overridesIn(headers), ...inPairs(destination.url.search.slice(1), 'url')]
  if (kind === undefined || !body || body.length === 0) return methods
  // A server may ignore encoding and charset, and read the bytes as they are.
  if (kind === 'form' || kind === 'unknown') methods.push(...inPairs(body.toString('latin1'), 'body'))
  try {
    methods.push(...inside(call, kind))
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error
    if (isLimited) throw cannotBeLimited(error)
  }
  return methods
}

function cannotBeLimited({ field, message }: UnreadableBody): ServiceError {
  return new ServiceError('method_not_allowed', {
    field,
    message: `The grant limits what calls may do, and this body can't be checked for a method override: ${message}.`,
  })
}

export function overridesIn(headers: Iterable<readonly [name: string, value: string]>): string[] {
  const methods: string[] = []
  for (const [name, value] of headers) {
    // CGI does not distinguish hyphens and underscores.
    if (/method|verb/.test(name) && overrides.has(name.replaceAll('-', '_'))) methods.push(...methodsIn(value))
  }
  return methods
}

function inside(body: GivenBody, kind: BodyKind): string[] {
  const text = readText(body)
  if (kind === 'multipart') {
    return methodsOf(readParts(text, body.headers).map(({ name = '', content }) => [name, content.trim()]))
  }
  if (kind === 'json' || (kind === 'unknown' && looksLikeJson(text)))
    return methodsOf(withOptions(membersIn(parseJson(text))))
  if (kind === 'unknown' && text.startsWith('--')) {
    throw new UnreadableBody('it looks like a multipart body. Name its type in Content-Type', 'headers.content-type')
  }
  return []
}

/** In JSON, Asana has the method at `options.method`. */
function withOptions(members: [name: string, value: unknown][]): [name: string, value: unknown][] {
  const inOptions = members
    .filter(([name]) => name.toLowerCase() === 'options')
    .flatMap(([, value]) => membersIn(value))
  return [...members, ...inOptions.map(([name, value]): [string, unknown] => [`options_${name}`, value])]
}

/** No genuine call has more: frameworks take a few thousand parameters. */
const maxOverrides = 100
const maxPairs = 50_000
const maxNames = 10_000

function methodsOf(members: readonly (readonly [name: string, value: unknown])[], field = 'body'): string[] {
  const methods = members
    .filter(([name, value]) => value !== null && possibleNames(name).some((one) => overrides.has(one)))
    .flatMap(([, value]) => methodsIn(String(value)))
  if (methods.length <= maxOverrides) return methods
  throw tooMany(field)
}

function tooMany(field: string): ServiceError {
  return new ServiceError('invalid_field', { field, message: `"${field}" has too many parameters.` })
}

const longestList = 200

/** An invalid method is returned as it is: no grant lists it, so it is refused. */
function methodsIn(value: string): string[] {
  return value.length > longestList ? [''] : value.split(',').map((one) => one.trim().toUpperCase())
}

/** Every spelling contains one of these, so text without them needs no slower search. */
const hint = /method|verb|token|headers|%(?:2e|4[1-9a-f]|5[0-9abf]|6[1-9a-f]|7[0-9a])|%u00/i

/** Method overrides in a query or a form. Throws if one of its names is for a credential. */
export function inPairs(text: string, field: string): string[] {
  if (!hint.test(text)) return []
  const found: (readonly [string, string])[] = []
  let pairs = 0
  // In UTF-16, ASCII has zeros in between. Elsewhere a zero may end a name.
  for (const each of text.includes('\u0000') ? [text, text.replaceAll('\u0000', '')] : [text]) {
    for (const [written, value] of pairsIn(each)) {
      if (++pairs > maxPairs || found.length === maxNames) throw tooMany(field)
      if (!hint.test(written)) continue
      const name = unescaped(written)
      const credential = possibleNames(name).find((one) => credentials.has(one))
      if (credential !== undefined) throw ownCredential(field, credential)
      found.push([name, value.length > longestList ? value : unescaped(value)])
    }
  }
  return methodsOf(found, field)
}

/** No name is longer, however it is spelled. */
const longestName = 1000
const [ampersand, semicolon] = [0x26, 0x3b]

/** As they are written, without leading blanks. Some servers separate pairs by semicolons too. */
export function* pairsIn(text: string): Generator<[name: string, value: string]> {
  for (let from = 0, at = 0; at <= text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== ampersand && code !== semicolon && at < text.length) continue
    const start = from === at ? at : afterBlanks(text, from)
    if (start < at) {
      const equals = text.slice(start, at).indexOf('=')
      const end = equals === -1 ? at : start + equals
      yield [text.slice(start, Math.min(end, start + longestName)), text.slice(end + 1, at)]
    }
    from = at + 1
  }
}

const blank = /[\s+]/
const blankEscape = /^%(?:20|0[9a-d]|a0)$/i

function afterBlanks(text: string, from: number): number {
  for (let at = from; ;) {
    const character = text.charAt(at)
    if (blank.test(character)) at++
    else if (character === '%' && blankEscape.test(text.slice(at, at + 3))) at += 3
    else return at
  }
}

/** PHP turns spaces, dots and an open bracket into an underscore and cuts a name at a NUL. Many read `name[]` as `name`. */
function possibleNames(name: string): string[] {
  const [whole = ''] = name.trim().split('\u0000')
  const bracket = whole.indexOf('[', 1)
  const names = bracket === -1 ? [whole] : [whole, whole.slice(0, bracket)]
  return names.map((one) =>
    one
      .trim()
      .replaceAll(/[\s.[+-]/g, '_')
      .replaceAll(']', '')
      .toLowerCase(),
  )
}

/** Also the escapes of ASP: `%u005f`. */
function unescaped(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%(?:u00)?([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

export function ownCredential(field: string, name: string): ServiceError {
  return new ServiceError('invalid_field', { field, message: `The service adds the credential. Omit "${name}".` })
}
