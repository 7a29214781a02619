/**
 * Prevents request smuggling (RFC 9112 §6.1, §11.2): refuses requests that a proxy in front of the service may parse
 * differently. Headers that say who is calling or where a body ends may occur only once, and only in forms read here.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Host has its own rule (host-rule.ts). Cookie headers are joined, and a cookie that occurs twice is ignored. */
const atMostOnce = [
  ...['authorization', 'origin', 'sec-fetch-site', 'idempotency-key'],
  ...['content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
]

export function refuseAmbiguousRequests(http: Http): void {
  http.addHook('onRequest', ({ raw }, reply, done) => {
    const repeated = repeatedHeader(raw)
    if (repeated !== undefined) {
      throw new ServiceError('invalid_http', { field: repeated, message: `Send no more than one ${repeated} header.` })
    }
    const fault = framingFault(raw)
    if (fault !== undefined) {
      // Where the body ends is unclear, so what follows on this connection can't be trusted.
      reply.header('connection', 'close')
      throw new ServiceError('invalid_http', { field: 'Transfer-Encoding', message: fault })
    }
    done()
  })
}

/** Returns the name as the client wrote it. */
function repeatedHeader({ rawHeaders }: IncomingMessage): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const written = rawHeaders[index] ?? ''
    const name = written.toLowerCase()
    if (seen.has(name) && atMostOnce.includes(name)) return written
    seen.add(name)
  }
  return undefined
}

function framingFault({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): string | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  if (httpVersionMajor === 1 && httpVersionMinor === 0) {
    return 'HTTP/1.0 has no Transfer-Encoding. Send a Content-Length, or use HTTP/1.1.'
  }
  return encoding.trim().toLowerCase() === 'chunked' ? undefined : 'The only supported Transfer-Encoding is chunked.'
}
