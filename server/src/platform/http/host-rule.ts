import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

/** Probes come by address, and learn nothing. */
const anyHost = new Set(['/healthz', '/readyz'])

/** A page that had its own name resolve to us must not be able to talk to us under it. */
export function refuseOtherHosts(http: Http, baseUrl: URL): void {
  const defaultPort = baseUrl.protocol === 'https:' ? ':443' : ':80'
  http.addHook('onRequest', async (request) => {
    const host = request.headers.host?.toLowerCase()
    if (host === baseUrl.host || host === baseUrl.host + defaultPort) return
    if (anyHost.has(request.routeOptions.url ?? '')) return
    throw new ServiceError('wrong_host', {
      message: `The service answers to ${baseUrl.origin} only. Use that address.`,
    })
  })
}
