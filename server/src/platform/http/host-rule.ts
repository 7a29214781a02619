import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Probes come by address, and learn nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

/** A page that had its own name resolve to us must not be able to talk to us under it. */
export function refuseOtherHosts(http: Http, baseUrl: URL): void {
  const defaultPort = baseUrl.protocol === 'https:' ? ':443' : ':80'
  const isOurs = (host: string) => [baseUrl.host, baseUrl.host + defaultPort].includes(host.toLowerCase())
  http.addHook('onRequest', async ({ raw, routeOptions }) => {
    if (anyHost.has(routeOptions.url ?? '')) return
    const given = raw.rawHeaders.filter(
      (_text, index) => raw.rawHeaders[index - 1]?.toLowerCase() === 'host' && index % 2 === 1,
    )
    // RFC 9112 §3.2: none or several are no valid request; one in the request line counts too.
    if (given.length !== 1) throw new ServiceError('invalid_http', { message: 'Send exactly one Host header.' })
    const inTarget = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '')?.[1]
    if ([...given, ...(inTarget === undefined ? [] : [inTarget])].every(isOurs)) return
    throw new ServiceError('wrong_host', {
      message: `The service answers to ${baseUrl.origin} only. Use that address.`,
    })
  })
}
