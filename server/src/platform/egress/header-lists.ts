/** Header lists of requests and responses. */
import type { Dispatcher } from 'undici'

export type HeaderPairs = [string, string][]

/**
 * Set by us, or about the connection. Over HTTP/2, one of them would end the session with all calls on it. undici takes the
 * TLS server name from the host header, so only the URL's host may be used.
 */
const ours = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'http2-settings', 'te'],
  ...['content-length', 'expect'],
])

/** A flat list of names and values. Names are in lower case, as HTTP/2 requires. `bytes`: of a streamed body. */
export function sendable(headers: HeaderPairs, bytes?: number): string[] {
  const flat: string[] = bytes === undefined ? [] : ['content-length', String(bytes)]
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!ours.has(lower)) flat.push(lower, value)
  }
  return flat
}

/** Some APIs, such as GitHub's, refuse calls without a User-Agent. The caller's own has precedence. */
export function withUserAgent(headers: HeaderPairs, userAgent: string): HeaderPairs {
  const isGiven = headers.some(([name]) => name.length === 10 && name.toLowerCase() === 'user-agent')
  return isGiven ? headers : [...headers, ['user-agent', userAgent]]
}

/**
 * Response headers with their order, case and repetitions. Bytes above 127 are Latin-1 (RFC 9110 §5.5). For HTTP/2 they
 * come as an object with lower-case names.
 */
export function pairsOf(raw: Dispatcher.DispatchController['rawHeaders']): HeaderPairs {
  const pairs: HeaderPairs = []
  if (Array.isArray(raw)) {
    for (let index = 1; index < raw.length; index += 2) pairs.push([textOf(raw[index - 1]), textOf(raw[index])])
    return pairs
  }
  for (const [name, value] of Object.entries(raw ?? {})) {
    if (Array.isArray(value)) for (const one of value) pairs.push([name, one])
    else pairs.push([name, value ?? ''])
  }
  return pairs
}

function textOf(part: string | Buffer | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '')
}

const maxHeaders = 500
const maxHeaderBytes = 32_768

/** undici limits the bytes of HTTP/1.1 headers while reading; for HTTP/2 Node has a higher limit. */
export function areTooMany(pairs: HeaderPairs): boolean {
  if (pairs.length > maxHeaders) return true
  let bytes = 0
  for (const [name, value] of pairs) bytes += name.length + value.length
  return bytes > maxHeaderBytes
}

/**
 * A Transfer-Encoding other than `chunked`. A compressed one (RFC 9112 §7.2) would come through undecoded, and without
 * `chunked` as the last coding the end of the body is ambiguous.
 */
export function isOddlyTransferred(pairs: HeaderPairs): boolean {
  let seen = 0
  for (const [name, value] of pairs) {
    if (name.length !== 17 || name.toLowerCase() !== 'transfer-encoding') continue
    seen++
    if (seen > 1 || value.toLowerCase() !== 'chunked') return true
  }
  return false
}
