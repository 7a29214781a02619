/**
 * Parameters by which a call can say that it is another one: a method that overrides its own, or a credential beside
 * ours. Frameworks fold names before they compare them, so they are looked for here in all those writings. A text is
 * searched for them alone and never taken apart as a whole: a long one would keep everybody waiting.
 */
import { ServiceError } from '../platform/errors.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { endOfMemberName, endOfPairName, isPartName, longestWriting, searchFor } from './parameter-names.ts'
import type { FoundName } from './parameter-names.ts'
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
  return meantBy(parametersIn(search.slice(1), readersOf.form), 'url')
}

/** How a body is read: as pairs, as parts, or as the members of an object. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'unknown'

/** A body longer than this is to be searched ahead, in slices. At worst one takes two milliseconds. */
export const sliceLength = 16_384

const searchedAhead = new WeakMap<Buffer, { kind: BodyKind; result: () => Meant }>()

export function meantByBody(body: Buffer, kind: BodyKind): Meant {
  const known = searchedAhead.get(body)
  if (known?.kind === kind) return known.result()
  return meantBy(parametersInBody(body, kind), 'body')
}

/** The same, between other work: what it finds is told once it is asked for. */
export async function searchAhead(body: Buffer, kind: BodyKind): Promise<void> {
  const collected = collect('body')
  let result = () => collected.meant
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
  // UTF-16 is ASCII with zeros in between; elsewhere a zero may end a name.
  if (text.includes('\u0000')) yield* parametersIn(text.replaceAll('\u0000', ''), readersOf[kind])
}

/** Nobody says it more often than that. */
const mostNamed = 100

type Parameter = [name: string, value: string]

function meantBy(parameters: Iterable<Parameter | undefined>, field: string): Meant {
  const collected = collect(field)
  for (const parameter of parameters) if (parameter) collected.add(parameter)
  return collected.meant
}

function collect(field: string): { meant: Meant; add: (parameter: Parameter) => void } {
  const meant: Meant = { methods: [], credential: undefined }
  let named = 0
  return {
    meant,
    add: ([name, value]) => {
      if (++named > mostNamed) {
        throw new ServiceError('invalid_field', {
          field,
          message: `"${field}" says over and over what method it means.`,
        })
      }
      if (overrides.has(name)) meant.methods.push(...methodsIn(value))
      else if (credentials.has(name)) meant.credential ??= name
    },
  }
}

/** What is no method stays what it is: it is on no list, and so not allowed. */
function methodsIn(value: string): string[] {
  return value.split(',').map((one) => one.trim().toUpperCase())
}

const anyName = searchFor([...overrideNames, ...credentialNames])

/** What a name that was found says, if it stands where one is read. */
type Reader = (text: string, found: FoundName) => Parameter | undefined

/** Undefined at the end of each slice. */
function* parametersIn(text: string, readers: readonly Reader[]): Generator<Parameter | undefined> {
  for (let from = 0; from < text.length;) {
    let to = from + sliceLength
    if (hint.test(text.slice(from, to + longestWriting))) {
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

const ofPair: Reader = (text, found) => {
  const end = endOfPairName(text, found)
  if (end === undefined) return undefined
  const [, value = ''] = /^[^=&;]{0,200}(?:=([^&;]{0,200})(?=[&;]|$))?/.exec(after(text, end)) ?? []
  return [nameOf(found), unescaped(value)]
}

/** The value of a part stands behind a blank line. */
const ofPart: Reader = (text, found) => {
  if (!isPartName(text, found) || !overrides.has(nameOf(found))) return undefined
  const [, value = ''] = /\r?\n\r?\n([^\r\n]*)/.exec(after(text, found.to)) ?? []
  return [nameOf(found), value]
}

/** At whatever depth: which of them a framework looks at is not known here. */
const ofMember: Reader = (text, found) => {
  const end = endOfMemberName(text, found)
  if (end === undefined || !overrides.has(nameOf(found))) return undefined
  const [, value = ''] = /^\s*:\s*"([^"]{0,200})"/.exec(after(text, end)) ?? []
  return [nameOf(found), unescaped(value)]
}

const readersOf: Record<BodyKind, readonly Reader[]> = {
  form: [ofPair],
  multipart: [ofPart],
  json: [ofMember],
  unknown: [ofPair, ofPart, ofMember],
}

/** As much of it as a value could lie in. */
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
