/**
 * Path and body of a call as a sentence may use them: only what every server reads alike. Undefined where it isn't so.
 */
import { isUtf8 } from 'node:buffer'
import { parseJson } from '../../proxy/body-content.ts'
import { isCompressed, mediaTypeOf } from '../../proxy/media-type.ts'
import type { SummarisedCall } from './summary.ts'

export type Members = ReadonlyMap<string, unknown>
export type Pairs = readonly (readonly [name: string, value: string])[]

/** Decoded. */
export function segmentsOf({ pathname }: URL): string[] | undefined {
  const segments = pathname.slice(1).split('/').map(readSegment)
  return segments.every((segment) => segment !== undefined) ? segments : undefined
}

/** Not one that a server could decode twice, take for several, or cut. */
function readSegment(written: string): string | undefined {
  if (!/^(?:[\w.~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2}){1,1000}$/.test(written)) return undefined
  const segment = decoded(written)
  if (segment === undefined || segment === '.' || segment === '..') return undefined
  return /[/\\%;?#\p{Cc}]/u.test(segment) ? undefined : segment
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The members of a body that is one JSON object and says so. An empty body has none. */
export function jsonMembers({ headers, body }: Pick<SummarisedCall, 'headers' | 'body'>): Members | undefined {
  if (!body || body.length === 0) return new Map()
  const { type, charset } = mediaTypeOf(headers)
  if (type !== 'application/json' && !/^application\/[\w.-]{1,60}\+json$/.test(type)) return undefined
  if (charset !== 'utf-8' || isCompressed(headers) || !isUtf8(body)) return undefined
  try {
    return membersOf(parseJson(body.toString()))
  } catch {
    return undefined
  }
}

/** Undefined unless it is an object. */
export function membersOf(value: unknown): Members | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return new Map(Object.entries(value))
}

/** The fields of a form, each once. */
export function formMembers({ headers, body }: Pick<SummarisedCall, 'headers' | 'body'>): Members | undefined {
  if (!body || body.length === 0) return new Map()
  const { type, charset } = mediaTypeOf(headers)
  if (type !== 'application/x-www-form-urlencoded' || charset !== 'utf-8') return undefined
  if (isCompressed(headers) || !isUtf8(body)) return undefined
  const pairs = readForm(body.toString())
  const members = pairs && new Map(pairs)
  return members?.size === pairs?.length ? members : undefined
}

const mostPairs = 10_000

/** Undefined where parsers differ: semicolons, broken escapes, brackets, and blanks or NUL around or in names. */
export function readForm(text: string): Pairs | undefined {
  const written = text.split('&')
  if (text.includes(';') || written.length > mostPairs) return undefined
  const pairs = written.map((pair): [string, string] | undefined => {
    const equals = pair.indexOf('=')
    if (equals < 1) return undefined
    const name = decoded(pair.slice(0, equals).replaceAll('+', ' '))
    const value = decoded(pair.slice(equals + 1).replaceAll('+', ' '))
    return name === undefined || value === undefined || /^\s|\s$|[[\]\0]/.test(name) ? undefined : [name, value]
  })
  return pairs.every((pair) => pair !== undefined) ? pairs : undefined
}

/** A text that is not empty. */
export function textIn(members: Members, name: string): string | undefined {
  const value = members.get(name)
  return typeof value === 'string' && value !== '' && value.isWellFormed() ? value : undefined
}

/** A list of texts, which may be missing (empty). Undefined if it is anything else. */
export function textsIn(members: Members, name: string): string[] | undefined {
  const value: unknown = members.get(name) ?? []
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
}
