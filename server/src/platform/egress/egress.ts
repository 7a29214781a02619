/**
 * The only way out of the process: https to addresses that were judged after name resolution, verified, never
 * redirected, bounded in time and size. It trusts the operator's list and Node's TLS; neither URLs nor name servers.
 */
import type { StopSignal } from '../stop-signal.ts'
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
  signal?: StopSignal
  /** Sockets are shared only among requests of the same pool and supplier. */
  pool?: string
}

export interface Egress {
  /** A WHATWG fetch for OAuth, callbacks, push: bounded in time and size (decoded bytes count), never follows a redirect, answer read whole. */
  fetch: (suppliedBy: SuppliedBy, limits?: Partial<EgressLimits>) => EgressFetch
  /** The same over HTTP/2, for the operator's URLs alone: one connection an origin, which is kept for the next calls. */
  fetchOverHttp2: (limits?: Partial<EgressLimits>) => EgressFetch
  /** For the proxy: one exchange, streamed and raw (not decoded), same guards. */
  request: (request: EgressRequest) => Promise<StreamedAnswer>
  /** The same, read whole. `maxBytes` bounds what comes over the wire. */
  collect: (request: EgressRequest) => Promise<WholeAnswer>
  /** Throws what a call to this URL would be refused with by its text alone (scheme, userinfo, literal address, port); asks no name server. */
  judgeUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** The same for a page that a person's browser opens, and nobody here calls. */
  judgePageUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** The same by what its name leads to just now. Asks a name server and connects to nothing. */
  judgeName: (url: URL, suppliedBy: SuppliedBy, field: string) => Promise<void>
  /** How much is held open just now. */
  size: () => { pools: number; sockets: number }
  /** Ends what is still under way. */
  close: () => Promise<void>
}

const connectMs = 10_000
const requestLimits: EgressLimits = { connectMs, firstByteMs: 30_000, wholeMs: 60_000, maxBytes: 10_485_760 }
const fetchLimits: EgressLimits = { connectMs, firstByteMs: 15_000, wholeMs: 15_000, maxBytes: 1_048_576 }

const maxSocketsPerPool = 32

export function createEgress(needs: {
  allow: readonly AllowEntry[]
  /** Sent with every request that has no User-Agent of its own. */
  userAgent: string
  ca?: string
  lookup?: Lookup
  /** How many share the memory of this machine. */
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
