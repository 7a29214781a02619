/** Turns what the caller gave into the request that goes out: what is dropped, what is refused, how a body is written. */
import { ServiceError } from '../platform/errors.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'
import { outgoingBody } from './outgoing-body.ts'
import type { HeaderList } from './upstream.ts'

/** What goes out of what the caller gave, before the credential is put in. */
export interface Outgoing {
  headers: HeaderList
  /** Names of those that are not sent. */
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
 * Credentials, framing and origin are ours to say; ranges and encodings would let a credential slip past in pieces; and
 * some servers take a path or a host from a header rather than from where the call went.
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
/** Some servers still take the second for the first, and Azure has its own. */
const ranges = new Set(['range', 'request-range', 'x-ms-range', 'if-range'])

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const noHeaderValue = /[^\t\x20-\x7e\x80-\xff]/
const maxName = 200
const maxValue = 8192
const maxHeaderBytes = 32 * 1024

/** What there is to know of a name. Agents use few, so each is looked at once. */
interface HeaderName {
  lower: string
  /** CGI and its heirs know no difference between `x_api_key` and `x-api-key`. */
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
    // Not even a part of a longer one is remembered: it would hold on to the whole.
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
