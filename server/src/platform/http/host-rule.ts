import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Probes come by address, and learn nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

/** What may be wrong with the host that a request is for. */
export type HostFault = 'none' | 'other'
export type HostRule = (request: IncomingMessage) => HostFault | undefined

/** A page that had its own name resolve to us must not be able to talk to us under it. */
export function hostRule(baseUrl: URL): HostRule {
  const defaultPort = baseUrl.protocol === 'https:' ? ':443' : ':80'
  const ours = new Set([baseUrl.host, baseUrl.host + defaultPort])
  const isOurs = (host: string) => ours.has(host) || ours.has(host.toLowerCase())
  return (request) => {
    const hosts = hostsOf(request)
    if (hosts.length === 0) return 'none'
    return hosts.every(isOurs) ? undefined : 'other'
  }
}

export function refuseOtherHosts(http: Http, faultIn: HostRule, baseUrl: URL): void {
  http.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    const fault = anyHost.has(routeOptions.url ?? '') ? undefined : faultIn(raw)
    if (fault === 'none') throw new ServiceError('invalid_http', { message: 'Send exactly one Host header.' })
    if (fault === 'other') {
      throw new ServiceError('wrong_host', {
        message: `The service answers to ${baseUrl.origin} only. Use that address.`,
      })
    }
    done()
  })
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
