/** Headers on their way out and in. */
import type { Dispatcher } from 'undici'

export type HeaderPairs = [string, string][]

/**
 * Ours to set, or about the connection. Over HTTP/2 one of them would end the whole session with every call on it,
 * and undici takes the name that TLS asks for from a host header, so none but the URL's may stand there.
 */
const ours = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'http2-settings', 'te'],
  ...['content-length', 'expect'],
])

/** Name, value, name, value. Names are lower-case, as HTTP/2 has them: two that differ in case would be one twice. */
export function sendable(headers: HeaderPairs): string[] {
  const flat: string[] = []
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!ours.has(lower)) flat.push(lower, value)
  }
  return flat
}

/** Some APIs refuse a call without a User-Agent (GitHub), so one is always sent. The caller's own wins. */
export function withUserAgent(headers: HeaderPairs, userAgent: string): HeaderPairs {
  const isGiven = headers.some(([name]) => name.length === 10 && name.toLowerCase() === 'user-agent')
  return isGiven ? headers : [...headers, ['user-agent', userAgent]]
}

/**
 * The headers as they came: order, case and repetition count. Bytes above 127 are Latin-1 (RFC 9110 §5.5).
 * Those of HTTP/2 come as an object, whose names are lower-case and stand once.
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

/** HTTP/1.1 is bounded in bytes while it is read, HTTP/2 by Node's own and wider bound. */
export function areTooMany(pairs: HeaderPairs): boolean {
  if (pairs.length > maxHeaders) return true
  let bytes = 0
  for (const [name, value] of pairs) bytes += name.length + value.length
  return bytes > maxHeaderBytes
}

/**
 * Anything but plain chunks: a body that is compressed on its way (RFC 9112 §7.2) would come through undecoded, and one
 * whose last coding is another has no end that both sides agree on.
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
