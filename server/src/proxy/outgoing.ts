/** Makes the outgoing request of what the caller gave: headers that are dropped or refused, and the body. */
import { ServiceError } from '../platform/errors.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'
import { outgoingBody } from './outgoing-body.ts'
import type { HeaderList } from './upstream.ts'

/** The outgoing request before the credential is added. */
export interface Outgoing {
  headers: HeaderList
  /** Names of headers that are not sent. */
  dropped: string[]
  body: Buffer | undefined
}

export interface GivenRequest {
  headers: Record<string, string>
  body: unknown
  bodyBase64: string | undefined
  method: string
}

export function outgoing(given: GivenRequest, rules: { injects: string; allowRange: boolean }): Outgoing {
  const { headers, dropped } = outgoingHeaders(given.headers, rules)
  return { headers, dropped, body: outgoingBody(given, headers) }
}

/**
 * Credentials, framing and client addresses are set by us. Encodings would let a credential come back in a form that the
 * redactor can't read. Some servers take a path or host from a header instead of the URL.
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
  { injects, allowRange }: { injects: string; allowRange: boolean },
): Pick<Outgoing, 'headers' | 'dropped'> {
  const headers: HeaderList = []
  const dropped: string[] = []
  const seen = new Set<string>()
  const injected = headerNamed(injects).hyphened
  let bytes = 0
  for (const [name, value] of Object.entries(given)) {
    // Longer names are not cached, not even a slice: V8 would keep the whole string in memory.
    const known = name.length > maxName ? undefined : headerNamed(name)
    if (!known?.isWellFormed) throw refused(name, 'A header name is malformed.')
    const { lower, hyphened, isNeverSent, isRange } = known
    if (value.length > maxValue || noHeaderValue.test(value)) {
      throw refused(name, 'A header value is too long or holds a character that no header takes.')
    }
    if (seen.size === seen.add(lower).size) throw refused(name, 'A header is given twice. Give it once.')
    bytes += name.length + value.length
    if (isNeverSent || hyphened === injected || (isRange && !allowRange)) dropped.push(lower)
    else headers.push([lower, value])
  }
  if (bytes > maxHeaderBytes) {
    throw new ServiceError('invalid_field', {
      field: 'headers',
      message: `The headers are longer than ${maxHeaderBytes} characters in all.`,
    })
  }
  return { headers, dropped }
}

function refused(name: string, message: string): ServiceError {
  return new ServiceError('invalid_field', { field: `headers.${name.slice(0, maxName)}`, message })
}
