/** Turns what the caller gave into the request that goes out: what is dropped, what is refused, how a body is written. */
import { ServiceError } from '../platform/errors.ts'
import type { HeaderList } from './upstream.ts'

/** Credentials, framing and origin are ours to say; ranges and encodings would let a credential slip past in pieces. */
const neverSent = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'cookie2',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'if-range',
  'keep-alive',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])
const neverSentPrefixes = ['proxy-', 'x-forwarded-']

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/

/** What goes out of what the caller gave, before the credential is put in. */
export interface Outgoing {
  headers: HeaderList
  dropped: string[]
  body: Buffer | undefined
}

export function outgoing(
  given: { headers: Record<string, string>; body: unknown; bodyBase64: string | undefined; method: string },
  rules: { injects: string; allowRange: boolean },
): Outgoing {
  const { headers, dropped } = outgoingHeaders(given.headers, rules.injects)
  const body =
    given.bodyBase64 === undefined ? outgoingBody(given.body, headers) : Buffer.from(given.bodyBase64, 'base64')
  return { headers, dropped, body }
}

export function outgoingHeaders(
  given: Record<string, string>,
  injects: string,
): { headers: HeaderList; dropped: string[] } {
  const headers: HeaderList = []
  const dropped: string[] = []
  for (const [name, value] of Object.entries(given)) {
    const field = `headers.${name}`
    if (!headerName.test(name))
      throw new ServiceError('invalid_field', { field, message: 'A header name is malformed.' })
    if (!headerValue.test(value)) {
      throw new ServiceError('invalid_field', {
        field,
        message: 'A header value is too long or holds a character that no header takes.',
      })
    }
    const lower = name.toLowerCase()
    const isDropped =
      neverSent.has(lower) || lower === injects || neverSentPrefixes.some((prefix) => lower.startsWith(prefix))
    if (isDropped) dropped.push(lower)
    else headers.push([lower, value])
  }
  return { headers, dropped }
}

/** A string goes as it is, anything else as JSON. */
export function outgoingBody(body: unknown, headers: HeaderList): Buffer | undefined {
  if (body === undefined) return undefined
  if (typeof body === 'string') return Buffer.from(body)
  if (!headers.some(([name]) => name === 'content-type')) headers.push(['content-type', 'application/json'])
  return Buffer.from(JSON.stringify(body))
}
