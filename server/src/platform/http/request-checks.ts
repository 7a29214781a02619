/**
 * Checks the head of every request. Prevents request smuggling (RFC 9112 §6.1, §11.2): refuses requests that a proxy in
 * front of the service may parse differently. Headers that say who is calling or where a body ends may occur only once, and
 * only in forms read here. Prevents DNS rebinding: a page whose own host name resolves to this service can't call it under
 * that name.
 */
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'
import { tunnelledOf } from './tunnelled.ts'

/** Host has a rule of its own. Cookie headers are joined, and a cookie that occurs twice is ignored. */
const atMostOnce = [
  ...['authorization', 'origin', 'sec-fetch-site', 'idempotency-key'],
  ...['content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
]

/** Health probes use the IP address as host; their answers reveal nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

export function checkRequests(http: Http, baseUrl: URL): void {
  const defaultPort = baseUrl.protocol === 'https:' ? ':443' : ':80'
  const ours = new Set([baseUrl.host, baseUrl.host + defaultPort])
  const isOurs = (host: string) => ours.has(host) || ours.has(host.toLowerCase())
  http.addHook('onRequest', ({ raw, routeOptions }, reply, done) => {
    const { hosts, repeated } = readHeaders(raw)
    if (repeated !== undefined) {
      throw new ServiceError('invalid_http', { field: repeated, message: `Send no more than one ${repeated} header.` })
    }
    const fault = framingFault(raw)
    if (fault !== undefined) {
      // Where the body ends is unclear, so what follows on this connection can't be trusted.
      reply.header('connection', 'close')
      throw new ServiceError('invalid_http', { field: 'Transfer-Encoding', message: fault })
    }
    // The gateway has compared the Host of a tunnelled request with the tunnel's.
    if (!anyHost.has(routeOptions.url ?? '') && !tunnelledOf(raw)) {
      // RFC 9112 §3.2
      if (hosts.length !== 1) throw new ServiceError('invalid_http', { message: 'Send exactly one Host header.' })
      const inTarget = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1]
      if (!hosts.every(isOurs) || (inTarget !== undefined && !isOurs(inTarget))) {
        const message = `The Host header does not match this service. Use ${baseUrl.origin}.`
        throw new ServiceError('wrong_host', { message })
      }
    }
    done()
  })
}

/** `repeated` is the name as the client wrote it. */
function readHeaders({ rawHeaders }: IncomingMessage): { hosts: string[]; repeated: string | undefined } {
  const seen = new Set<string>()
  const hosts: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const written = rawHeaders[index] ?? ''
    const name = written.toLowerCase()
    if (seen.has(name) && atMostOnce.includes(name)) return { hosts, repeated: written }
    if (name === 'host') hosts.push(rawHeaders[index + 1] ?? '')
    seen.add(name)
  }
  return { hosts, repeated: undefined }
}

function framingFault({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): string | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  if (httpVersionMajor === 1 && httpVersionMinor === 0) {
    return 'HTTP/1.0 has no Transfer-Encoding. Send a Content-Length, or use HTTP/1.1.'
  }
  return encoding.trim().toLowerCase() === 'chunked' ? undefined : 'The only supported Transfer-Encoding is chunked.'
}
