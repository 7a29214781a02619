/**
 * The access class of a GraphQL call: the worst of all operations that it contains, wherever a server could find one, or
 * of the one that it chooses. What can't be read in exactly one way counts as a write, never as a read.
 */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import { Kind, visit } from 'graphql/language'
import type { DocumentNode, OperationDefinitionNode } from 'graphql/language'
import { worstOf } from '../providers/presets/access-rules.ts'
import { looksLikeJson, parseJson, readText, UnreadableBody } from './body-content.ts'
import type { GivenBody } from './body-content.ts'
import { decoded, jsonRequests, maxDocumentsLength, maxTokens } from './graphql-operations.ts'
import { parseDocument, readRequest } from './graphql-operations.ts'
import type { GraphqlRequest, Member } from './graphql-operations.ts'
import { mediaTypeOf } from './media-type.ts'
import { pairsIn } from './parameters.ts'
import type { JudgedCall } from './policy.ts'

/** `destructive`: the API's own mutations that destroy something. */
export function graphqlAccess({ destination, headers, body }: JudgedCall, destructive: MutationRule): AccessClass {
  return orWrite(() => {
    const inUrl = pairsOf(destination.url.search.slice(1))
    const inBody = body && body.length > 0 ? requestsIn({ headers, body }) : []
    const isInUrl = inBody.length === 0 || inUrl.some(([name]) => name !== 'operationName')
    // Of two names of an operation, servers take either.
    return accessOf([...(isInUrl ? [inUrl] : []), ...inBody], destructive, inUrl.length === 0 || inBody.length === 0)
  })
}

/** Of a request that is part of another one. */
export function graphqlValueAccess(value: unknown, destructive: MutationRule): AccessClass {
  return orWrite(() => accessOf(jsonRequests(value), destructive, true))
}

/** Whether a mutation with this field destroys something. */
type MutationRule = (field: string) => boolean

function orWrite(read: () => AccessClass): AccessClass {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableBody) return 'write'
    throw error
  }
}

function accessOf(requests: readonly GraphqlRequest[], destructive: MutationRule, mayChoose: boolean): AccessClass {
  let [charactersLeft, tokensLeft] = [maxDocumentsLength, maxTokens]
  const classes = requests.map((request) =>
    orWrite(() => {
      const { text, chosen } = documentIn(request)
      charactersLeft -= text.length
      if (charactersLeft < 0) return 'write'
      const document = parseDocument(text, tokensLeft)
      tokensLeft -= document.tokenCount ?? maxTokens
      const access = accessOfDocument(document, mayChoose ? chosen : undefined, destructive)
      return readDifferently.test(text) ? worstOf([access, 'write']) : access
    }),
  )
  return classes.length === 0 ? 'write' : worstOf(classes)
}

function requestsIn(body: GivenBody): readonly GraphqlRequest[] {
  const { kind, type } = mediaTypeOf(body.headers)
  const text = readText(body)
  if (kind === 'json') return jsonRequests(parseJson(text))
  if (type === 'application/graphql') return [[['query', text]]]
  if (kind === 'form' && !looksLikeJson(text)) return [pairsOf(text)]
  throw new UnreadableBody('servers could read it in several ways')
}

function pairsOf(text: string): GraphqlRequest {
  if (text.includes(';')) throw new UnreadableBody('not all servers end a value at a semicolon')
  return [...pairsIn(text)].map(([name, value]): Member => {
    const [key, content] = [decoded(name), decoded(value)]
    if (key === undefined || content === undefined) throw new UnreadableBody('it has a broken escape')
    return [key, content]
  })
}

/** Older servers know no block strings, end a line at other characters too, or stop at a control character. */
const readDifferently = /"""|[\p{Zl}\p{Zp}]|(?![\t\n\r])\p{Cc}/u

const members = new Set(['query', 'operationName', 'variables', 'extensions'])

/** The only document of a request, if there is no other member than these that a server could find one by. */
function documentIn(request: GraphqlRequest): { text: string; chosen: unknown } {
  const names = request.map(([name]) => name)
  if (new Set(names).size < names.length || names.some((name) => !members.has(name))) {
    throw new UnreadableBody('it has a member twice, or one that is not known')
  }
  const [text] = readRequest(request, new Set())
  if (text === undefined) throw new UnreadableBody('it has no document')
  return { text, chosen: request.find(([name]) => name === 'operationName')?.[1] }
}

function accessOfDocument({ definitions }: DocumentNode, chosen: unknown, destructive: MutationRule): AccessClass {
  const operations = definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
  const fragments = definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION)
  if (operations.length === 0 || operations.length + fragments.length < definitions.length) return 'write'
  const named = operations.filter(({ name }) => name !== undefined && name.value === chosen)
  return worstOf((named.length === 1 ? named : operations).map(accessOfOperation))

  function accessOfOperation(operation: OperationDefinitionNode): AccessClass {
    if (operation.operation !== 'mutation') return 'read'
    const fields = new Set<string>()
    const spread = new Set<string>()
    const addTo =
      (names: Set<string>) =>
      ({ name }: { name: { value: string } }) => {
        names.add(name.value)
      }
    const visitor = { Field: addTo(fields), FragmentSpread: addTo(spread) }
    visit(operation, visitor)
    // The set grows while it is walked.
    for (const wanted of spread) {
      for (const fragment of fragments) if (fragment.name.value === wanted) visit(fragment, visitor)
    }
    return [...fields].some((field) => destroying.test(field) || destructive(field)) ? 'destructive' : 'write'
  }
}

/** `deleteIssue`, `issueDelete`, `bulk_remove_tags`, but not `deletedAt`. */
const destroying =
  /^(?:delete|remove|destroy)(?!d)|(?:Delete|Remove|Destroy|DELETE|REMOVE|DESTROY|_(?:delete|remove|destroy))(?![a-z])/
