/**
 * The only code that opens outgoing connections: https to addresses that are checked after name resolution, with verified
 * certificates, without following redirects, limited in time and size. It trusts the operator's list and Node's TLS, but
 * neither URLs nor name servers.
 */
import { createAllowList } from './allow-list.ts'
import type { AllowEntry, SuppliedBy } from './allow-list.ts'
import { collect } from './collect.ts'
import type { WholeAnswer } from './collect.ts'
import type { EgressLimits, Exchange } from './exchange.ts'
import { createFetch } from './fetch.ts'
import type { EgressFetch } from './fetch.ts'
import { withUserAgent } from './header-lists.ts'
import { judgeName } from './judge-name.ts'
import { judgePageUrl, judgeUrl } from './judge-url.ts'
import { createPools } from './pools.ts'
import type { PoolBounds, Protocol, SharedSockets } from './pools.ts'
import { createResolver } from './resolver.ts'
import type { Lookup } from './resolver.ts'
import { socketBound } from './socket-bound.ts'
import { stream } from './streamed-answer.ts'
import type { StreamedAnswer } from './streamed-answer.ts'
import { createTrust } from './trust.ts'

export type { AllowEntry, SuppliedBy } from './allow-list.ts'
export type { WholeAnswer } from './collect.ts'
export type { Lookup } from './resolver.ts'
export type { EgressLimits } from './exchange.ts'
export type { EgressFetch } from './fetch.ts'
export type { StreamedAnswer } from './streamed-answer.ts'

export interface EgressRequest {
  url: URL
  method: string
  headers: [string, string][]
  body: Buffer | undefined
  suppliedBy: SuppliedBy
  limits?: Partial<EgressLimits>
  signal?: AbortSignal
  /** Sockets are shared only among requests with the same pool, origin and supplier. */
  pool?: string
}

export interface Egress {
  /** A WHATWG fetch for OAuth, callbacks and push. Never follows redirects; the response is buffered, and decoded bytes count. */
  fetch: (suppliedBy: SuppliedBy, limits?: Partial<EgressLimits>) => EgressFetch
  /** The same over HTTP/2, for the operator's URLs only: one connection per origin, which is kept open. */
  fetchOverHttp2: (limits?: Partial<EgressLimits>) => EgressFetch
  /** For the proxy: one request with a streamed response, not decoded, under the same rules. */
  request: (request: EgressRequest) => Promise<StreamedAnswer>
  /** The same with a buffered response. `maxBytes` counts bytes on the wire. */
  collect: (request: EgressRequest) => Promise<WholeAnswer>
  /** Throws if a call would be refused because of the URL's text (scheme, userinfo, literal address, port), without DNS. */
  judgeUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** The same for a page that only a person's browser opens. */
  judgePageUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** The same for the addresses that its name resolves to now. Does not connect. */
  judgeName: (url: URL, suppliedBy: SuppliedBy, field: string) => Promise<void>
  /** Open pools and sockets. */
  size: () => { pools: number; sockets: number }
  /** Aborts requests in flight. */
  close: () => Promise<void>
}

const connectMs = 10_000
const requestLimits: EgressLimits = { connectMs, firstByteMs: 30_000, wholeMs: 60_000, maxBytes: 10_485_760 }
const fetchLimits: EgressLimits = { connectMs, firstByteMs: 15_000, wholeMs: 15_000, maxBytes: 1_048_576 }

const maxSocketsPerPool = 32

export function createEgress(needs: {
  allow: readonly AllowEntry[]
  /** Sent with requests that have no User-Agent of their own. */
  userAgent: string
  ca?: string
  lookup?: Lookup
  /** How many processes share this machine's memory. */
  processes?: number
  bounds?: PoolBounds
}): Egress {
  const list = createAllowList(needs.allow)
  const { lookup = createResolver(), processes = 1 } = needs
  const bounds = needs.bounds ?? { maxSocketsPerPool, maxSockets: socketBound(processes) }
  const trust = createTrust(needs.ca)
  const pools = createPools({ list, lookup, trust, connectMs, bounds })

  const over =
    <T>(protocol: Protocol, read: (shared: SharedSockets, call: Exchange) => Promise<T>, maySendAgain = false) =>
    async ({ url, method, headers, body, suppliedBy, limits: given, signal, pool = '' }: EgressRequest): Promise<T> => {
      judgeUrl(list, url, suppliedBy)
      const shared = pools.enter({ origin: url.origin, suppliedBy, protocol, name: pool })
      const limits = { ...requestLimits, ...given }
      return read(shared, {
        ...{ url, method, body, limits, signal, maySendAgain },
        headers: withUserAgent(headers, needs.userAgent),
      })
    }

  return {
    request: over('either', stream),
    collect: over('either', collect),
    fetch: (suppliedBy, limits) => createFetch(over('http/1.1', stream), suppliedBy, { ...fetchLimits, ...limits }),
    fetchOverHttp2: (limits) => createFetch(over('h2', stream, true), 'operator', { ...fetchLimits, ...limits }),
    judgeUrl: (url, suppliedBy, field) => {
      judgeUrl(list, url, suppliedBy, field)
    },
    judgePageUrl: (url, suppliedBy, field) => {
      judgePageUrl(list, url, suppliedBy, field)
    },
    judgeName: (url, suppliedBy, field) => judgeName({ list, lookup }, url, suppliedBy, field),
    size: pools.size,
    close: pools.close,
  }
}
