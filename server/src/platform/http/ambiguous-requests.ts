/**
 * Refuses requests that a proxy in front of us may read in another way than we do (RFC 9112 §6.1, §11.2): headers that
 * say who calls, or where a body ends, come once, and only as this service reads them.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Host has its own rule (host-rule.ts). Cookie headers are joined, and of two cookies with one name none counts. */
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
      // Where this body ends, the next request may begin: what follows can't be trusted.
      reply.header('connection', 'close')
      throw new ServiceError('invalid_http', { field: 'Transfer-Encoding', message: fault })
    }
    done()
  })
}

/** As the client wrote it. */
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
  return encoding.trim().toLowerCase() === 'chunked' ? undefined : 'The only Transfer-Encoding taken here is chunked.'
}
