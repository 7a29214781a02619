/**
 * The only code that opens outgoing connections: https to addresses that are checked after name resolution, with verified
 * certificates, without following redirects, limited in time and size. It trusts the operator's list and Node's TLS, but
 * neither URLs nor name servers.
 */
import { collect, stream } from './answers.ts'
import type { Protocol } from './connector.ts'
import { createDestinations } from './destinations.ts'
import type { AllowEntry, SuppliedBy } from './destinations.ts'
import type { EgressProxy } from './egress-proxy.ts'
import type { BodyStream, EgressLimits, Exchange } from './exchange.ts'
import { createFetch } from './fetch.ts'
import { withUserAgent } from './header-lists.ts'
import { createPools } from './pools.ts'
import type { PoolBounds, SharedSockets } from './pools.ts'
import { createResolver } from './resolver.ts'
import type { Lookup } from './resolver.ts'
import { socketBound } from './socket-bound.ts'

export interface EgressRequest {
  url: URL
  method: string
  headers: [string, string][]
  body: Buffer | undefined
  /** Instead of `body`. */
  bodyStream?: BodyStream | undefined
  suppliedBy: SuppliedBy
  limits?: Partial<EgressLimits>
  signal?: AbortSignal
  /** It opens a WebSocket: for `request` alone. */
  isHandshake?: boolean | undefined
  /** Sockets are shared only among requests with the same pool, origin and supplier. */
  pool?: string
}

const connectMs = 10_000
const requestLimits: EgressLimits = { connectMs, firstByteMs: 30_000, wholeMs: 60_000, maxBytes: 10_485_760 }
const fetchLimits: EgressLimits = { connectMs, firstByteMs: 15_000, wholeMs: 15_000, maxBytes: 1_048_576 }

const maxSocketsPerPool = 32

export type Egress = ReturnType<typeof createEgress>

export function createEgress(needs: {
  allow: readonly AllowEntry[]
  /** Sent with requests that have no User-Agent of their own. */
  userAgent: string
  ca?: string
  /** All connections go through it. */
  proxy?: EgressProxy | undefined
  lookup?: Lookup
  /** How many processes share this machine's memory. */
  processes?: number
  bounds?: PoolBounds
}) {
  const { allow, userAgent, ca, proxy, lookup = createResolver(), processes = 1 } = needs
  const bounds = needs.bounds ?? { maxSocketsPerPool, maxSockets: socketBound(processes) }
  // Names that only the proxy can resolve are not asked for in advance either.
  const lookupEarly: Lookup = proxy?.resolvesNames ? () => Promise.resolve([]) : lookup
  const destinations = createDestinations(allow, lookupEarly)
  const { judgeUrl, judgePageUrl, judgeName } = destinations
  const pools = createPools({ destinations, lookup, ca, proxy, connectMs, bounds })

  const over =
    <T>(protocol: Protocol, read: (shared: SharedSockets, call: Exchange) => Promise<T>, maySendAgain = false) =>
    async (request: EgressRequest): Promise<T> => {
      const {
        url,
        method,
        headers,
        body,
        bodyStream,
        suppliedBy,
        limits: given,
        signal,
        pool = '',
        isHandshake,
      } = request
      judgeUrl(url, suppliedBy)
      // undici ends an aborted stream of HTTP/2 like a complete one, and WebSockets begin with HTTP/1.1.
      const spoken = bodyStream || isHandshake ? 'http/1.1' : protocol
      const shared = pools.enter({ origin: url.origin, suppliedBy, protocol: spoken, name: pool })
      const limits = { ...requestLimits, ...given }
      return read(shared, {
        ...{ url, method, body, bodyStream, limits, signal, maySendAgain, isHandshake },
        headers: withUserAgent(headers, userAgent),
      })
    }

  return {
    /** A WHATWG fetch for OAuth, callbacks and push. Never follows redirects; the response is buffered, and decoded bytes count. */
    fetch: (suppliedBy: SuppliedBy, limits?: Partial<EgressLimits>) =>
      createFetch(over('http/1.1', stream), suppliedBy, { ...fetchLimits, ...limits }),
    /** The same over HTTP/2, for the operator's URLs only: one connection per origin, which is kept open. */
    fetchOverHttp2: (limits?: Partial<EgressLimits>) =>
      createFetch(over('h2', stream, true), 'operator', { ...fetchLimits, ...limits }),
    /** For the proxy: one request with a streamed response, not decoded, under the same rules. */
    request: over('either', stream),
    /** The same with a buffered response. `maxBytes` counts bytes on the wire. */
    collect: over('either', collect),
    ...{ judgeUrl, judgePageUrl, judgeName },
    /** Open pools and sockets. */
    size: pools.size,
    /** Aborts requests in flight. */
    close: pools.close,
  }
}
