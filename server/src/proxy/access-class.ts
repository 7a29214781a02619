/**
 * What a call does: reads, changes something, or destroys something. By its method, corrected by what the presets know of
 * the API. What makes a call worse counts if any server could see it so, and what makes it milder only if all servers do.
 * Pure, and computed only for grants whose terms depend on it.
 */
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import { isSurelyAt, mayBeAt, noAccessRules, worstOf } from '../providers/presets/access-rules.ts'
import type { AccessRules, MilderRule, Place, WorseRule } from '../providers/presets/access-rules.ts'
import { compilePath, matchesRule, matchesStars } from '../providers/presets/api-path.ts'
import type { PathRule } from '../providers/presets/api-path.ts'
import { readsOneWay } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import type { PresetRules } from '../providers/presets/preset-rules.ts'
import { hasOperationInBody, namedOperations } from './aws-call.ts'
import { callsInBatch } from './batch.ts'
import type { BatchedCall } from './batch.ts'
import type { CallHead } from './body-checks.ts'
import { membersIn, parseJson, readText, UnreadableBody } from './body-content.ts'
import { graphqlAccess, graphqlValueAccess } from './graphql-access.ts'
import { decoded } from './graphql-operations.ts'
import { isCompressed, mediaTypeOf } from './media-type.ts'
import { pairsIn } from './parameters.ts'
import type { JudgedCall, ProviderRules } from './policy.ts'

/** What is known of the API at the call's path. The sandbox has no preset. */
export interface ApiAt {
  preset: PresetRules | undefined
  readings: readonly PathReading[]
  /** What AWS requests are signed for. */
  signs?: ProviderRules['signs']
}

type Parameter = NonNullable<WorseRule['parameter']>

/** A call, or one in a batch. */
interface Seen extends Place {
  head: Pick<JudgedCall, 'headers' | 'body'>
  /** Undefined: it can't be told. */
  parameters: (where: Parameter['in']) => readonly Pair[] | undefined
}

type Pair = readonly [name: string, value: string]

/** `methods` are all that the upstream might execute the call as: the worst of them counts. */
export function accessClassOf(call: JudgedCall, methods: readonly string[], api: ApiAt): AccessClass {
  const rules = api.preset?.access ?? noAccessRules
  const place = { methods, readings: api.readings, isPlain: readsOneWay(call.destination.path) }
  const byPath = accessByPath({ ...place, head: call, parameters: (where) => parametersOf(call, where) }, rules)
  const named = api.signs && namedOperations(api.signs, call, api.readings)
  if (named) {
    const access = accessByOperations(named.operations, rules)
    const isNamed = named.isSure && methods.every((method) => method === 'GET' || method === 'POST')
    return isNamed ? access : worstOf([byPath, access])
  }
  if (mayBeGraphql(api) && (hasBody(call) || call.destination.url.search !== '')) {
    const access = graphqlAccess(call, isDestructiveIn(rules))
    return isSurelyGraphql(api, place) ? access : worstOf([byPath, access])
  }
  if (mayBeBatch(api) && hasBody(call)) {
    const access = accessOfBatch(call, api.preset, rules)
    return rules.batches.some((rule) => isSurelyAt(rule, place)) ? access : worstOf([byPath, access])
  }
  return byPath
}

/** Whether the body has to be known to tell the class. */
export function isClassedByBody(head: CallHead, api: ApiAt): boolean {
  const rules = api.preset?.access ?? noAccessRules
  // Methods in overrides aren't known yet: a rule counts whatever its methods are.
  const asks = ({ path, parameter }: WorseRule) =>
    parameter?.in === 'body' && matchesRule(path, api.readings, undefined)
  return (
    mayBeGraphql(api) ||
    mayBeBatch(api) ||
    [...rules.destructive, ...rules.writes].some(asks) ||
    rules.reads.some((rule) => isOfBody(rule, head) && matchesRule(rule.path, api.readings, undefined)) ||
    (api.signs !== undefined && hasOperationInBody(api.signs, head))
  )
}

/** A body of another length, or of an unknown one, need not be read. */
function isOfBody({ body }: MilderRule, { bodyLength }: CallHead): boolean {
  return body !== undefined && bodyLength === body.length
}

function hasBody({ body }: JudgedCall): boolean {
  return body !== undefined && body.length > 0
}

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

function accessByPath(seen: Seen, rules: AccessRules): AccessClass {
  if (rules.destructive.some((rule) => isWorse(rule, seen))) return 'destructive'
  const isWrite = isHandshake(seen) || rules.writes.some((rule) => isWorse(rule, seen))
  if (!isWrite && rules.reads.some((rule) => isMilder(rule, seen))) return 'read'
  return worstOf([isWrite ? 'write' : 'read', ...seen.methods.map((method) => accessByMethod(method, rules))])
}

function accessByMethod(method: string, { getIsRead }: AccessRules): AccessClass {
  // An override that is too long to be read has no name.
  if (method === 'DELETE' || method === '') return 'destructive'
  return getIsRead && readMethods.has(method) ? 'read' : 'write'
}

/** Of a WebSocket: what it will be used for isn't known. */
function isHandshake({ head }: Seen): boolean {
  return head.headers.some(([name]) => /^(?:upgrade|sec[-_]websocket[-_].*)$/.test(name))
}

function isMilder(rule: MilderRule, seen: Seen): boolean {
  const { headers, body } = seen.head
  if (!isSurelyAt(rule, seen)) return false
  if (rule.contentType !== undefined && mediaTypeOf(headers).type !== rule.contentType) return false
  return rule.body === undefined || (body?.toString('latin1') === rule.body && !isCompressed(headers))
}

function isWorse(rule: WorseRule, seen: Seen): boolean {
  if (!mayBeAt(rule, seen)) return false
  const { parameter } = rule
  if (!parameter) return true
  const wanted = keyOf(parameter.name)
  const pairs = seen.parameters(parameter.in)
  return (
    pairs === undefined ||
    pairs.some(([name, value]) => keyOf(name) === wanted && (parameter.values?.includes(value.toLowerCase()) ?? true))
  )
}

function keyOf(name: string): string {
  return (name.trim().split(/[[\0]/)[0] ?? '').replaceAll(/[_-]/g, '').toLowerCase()
}

function parametersOf(call: JudgedCall, where: Parameter['in']): readonly Pair[] | undefined {
  if (where === 'query') return pairsOf(call.destination.url.search.slice(1))
  if (!hasBody(call)) return []
  const { kind } = mediaTypeOf(call.headers)
  try {
    if (kind === 'form') return pairsOf(readText(call))
    return kind === 'json' ? memberPairs(parseJson(readText(call))) : undefined
  } catch (error) {
    if (error instanceof UnreadableBody) return undefined
    throw error
  }
}

function pairsOf(text: string): Pair[] {
  return [...pairsIn(text)].map(([name, value]) => [decoded(name) ?? name, decoded(value) ?? value])
}

function memberPairs(value: unknown): Pair[] {
  return membersIn(value).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)])
}

function isDestructiveIn({ operations }: AccessRules): (name: string) => boolean {
  return (name) => isOneOf(operations.destructive, name)
}

function isOneOf(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesStars(pattern, name))
}

function accessByOperations(names: readonly string[], { operations }: AccessRules): AccessClass {
  const { reads, writes, destructive } = operations
  if (names.some((name) => isOneOf(destructive, name))) return 'destructive'
  const isRead = (name: string) => isOneOf(reads, name) && !isOneOf(writes, name)
  return names.length > 0 && names.every(isRead) ? 'read' : 'write'
}

function isAt(paths: readonly PathRule[], readings: readonly PathReading[]): boolean {
  return paths.some((rule) => matchesRule(rule, readings, undefined))
}

/** The second is where Supabase has it, on servers of one's own too. */
const anyGraphql = ['/**/graphql', '/graphql/v1'].map((path) => compilePath({ path, isExact: true }))

export function mayBeGraphql({ preset, readings }: ApiAt): boolean {
  return isAt([...(preset?.graphql ?? []), ...anyGraphql], readings)
}

/** At an API that is not known, by the name of the path. It takes GraphQL by these methods alone. */
function isSurelyGraphql({ preset, readings }: ApiAt, { methods, isPlain }: Place): boolean {
  const isEndpoint = isPlain && isAt(anyGraphql, readings)
  const isTaken = methods.every((method) => method === 'POST' || readMethods.has(method))
  return isEndpoint && isTaken && (!preset?.isKnown || isAt(preset.graphql, readings))
}

export function mayBeBatch({ preset, readings }: ApiAt): boolean {
  return preset !== undefined && isAt(preset.batches, readings)
}

const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

function accessOfBatch(call: JudgedCall, preset: PresetRules | undefined, rules: AccessRules): AccessClass {
  try {
    const calls = callsInBatch(call).map((inner) => accessOfInner(inner, preset, rules))
    return calls.length === 0 ? 'write' : worstOf(calls)
  } catch (error) {
    if (error instanceof UnreadableBody) return 'write'
    throw error
  }
}

function accessOfInner(inner: BatchedCall, preset: PresetRules | undefined, rules: AccessRules): AccessClass {
  const { methods = allMethods, path, readings, query, bodies } = inner
  const body = bodies.every((one) => typeof one === 'object' && one !== null) ? bodies.flatMap(memberPairs) : undefined
  const byPath = accessByPath(
    {
      ...{ methods, readings, isPlain: readsOneWay(path.startsWith('/') ? path : `/${path}`) },
      head: { headers: [], body: undefined },
      parameters: (where) => (where === 'query' ? pairsOf(query) : body),
    },
    rules,
  )
  if (!mayBeGraphql({ preset, readings })) return byPath
  return worstOf([byPath, 'write', ...bodies.map((one) => graphqlValueAccess(one, isDestructiveIn(rules)))])
}
