/**
 * What an AWS call does, and what it is signed for. The operation is looked for wherever one of AWS's protocols has it:
 * `Action` in the query and in a form, `X-Amz-Target`, and the path of RPC v2. All that are found count.
 */
import { ServiceError } from '../platform/errors.ts'
import { canSetPolicy, isAwsCredentialCall, isRpcService } from '../providers/aws/credential-operations.ts'
import { contentHeader, unsignedChunks } from '../providers/aws/sign-request.ts'
import { chooseScope, scopesAt } from '../providers/aws/signing-scopes.ts'
import type { SigningEntry } from '../providers/aws/signing-scopes.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import { withoutEscapes, withoutPercents } from '../providers/presets/undo-escapes.ts'
import type { CallHead } from './body-checks.ts'
import { isCompressed } from './media-type.ts'
import type { JudgedCall } from './policy.ts'
import type { HeaderList } from './upstream.ts'

/** Throws unless the call may be made, and it is clear what it is signed for. */
export function assertAwsCall(
  entries: readonly SigningEntry[],
  call: JudgedCall,
  readings: readonly PathReading[],
  methods: readonly string[],
): void {
  const { url } = call.destination
  const assertNotOf = (service: string) => {
    const { isOpaque, isRefused } = judgedAs(service, call, readings, methods)
    if (isRefused) throw refusal(call, isOpaque)
  }
  assertNotOf(serviceIn(url.hostname))
  // AWS accepts no signature for one service at another, and the provider says which services its own hosts have.
  const { service } = chooseScope(scopesAt(entries, url.host), call.aws)
  assertNotOf(service)
  assertUnsignedChunks(call.headers, service)
}

function judgedAs(
  service: string,
  call: JudgedCall,
  readings: readonly PathReading[],
  methods: readonly string[],
): { isRefused: boolean; isOpaque: boolean } {
  const { url } = call.destination
  const body = isRpcService(service) ? bodyOf(call) : { isOpaque: false, text: '', isJson: false }
  const query = pairsIn(url.search.slice(1))
  const operations = operationsIn(call, query, body, readings)
  const isRefused = isAwsCredentialCall(service, {
    ...{ operations, hostname: url.hostname, readings, methods, isOpaque: body.isOpaque },
    queryNames: query.map(([name]) => name),
    setsPolicy: () => namesPolicy(`${url.search}\n${body.text}`),
  })
  return { isRefused, isOpaque: body.isOpaque }
}

function operationsIn(
  { headers }: JudgedCall,
  query: readonly Pair[],
  body: ReturnType<typeof bodyOf>,
  readings: readonly PathReading[],
): string[] {
  const targets = targetsIn(headers)
  return [
    ...operationsOf(query),
    ...targets,
    ...readings.flatMap(operationInPath),
    // With a target, the JSON has parameters alone.
    ...(!body.isJson ? operationsOf(pairsIn(body.text)) : targets.length > 0 ? [] : operationInJson(body.text)),
  ]
}

/**
 * The operations that a call could be taken for, in lower case. Undefined: no service of this host names them. `isSure`: all
 * of them do. A service that is not known may take its operation from the query of a GET call.
 */
export function namedOperations(
  entries: readonly SigningEntry[],
  call: JudgedCall,
  readings: readonly PathReading[],
): { operations: string[]; isSure: boolean } | undefined {
  const services = servicesAt(entries, call)
  const query = pairsIn(call.destination.url.search.slice(1))
  if (!services.some(isRpcService)) {
    const operations = operationsOf(query)
    return operations.length > 0 ? { operations, isSure: false } : undefined
  }
  return { operations: operationsIn(call, query, bodyOf(call), readings), isSure: services.every(isRpcService) }
}

function servicesAt(entries: readonly SigningEntry[], { destination }: CallHead): string[] {
  const { host, hostname } = destination.url
  return [serviceIn(hostname), ...scopesAt(entries, host).map(({ service }) => service)].filter((name) => name !== '')
}

/** S3 alone takes signatures that leave out the body. */
export function mustBeHashed(entries: readonly SigningEntry[] | undefined, { destination, aws }: CallHead): boolean {
  return entries !== undefined && chooseScope(scopesAt(entries, destination.url.host), aws).service !== 's3'
}

function refusal({ body }: JudgedCall, isOpaque: boolean): ServiceError {
  const message = isOpaque
    ? "The operation can't be read from this body. Send it uncompressed, as a form (application/x-www-form-urlencoded) or as the JSON of the service."
    : 'This operation handles credentials or creates access that outlives the grant, or it is not clear which operation this is. The account owner can call it at AWS.'
  return new ServiceError('credential_endpoint', { field: body ? 'body' : 'url', message })
}

/** Chunks with signatures were signed by the caller, with keys that aren't ours. */
export function assertUnsignedChunks(headers: HeaderList, service: string): void {
  const payload =
    headers
      .find(([name]) => name.replaceAll('_', '-') === contentHeader)?.[1]
      .trim()
      .toUpperCase() ?? ''
  if (!payload.startsWith('STREAMING-') || (payload === unsignedChunks && service === 's3')) return
  throw new ServiceError('aws_chunk_signing_unsupported', { field: `headers.${contentHeader}` })
}

/** `s3` in `bucket.s3.us-east-1.amazonaws.com`: the label before the region, or before AWS's domain. */
function serviceIn(hostname: string): string {
  const inside = /^(.+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws|amazonaws\.eu)$/.exec(hostname)?.[1]
  if (inside === undefined) return ''
  const labels = inside.split('.').filter((label) => label !== 'dualstack' && !/^[a-z]+(?:-[a-z]+)+-\d+$/.test(label))
  return (labels.at(-1) ?? '').replace(/-fips$/, '')
}

type Pair = [name: string, value: string]

/** Names in lower case, as the most lenient server would read them. */
function pairsIn(text: string): Pair[] {
  return text
    .split(/[&;\r\n]/)
    .filter((pair) => pair !== '')
    .map((pair): Pair => {
      const [name = '', ...value] = pair.split('=')
      return [plain(name).replace(/\[.*/, ''), plain(value.join('='))]
    })
}

function plain(written: string): string {
  return withoutPercents(written.replaceAll('+', ' ')).normalize('NFKC').trim().toLowerCase()
}

function operationsOf(pairs: readonly Pair[]): string[] {
  return pairs.filter(([name]) => name === 'action').flatMap(([, value]) => wordsIn(value))
}

/** `DynamoDB_20120810.PutItem` */
function targetsIn(headers: HeaderList): string[] {
  return headers
    .filter(([name]) => name.replaceAll('_', '-') === 'x-amz-target')
    .flatMap(([, value]) => wordsIn(plain(value)))
    .map((target) => target.split(/[.#/]/).at(-1) ?? '')
}

/** An empty value is an operation too, which none of the lists has. */
function wordsIn(value: string): string[] {
  return value.split(/[\s,]+/)
}

/** `/service/GraniteServiceVersion20100801/operation/PutMetricData` */
function operationInPath({ segments }: PathReading): string[] {
  return segments.flatMap((segment, index) => (segments[index - 1] === 'operation' ? [segment] : []))
}

function operationInJson(text: string): string[] {
  return [...text.matchAll(/"action"\s{0,20}:\s{0,20}"([^"]{0,200})"/gi)].flatMap(([, value = '']) =>
    // In a policy document it has a service: `"Action": "s3:GetObject"`.
    value.includes(':') ? [] : wordsIn(plain(value)),
  )
}

/** Whether the body can say what the call does, so that it has to be read. With a target, only a policy in it matters. */
export function hasOperationInBody(entries: readonly SigningEntry[], head: CallHead): boolean {
  const { headers } = head
  if (!servicesAt(entries, head).some(isRpcService)) return false
  const targets = targetsIn(headers)
  return targets.length === 0 || !jsonType.test(typeIn(headers)) || targets.some(canSetPolicy)
}

const jsonType = /^\s*application\/(?:x-amz-json-1\.[01]|json)\s*(?:;|$)/i

function typeIn(headers: HeaderList): string {
  return headers.find(([name]) => name === 'content-type')?.[1] ?? ''
}

/** What a call of an RPC service has in its body. */
function bodyOf({ headers, body }: JudgedCall): { isOpaque: boolean; isJson: boolean; text: string } {
  if (!body || body.length === 0) return { isOpaque: false, isJson: false, text: '' }
  const type = typeIn(headers)
  const isForm = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)
  const isJson = jsonType.test(type)
  const isCbor = /^\s*application\/cbor\s*(?:;|$)/i.test(type)
  const isReadable = isForm || isJson || isCbor
  // A server that ignores the type would take anything else for a form. A map in CBOR begins with a byte from A0 to BF.
  const isObject = isJson ? /^\s*\{/.test(body.toString('latin1', 0, 100)) : isCbor && (body[0] ?? 0) >= 0xa0
  const charset = /charset\s*=\s*["']?([^"';\s]*)/i.exec(type)?.[1] ?? 'utf-8'
  const isOpaque = !isReadable || isCompressed(headers) || !/^(?:utf-?8|us-ascii)$/i.test(charset)
  const text = isOpaque ? '' : body.toString('latin1')
  return { isOpaque, isJson: isObject, text: isForm ? text : withoutEscapes(text) }
}

/** `Policy`, but not `RedrivePolicy`. CBOR has the length of a text before it: `f` for six characters. */
function namesPolicy(text: string): boolean {
  return /(?<![a-eg-z])policy(?![a-z])/i.test(withoutPercents(text))
}
