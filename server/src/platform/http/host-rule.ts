import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Probes come by address, and learn nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

/** A page that had its own name resolve to us must not be able to talk to us under it. */
export function refuseOtherHosts(http: Http, baseUrl: URL): void {
  const defaultPort = baseUrl.protocol === 'https:' ? ':443' : ':80'
  const ours = new Set([baseUrl.host, baseUrl.host + defaultPort])
  const isOurs = (host: string) => ours.has(host) || ours.has(host.toLowerCase())
  http.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    if (!anyHost.has(routeOptions.url ?? '')) assertHosts(hostsOf(raw), isOurs, baseUrl)
    done()
  })
}

function assertHosts(hosts: string[], isOurs: (host: string) => boolean, baseUrl: URL): void {
  if (hosts.length === 0) throw new ServiceError('invalid_http', { message: 'Send exactly one Host header.' })
  if (!hosts.every(isOurs)) {
    throw new ServiceError('wrong_host', {
      message: `The service answers to ${baseUrl.origin} only. Use that address.`,
    })
  }
}

/** RFC 9112 §3.2: no Host header or several make no valid request, and give none here; one in the request line counts too. */
function hostsOf({ rawHeaders, url = '' }: IncomingMessage): string[] {
  const hosts: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[index + 1] ?? '')
  }
  if (hosts.length !== 1) return []
  const inTarget = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]
  return inTarget === undefined ? hosts : [...hosts, inTarget]
}
