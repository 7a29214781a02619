/**
 * Finds parameters that change what a call means: method overrides, and credentials beside ours. Frameworks normalize
 * names in different ways, so all spellings are searched for. The text is searched for these names only and never
 * parsed as a whole, which would take too long.
 */
import { ServiceError } from '../platform/errors.ts'
import { endOfMemberName, endOfPairName, isPartName, longestSpelling, searchFor } from './parameter-names.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import type { FoundName } from './parameter-names.ts'
import type { HeaderList } from './upstream.ts'

export interface FoundParameters {
  /** Method overrides, in upper case. */
  methods: string[]
  /** Name of the first parameter that is for a credential. */
  credential: string | undefined
}

const overrideNames = [
  '_method',
  '_httpmethod',
  '_http_method',
  '_verb',
  // Of Google's APIs.
  '$httpmethod',
  'x_http_method',
  'x_http_method_override',
  'x_method_override',
]
/**
 * From RFC 6750 §2.2 and §2.3, and other common names. Google's APIs take any header, such as Authorization or Range,
 * from `$httpHeaders`.
 */
const credentialNames = ['access_token', 'oauth_token', 'bearer_token', '$httpheaders']
const overrides: ReadonlySet<string> = new Set(overrideNames)
const credentials: ReadonlySet<string> = new Set(credentialNames)

export function overridesIn(headers: HeaderList): string[] {
  const methods: string[] = []
  for (const [name, value] of headers) {
    // CGI does not distinguish hyphens and underscores.
    if (/method|verb/.test(name) && overrides.has(name.replaceAll('-', '_'))) methods.push(...methodsIn(value))
  }
  return methods
}

/** Every spelling contains one of these, so text without them needs no slower search. */
const hint = /method|verb|token|headers|%(?:2e|4[1-9a-f]|5[0-9abf]|6[1-9a-f]|7[0-9a])|[\\%]u00/i

export function findInQuery(search: string): FoundParameters {
  return collectAll(parametersIn(search.slice(1), readersOf.form), 'url')
}

/** How the body is parsed: as pairs, as parts, or as members of an object. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'unknown'

/** A longer body is searched in slices, ahead of the decision. A slice takes two milliseconds at worst. */
export const sliceLength = 16_384

const searchedAhead = new WeakMap<Buffer, { kind: BodyKind; result: () => FoundParameters }>()

export function findInBody(body: Buffer, kind: BodyKind): FoundParameters {
  const known = searchedAhead.get(body)
  if (known?.kind === kind) return known.result()
  return collectAll(parametersInBody(body, kind), 'body')
}

/** The same in slices between other work. `findInBody` then returns, or throws, what was found. */
export async function searchAhead(body: Buffer, kind: BodyKind): Promise<void> {
  const collected = collect('body')
  let result = () => collected.found
  try {
    for (const parameter of parametersInBody(body, kind)) {
      if (parameter) collected.add(parameter)
      else await nextSlice()
    }
  } catch (error) {
    result = () => {
      throw error
    }
  }
  searchedAhead.set(body, { kind, result })
}

function* parametersInBody(body: Buffer, kind: BodyKind): Generator<Parameter | undefined> {
  const text = body.toString('latin1')
  yield* parametersIn(text, readersOf[kind])
  // In UTF-16, ASCII has zeros in between. Elsewhere a zero may end a name.
  if (text.includes('\u0000')) yield* parametersIn(text.replaceAll('\u0000', ''), readersOf[kind])
}

/** No genuine call has more. */
const maxParameters = 100

type Parameter = [name: string, value: string]

function collectAll(parameters: Iterable<Parameter | undefined>, field: string): FoundParameters {
  const collected = collect(field)
  for (const parameter of parameters) if (parameter) collected.add(parameter)
  return collected.found
}

function collect(field: string): { found: FoundParameters; add: (parameter: Parameter) => void } {
  const found: FoundParameters = { methods: [], credential: undefined }
  let named = 0
  return {
    found,
    add: ([name, value]) => {
      if (++named > maxParameters) {
        throw new ServiceError('invalid_field', {
          field,
          message: `"${field}" overrides the method too many times.`,
        })
      }
      if (overrides.has(name)) found.methods.push(...methodsIn(value))
      else if (credentials.has(name)) found.credential ??= name
    },
  }
}

/** An invalid method is returned as it is: no grant lists it, so it is refused. */
function methodsIn(value: string): string[] {
  return value.split(',').map((one) => one.trim().toUpperCase())
}

const anyName = searchFor([...overrideNames, ...credentialNames])

/** Returns the parameter if the name is at a place where a parser would read one. */
type Reader = (text: string, found: FoundName) => Parameter | undefined

/** Yields undefined at the end of each slice. */
function* parametersIn(text: string, readers: readonly Reader[]): Generator<Parameter | undefined> {
  for (let from = 0; from < text.length;) {
    let to = from + sliceLength
    if (hint.test(text.slice(from, to + longestSpelling))) {
      for (const found of anyName(text, from, to)) {
        to = Math.max(to, found.to)
        for (const read of readers) {
          const parameter = read(text, found)
          if (parameter) yield parameter
        }
      }
    }
    yield undefined
    from = to
  }
}

const readPair: Reader = (text, found) => {
  const end = endOfPairName(text, found)
  if (end === undefined) return undefined
  const [, value = ''] = /^[^=&;]{0,200}(?:=([^&;]{0,200})(?=[&;]|$))?/.exec(after(text, end)) ?? []
  return [nameOf(found), unescaped(value)]
}

/** The value of a part follows a blank line. */
const readPart: Reader = (text, found) => {
  if (!isPartName(text, found) || !overrides.has(nameOf(found))) return undefined
  const [, value = ''] = /\r?\n\r?\n([^\r\n]*)/.exec(after(text, found.to)) ?? []
  return [nameOf(found), value]
}

/** At any depth: it is not known which one a framework reads. */
const readMember: Reader = (text, found) => {
  const end = endOfMemberName(text, found)
  if (end === undefined || !overrides.has(nameOf(found))) return undefined
  const [, value = ''] = /^\s*:\s*"([^"]{0,200})"/.exec(after(text, end)) ?? []
  return [nameOf(found), unescaped(value)]
}

const readersOf: Record<BodyKind, readonly Reader[]> = {
  form: [readPair],
  multipart: [readPart],
  json: [readMember],
  unknown: [readPair, readPart, readMember],
}

/** Long enough for any value. */
function after(text: string, at: number): string {
  return text.slice(at, at + 2000)
}

function nameOf({ written }: FoundName): string {
  return unescaped(written)
    .replaceAll(/[\s.[-]/g, '_')
    .toLowerCase()
}

function unescaped(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/(?:[\\%]u00|%)([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
