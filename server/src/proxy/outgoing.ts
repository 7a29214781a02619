/** Makes the outgoing request of what the caller gave: headers that are dropped or refused, and the body. */
import { ServiceError } from '../platform/errors.ts'
import { isJsonText } from '../platform/json.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'
import type { ProxyInput } from './call.ts'
import type { HeaderList } from './upstream.ts'

/** The outgoing request before the credential is added. */
export interface Outgoing {
  headers: HeaderList
  /** Names of headers that are not sent. */
  dropped: string[]
  body: Buffer | undefined
}

export interface OutgoingRules {
  /** Names of headers that we add, in lower case with hyphens. The caller's own are dropped. */
  injects: readonly string[]
  /** What becomes of a request for a part of the answer. */
  ranges: 'pass' | 'drop' | 'refuse'
}

export type GivenRequest = Pick<ProxyInput, 'method' | 'headers' | 'body' | 'bodyBase64' | 'upload'>

export function outgoing(given: GivenRequest, rules: OutgoingRules): Outgoing {
  const { headers, dropped } = outgoingHeaders(given.headers, rules)
  return { headers, dropped, body: outgoingBody(given, headers) }
}

/**
 * Credentials, framing and client addresses are set by us. Encodings would let a credential come back in a form that
 * the redactor can't read. Some servers take a path or host from a header instead of the URL. Trace ids of our users are
 * not the provider's business, unless it is listed (trace-calls.ts).
 */
const neverSent = new Set([
  'a-im',
  'accept-encoding',
  'authorization',
  'cf-connecting-ip',
  'client-ip',
  'connection',
  'content-length',
  'cookie',
  'cookie2',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'true-client-ip',
  'upgrade',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-original-dst-host',
  'x-envoy-original-path',
  'x-forwarded',
  'x-host',
  'x-http-destinationurl',
  'x-http-host-override',
  'x-original-host',
  'x-original-uri',
  'x-original-url',
  'x-override-url',
  'x-real-ip',
  'x-rewrite-url',
])
/** A credential could come back in pieces. Some servers still accept Request-Range, and Azure has its own. */
const ranges = new Set(['range', 'request-range', 'x-ms-range', 'if-range'])

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const noHeaderValue = /[^\t\x20-\x7e\x80-\xff]/
const maxName = 200
const maxValue = 8192
const maxHeaderBytes = 32 * 1024

/** Computed once per name: agents use few. */
interface HeaderName {
  lower: string
  /** CGI does not distinguish `x_api_key` and `x-api-key`. */
  hyphened: string
  isWellFormed: boolean
  isNeverSent: boolean
  isRange: boolean
}

const headerNamed = memoizeByText((name): HeaderName => {
  const lower = name.toLowerCase()
  const hyphened = lower.replaceAll('_', '-')
  const isNeverSent = neverSent.has(hyphened) || hyphened.startsWith('proxy-') || hyphened.startsWith('x-forwarded-')
  return { lower, hyphened, isWellFormed: headerName.test(name), isNeverSent, isRange: ranges.has(hyphened) }
})

function outgoingHeaders(
  given: Record<string, string>,
  { injects, ranges: range }: OutgoingRules,
): Pick<Outgoing, 'headers' | 'dropped'> {
  const headers: HeaderList = []
  const dropped: string[] = []
  const seen = new Set<string>()
  let bytes = 0
  for (const [name, value] of Object.entries(given)) {
    // Longer names are not cached, not even a slice: V8 would keep the whole string in memory.
    const known = name.length > maxName ? undefined : headerNamed(name)
    if (!known?.isWellFormed) throw refused(name, 'A header name is malformed.')
    const { lower, hyphened, isNeverSent, isRange } = known
    if (value.length > maxValue || noHeaderValue.test(value)) {
      throw refused(name, 'A header value is too long or contains an invalid character.')
    }
    if (seen.size === seen.add(lower).size) throw refused(name, 'A header is given twice. Send it once.')
    bytes += name.length + value.length
    if (isRange && range === 'refuse' && hyphened !== 'if-range') {
      throw new ServiceError('range_not_supported', { field: `headers.${lower}` })
    }
    if (isNeverSent || injects.includes(hyphened) || (isRange && range !== 'pass')) dropped.push(lower)
    else headers.push([lower, value])
  }
  if (bytes > maxHeaderBytes) throw invalid('headers', `The headers exceed ${maxHeaderBytes} characters in total.`)
  return { headers, dropped }
}

function refused(name: string, message: string): ServiceError {
  return invalid(`headers.${name.slice(0, maxName)}`, message)
}

/**
 * A string as it is, base64 as its bytes, an object as a form if its type says so, else as JSON. Adds a content type if
 * the caller gave none, except to bytes, whose type is not known.
 */
function outgoingBody(given: GivenRequest, headers: HeaderList): Buffer | undefined {
  const { body, bodyBase64 } = given
  if (bodyBase64 !== undefined && body !== undefined) {
    throw invalid('body_base64', '"body" and "body_base64" are both set. Use only one of them.')
  }
  if (given.method === 'GET' || given.method === 'HEAD') {
    assertNone(given)
    return undefined
  }
  if (bodyBase64 !== undefined) return fromBase64(bodyBase64)
  if (body === undefined) return undefined
  const type = headers.find(([name]) => name === 'content-type')?.[1]
  if (typeof body === 'string') {
    const bytes = Buffer.from(body)
    if (type === undefined && bytes.length > 0) headers.push(['content-type', typeOfText(bytes)])
    return bytes
  }
  if (type !== undefined && /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return asForm(body)
  if (type === undefined) headers.push(['content-type', 'application/json'])
  return Buffer.from(JSON.stringify(body))
}

/** A JSON object or array is JSON; any other string is text, as with `fetch`. */
function typeOfText(bytes: Buffer): string {
  const isJson = /^[\t\n\r ]*[[{]/.test(bytes.toString('latin1', 0, 100)) && isJsonText(bytes)
  return isJson ? 'application/json' : 'text/plain;charset=UTF-8'
}

/** RFC 9110 §9.3.1: such a body has no meaning, and a server that ignores it may read it as the next request. */
function assertNone({ method, body, bodyBase64, upload }: GivenRequest): void {
  const isNone = (body === undefined || body === null || body === '') && (bodyBase64 ?? '') === '' && !upload
  if (isNone) return
  throw invalid(bodyBase64 === undefined ? 'body' : 'body_base64', `A ${method} call cannot have a body. Omit it.`)
}

/** Strict, because Node ignores characters that others don't. */
function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) {
    throw invalid('body_base64', '"body_base64" is not base64 (RFC 4648 §4, with padding and without line breaks).')
  }
  return bytes
}

function asForm(body: unknown): Buffer {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('body', 'A form must be an object with its fields as members, or an encoded string.')
  }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    if (!Array.isArray(value)) form.append(name, asText(value, `body.${name}`))
    else
      value.forEach((one, index) => {
        form.append(name, asText(one, `body.${name}.${index}`))
      })
  }
  return Buffer.from(form.toString())
}

function asText(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalid(field.slice(0, 200), 'A form field must be a string, a number, a boolean, or a list of these.')
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_field', { field, message })
}
