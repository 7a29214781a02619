import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Health probes use the IP address as host; their answers reveal nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

/** `none`: no valid Host header; `other`: not this service's host. */
export type HostFault = 'none' | 'other'
export type HostRule = (request: IncomingMessage) => HostFault | undefined

/** Prevents DNS rebinding: a page whose own host name resolves to this service can't call it under that name. */
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
        message: `The Host header does not match this service. Use ${baseUrl.origin}.`,
      })
    }
    done()
  })
}

/** The hosts in header and request line. Empty unless there is exactly one Host header (RFC 9112 §3.2). */
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
