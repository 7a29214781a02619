/** Batch requests: calls inside a call. Each is judged like a call of its own, and a batch that can't be read is refused. */
import { readHeaders } from '../platform/multipart.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import type { PathRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { parseJson, readParts, readText, UnreadableBody } from './body-content.ts'
import type { GivenBody } from './body-content.ts'
import { namesInGraphqlValue } from './graphql-operations.ts'
import { mediaTypeOf } from './media-type.ts'
import { inPairs, overridesIn, ownCredential } from './parameters.ts'
import type { JudgedCall } from './policy.ts'
import { isCredentialOperation, queryNamesCredentialType, valueNamesCredentialType } from './record-types.ts'

const maxCalls = 500
/** Of all paths together. */
const maxSegments = 5_000
/** No base of an API is deeper. */
const maxFolders = 4

/** A call in a batch. */
interface InnerCall {
  urls: string[]
  /** In upper case. Undefined: any. */
  methods: string[] | undefined
  headers: [name: string, value: string][]
  bodies: unknown[]
}

/**
 * Whether a call in a batch reaches a credential path, or a record in it gives access to credentials. `own`: what the batch
 * itself may be taken for. Throws `UnreadableBody` if it can't be told.
 */
export function reachesCredentials(rules: PresetRules, call: JudgedCall, own: readonly string[]): boolean {
  const { path, url } = call.destination
  if (queryNamesCredentialType(rules, url.search)) return true
  if (!call.body || call.body.length === 0) return false
  const { value, calls } = readBatch(call)
  const hasRecords = rules.recordPaths.length > 0
  if (hasRecords && valueNamesCredentialType(rules, value, own)) return true
  if (calls.length === 0 && !hasRecords) throw new UnreadableBody('it has no list of calls')
  assertBounded(calls)
  const folders = foldersAbove(path)
  return calls.some((inner) => isCredentialCall(rules, inner, folders))
}

function assertBounded(calls: readonly InnerCall[]): void {
  const slashes = calls.reduce(
    (sum, { urls }) => sum + (urls.join().match(/[/\\]|%(?:25)*(?:2f|5c)/gi)?.length ?? 0),
    0,
  )
  if (calls.length > maxCalls || slashes > maxSegments)
    throw new UnreadableBody('it has too many calls, or too long paths')
}

/** One of the calls in a batch, at each path that it could be for. */
export interface BatchedCall {
  /** In upper case. Undefined: any. */
  methods: string[] | undefined
  path: string
  query: string
  readings: PathReading[]
  bodies: readonly unknown[]
}

/** Throws `UnreadableBody` if it can't be told which they are. */
export function callsInBatch(call: JudgedCall): BatchedCall[] {
  const { calls } = readBatch(call)
  assertBounded(calls)
  const folders = foldersAbove(call.destination.path)
  return calls.flatMap((inner) =>
    inner.urls.map((url) => {
      const { path, query, methods, readings } = targetOf(inner, url)
      const below = folders.flatMap((folder) => readings.map((reading) => readingBelow(folder, reading)))
      return { methods, path, query, readings: below, bodies: inner.bodies }
    }),
  )
}

function targetOf(
  { methods, headers }: InnerCall,
  url: string,
): Pick<BatchedCall, 'methods' | 'path' | 'query' | 'readings'> {
  const [path = '', ...search] = url.split('?')
  const query = search.join('?')
  const overrides = [...overridesIn(headers), ...inPairs(query, 'body')]
  return { path, query, methods: methods && [...methods, ...overrides], readings: pathsOf(path).flatMap(readingsOf) }
}

function isCredentialCall(rules: PresetRules, inner: InnerCall, folders: readonly PathReading[]): boolean {
  const own = inner.headers.find(([name]) => /^(?:proxy-)?authorization$|^cookie$/.test(name))
  if (own) throw ownCredential('body', own[0])
  return inner.urls.some((url) => {
    const { query, methods, readings } = targetOf(inner, url)
    const below = folders.flatMap((folder) => readings.map((reading) => readingBelow(folder, reading)))
    if (rules.credentials.some((rule) => matchesRule(rule, below, methods))) return true
    assertIdsAlone(rules, url)
    return queryNamesCredentialType(rules, query) || isCredentialBatch(rules, inner, { readings, folders, query })
  })
}

function isCredentialBatch(
  rules: PresetRules,
  { bodies }: InnerCall,
  at: { readings: PathReading[]; folders: readonly PathReading[]; query: string },
): boolean {
  // Below the batch endpoint itself, everything would look like a batch.
  const folders = at.folders.filter((folder) => !isAt(rules.batches, [folder]))
  const below = folders.flatMap((folder) => at.readings.map((reading) => readingBelow(folder, reading)))
  if (!isAt(rules.batches, below)) return false
  if (isAt(rules.graphql, below)) {
    if (at.query !== '' || bodies.length === 0) throw new UnreadableBody('GraphQL in it has no body, or a query')
    return bodies.some((body) => isCredentialOperation(rules, namesInGraphqlValue(body)))
  }
  if (rules.recordPaths.length > 0 && bodies.every((body) => callsListedIn(body).length === 0)) return false
  throw new UnreadableBody('it has a batch inside a batch')
}

function isAt(rules: readonly PathRule[], readings: readonly PathReading[]): boolean {
  return rules.some((rule) => matchesRule(rule, readings, undefined))
}

/** Salesforce puts a value of an earlier answer in place of `@{account.Name}`. An id doesn't change what is called. */
function assertIdsAlone({ recordPaths }: PresetRules, url: string): void {
  if (recordPaths.length === 0 || !withoutIds(url).includes('@{')) return
  throw new UnreadableBody('a URL in it has a reference to something other than an id')
}

function withoutIds(url: string): string {
  return url.replace(/@\{[\w.[\]]{1,200}\.id\}/gi, '')
}

function readBatch(body: GivenBody): { value: unknown; calls: InnerCall[] } {
  const { kind } = mediaTypeOf(body.headers)
  const text = readText(body)
  if (kind === 'multipart') {
    return {
      value: null,
      calls: readParts(text, body.headers).map(({ headers, content }) => httpCall(headers, content)),
    }
  }
  if (kind !== 'json') throw new UnreadableBody('it is neither JSON nor multipart', 'headers.content-type')
  const value = parseJson(text)
  return { value, calls: callsListedIn(value).map(jsonCall) }
}

/** Of Asana, Microsoft Graph and Salesforce. */
const lists = new Set(['actions', 'requests', 'batchrequests', 'compositerequest'])
const wrappers = new Set(['data', 'graphs'])

function callsListedIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(callsListedIn)
  return membersOf(value).flatMap(([name, inner]) => {
    if (lists.has(name)) return [inner].flat()
    return wrappers.has(name) ? callsListedIn(inner) : []
  })
}

/** With names in lower case: some servers ignore case. */
function membersOf(value: unknown): [name: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).map(([name, inner]) => [name.toLowerCase(), inner])
}

function jsonCall(value: unknown): InnerCall {
  const members = membersOf(value)
  const valuesOf = (...names: string[]) => members.filter(([name]) => names.includes(name)).map(([, inner]) => inner)
  const urls = valuesOf('url', 'relative_path')
  const methods = valuesOf('method')
  if (urls.length === 0 || [...urls, ...methods].some((one) => typeof one !== 'string')) {
    throw new UnreadableBody('a call in it has no "url" or "relative_path", or no text as "method"')
  }
  return {
    urls: urls.map(String),
    methods: methods.length > 0 ? methods.map((one) => methodOf(String(one))) : undefined,
    headers: valuesOf('headers', 'httpheaders')
      .flatMap(membersOf)
      .map(([name, inner]) => [name, String(inner)]),
    bodies: valuesOf('body', 'data', 'richinput'),
  }
}

function methodOf(text: string): string {
  const method = text.trim().toUpperCase()
  return method === 'MERGE' ? 'PATCH' : method
}

/** `application/http` (RFC 9112 §10.2), as Google's APIs take it. */
function httpCall(partHeaders: ReadonlyMap<string, string>, content: string): InnerCall {
  const text = `${content.replace(/^(?:\r?\n){0,9}/, '')}${content.includes('\n') ? '' : '\n'}`
  const [, method, url, newline = '\n'] =
    /^([A-Za-z]{1,20}) (\S{1,8192})(?: HTTP\/\d(?:\.\d)?)?(\r?\n)/.exec(text) ?? []
  const rest = text.slice(text.indexOf(newline) + newline.length)
  const isHttp = /^application\/http\s*(?:;|$)/i.test(partHeaders.get('content-type') ?? '')
  const read = readHeaders(`${rest}${newline}${newline}`, newline)
  if (!isHttp || method === undefined || url === undefined || !read) {
    throw new UnreadableBody('a part of it is not a plain HTTP request as application/http')
  }
  return { urls: [url], methods: [methodOf(method)], headers: [...partHeaders, ...read.headers], bodies: [null] }
}

/** With a leading slash, without scheme and host. */
function pathsOf(url: string): string[] {
  const bare = url.replace(/^[a-z][\w+.-]*:\/*[^/]*/i, '')
  return bare.startsWith('//') ? [bare, bare.replace(/^\/+[^/]*/, '')] : [bare.startsWith('/') ? bare : `/${bare}`]
}

/** A path in a batch may be relative to any parent of the batch endpoint. */
function foldersAbove(path: string): PathReading[] {
  return readingsOf(path).flatMap((reading) =>
    Array.from({ length: Math.min(reading.segments.length + 1, maxFolders) }, (_, depth) => ({
      segments: reading.segments.slice(0, depth),
      isJoined: undefined,
      hasDots: reading.hasDots,
    })),
  )
}

/** Joins parts that were parsed once: parsing each whole path again would take quadratic time. */
function readingBelow(folder: PathReading, { segments, isJoined, hasDots }: PathReading): PathReading {
  return {
    segments: [...folder.segments, ...segments],
    isJoined: isJoined && [...folder.segments.map(() => false), ...isJoined],
    hasDots: hasDots || folder.hasDots,
  }
}
