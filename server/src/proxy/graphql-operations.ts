/**
 * The names in a GraphQL call: fields, types and arguments of all operations and fragments, and members of variables.
 * Aliases, comments and the text of strings don't count.
 */
import { parse, visit } from 'graphql/language'
import type { DocumentNode } from 'graphql/language'
import { looksLikeJson, membersIn, parseJson, readParts, readText, UnreadableBody } from './body-content.ts'
import type { GivenBody } from './body-content.ts'
import { mediaTypeOf } from './media-type.ts'
import { pairsIn } from './parameters.ts'
import type { JudgedCall } from './policy.ts'

export type Member = readonly [name: string, value: unknown]
export type GraphqlRequest = readonly Member[]

/** In lower case. Throws `UnreadableBody` if the upstream could find others than these. */
export function namesInGraphql({ destination, headers, body }: JudgedCall): ReadonlySet<string> {
  const inUrl = formRequest(destination.url.search.slice(1), 'url')
  const inBody = body && body.length > 0 ? requestsIn({ headers, body }) : { requests: [], others: [] }
  return namesIn(inBody.requests, [inUrl, ...inBody.others])
}

/** Of a request that is part of another one. */
export function namesInGraphqlValue(value: unknown): ReadonlySet<string> {
  return namesIn(jsonRequests(value), [])
}

export const maxDocumentsLength = 256 * 1024
export const maxTokens = 20_000

/** `others` need not have a document. */
function namesIn(requests: readonly GraphqlRequest[], others: readonly GraphqlRequest[]): ReadonlySet<string> {
  const names = new Set<string>()
  const documents = [
    ...requests.flatMap((request) => {
      const own = readRequest(request, names)
      if (own.length === 0) throw new UnreadableBody('it has no GraphQL document as "query"')
      return own
    }),
    ...others.flatMap((request) => readRequest(request, names)),
  ]
  if (documents.reduce((sum, { length }) => sum + length, 0) > maxDocumentsLength) {
    throw new UnreadableBody('its GraphQL documents are longer than 256 KiB')
  }
  documents.reduce((tokensLeft, document) => tokensLeft - readDocument(document, tokensLeft, names), maxTokens)
  return names
}

/** Returns the number of its tokens. */
function readDocument(text: string, tokensLeft: number, names: Set<string>): number {
  const document = parseDocument(text, tokensLeft)
  const add = ({ name }: { name: { value: string } }) => {
    names.add(name.value.toLowerCase())
  }
  visit(document, { Field: add, NamedType: add, Argument: add, ObjectField: add })
  return document.tokenCount ?? maxTokens
}

export function parseDocument(text: string, tokensLeft: number): DocumentNode {
  try {
    return parse(text, { noLocation: true, maxLexicalTokens: tokensLeft, maxComments: maxTokens })
  } catch {
    throw new UnreadableBody(
      `a GraphQL document has a syntax error, is nested too deeply, or has over ${maxTokens} tokens`,
    )
  }
}

function requestsIn(body: GivenBody): { requests: GraphqlRequest[]; others: GraphqlRequest[] } {
  const text = readText(body)
  const { kind, type } = mediaTypeOf(body.headers)
  if (kind === 'multipart') return { requests: requestsInParts(text, body), others: [] }
  if (type === 'application/graphql') return { requests: [[['query', text]]], others: [] }
  if (looksLikeJson(text)) {
    const requests = jsonRequests(parseJson(text))
    // Some servers parse JSON whatever its type is, others don't.
    return { requests, others: kind === 'json' ? [] : [formRequest(text, 'body')] }
  }
  if (kind === 'form') return { requests: [formRequest(text, 'body')], others: [] }
  throw new UnreadableBody('it is not GraphQL as JSON, as a form, or as application/graphql')
}

/** https://github.com/jaydenseric/graphql-multipart-request-spec, or the members as parts. */
function requestsInParts(text: string, { headers }: GivenBody): GraphqlRequest[] {
  const members = readParts(text, headers).map(({ name = '', content }): Member => [name, content])
  const operations = members.filter(([name]) => keyOf(name) === 'operations')
  const ofParts = operations.length === 0 || members.some(([name]) => keyOf(name) === 'query') ? [members] : []
  return [...operations.flatMap(([, content]) => jsonRequests(parseJson(String(content)))), ...ofParts]
}

/** One, or several as an array. */
export function jsonRequests(value: unknown): GraphqlRequest[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => {
    if (typeof one === 'object' && one !== null && !Array.isArray(one)) return Object.entries(one)
    throw new UnreadableBody('it is not an object with a GraphQL document')
  })
}

const requestMembers = new Set(['query', 'variables', 'extensions'])
/** A server would run what it has stored under this id, which can't be seen here. */
const storedDocuments = new Set([
  'id',
  'docid',
  'documentid',
  'hash',
  'queryid',
  'sha256hash',
  'persistedquery',
  'persistedqueryid',
])

/** What a server would read a name as: `Query`, `query[]`, `doc_id`. */
function keyOf(name: string): string {
  return (name.trim().split(/[[\0]/)[0] ?? '').replaceAll(/[_-]/g, '').toLowerCase()
}

/** Decodes what belongs to a request. */
function formRequest(text: string, field: string): GraphqlRequest {
  const request: Member[] = []
  for (const [name, value] of pairsIn(text)) {
    const key = keyOf(decoded(name) ?? '')
    if (!requestMembers.has(key) && !storedDocuments.has(key)) continue
    const [whole, content] = [decoded(name), decoded(value)]
    // Not all servers end a value at a semicolon.
    if (whole === undefined || content === undefined || text.includes(';')) {
      throw new UnreadableBody('it has an unescaped semicolon, or a broken escape', field)
    }
    request.push([whole, content])
  }
  return request
}

export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Returns its documents, and adds the names in its variables. */
export function readRequest(request: GraphqlRequest, names: Set<string>): string[] {
  const documents: string[] = []
  for (const [name, value] of request) {
    const key = keyOf(name)
    if (value === null || value === '') continue
    if (key === 'query') {
      if (typeof value !== 'string') throw new UnreadableBody('its "query" is not a string')
      documents.push(value)
    } else if (key === 'variables' || key === 'extensions') {
      const own = name.includes('[') ? name.split(/[[\]]+/) : namesBelow(value)
      if (own.some((one) => storedDocuments.has(keyOf(one)) && key === 'extensions')) throw stored()
      for (const one of own) names.add(one.toLowerCase())
    } else if (storedDocuments.has(key)) throw stored()
  }
  return documents
}

function stored(): UnreadableBody {
  return new UnreadableBody('it names a persisted query. Send the document as "query"')
}

function namesBelow(value: unknown): string[] {
  return membersIn(typeof value === 'string' ? parseJson(value) : value).map(([name]) => name)
}
