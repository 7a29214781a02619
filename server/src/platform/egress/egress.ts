/**
 * The only way out of the process: https to addresses that were judged after name resolution, verified, never
 * redirected, bounded in time and size. It trusts the operator's list and Node's TLS; neither URLs nor name servers.
 */
import { Agent } from 'undici'
import { createAllowList } from './allow-list.ts'
import type { AllowEntry, SuppliedBy } from './allow-list.ts'
import { askNameServer, createConnector } from './connector.ts'
import type { Lookup } from './connector.ts'
import { exchange } from './exchange.ts'
import type { Answer, EgressLimits } from './exchange.ts'
import { createFetch } from './fetch.ts'
import type { EgressFetch } from './fetch.ts'
import { judgeName } from './judge-name.ts'
import { judgeUrl } from './judge-url.ts'
import { createTrust } from './trust.ts'

export type { AllowEntry, SuppliedBy } from './allow-list.ts'
export type { Lookup } from './connector.ts'
export type { Answer as EgressAnswer, EgressLimits } from './exchange.ts'
export type { EgressFetch } from './fetch.ts'

export interface EgressRequest {
  url: URL
  method: string
  headers: [string, string][]
  body: Buffer | undefined
  suppliedBy: SuppliedBy
  limits?: Partial<EgressLimits>
  signal?: AbortSignal
  /** Sockets are shared only among requests of the same pool and supplier. */
  pool?: string
}

/** An answer read to its end, as it came: nothing is decoded. */
export interface CollectedAnswer {
  status: number
  statusText: string
  headers: [string, string][]
  body: Buffer
  trailers: [string, string][]
}

export interface Egress {
  /** A WHATWG fetch for OAuth, callbacks, push: bounded in time and size (decoded bytes count), never follows a redirect, answer read whole. */
  fetch: (suppliedBy: SuppliedBy, limits?: Partial<EgressLimits>) => EgressFetch
  /** The same over HTTP/2, for the operator's URLs alone: one connection an origin, which is kept for the next calls. */
  fetchOverHttp2: (limits?: Partial<EgressLimits>) => EgressFetch
  /** For the proxy: one exchange, streamed and raw (not decoded), same guards. */
  request: (request: EgressRequest) => Promise<Answer>
  /** The same, read whole. `maxBytes` bounds what comes over the wire. */
  collect: (request: EgressRequest) => Promise<CollectedAnswer>
  /** Throws what a call to this URL would be refused with by its text alone (scheme, userinfo, literal address, port); asks no name server. */
  judgeUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** The same by what its name leads to just now. Asks a name server and connects to nothing. */
  judgeName: (url: URL, suppliedBy: SuppliedBy, field: string) => Promise<void>
  /** Ends what is still under way. */
  close: () => Promise<void>
}

const connectMs = 10_000
const requestLimits: EgressLimits = { connectMs, firstByteMs: 30_000, wholeMs: 60_000, maxBytes: 10_485_760 }
const fetchLimits: EgressLimits = { connectMs, firstByteMs: 15_000, wholeMs: 15_000, maxBytes: 1_048_576 }

const poolOptions = {
  allowH2: false,
  pipelining: 1,
  maxHeaderSize: 32_768,
  keepAliveMaxTimeout: 60_000,
  // The exchange has its own clocks.
  headersTimeout: 0,
  bodyTimeout: 0,
}

const hourMs = 3_600_000

const http2Options = {
  allowH2: true,
  connections: 1,
  maxHeaderSize: 32_768,
  // Idle connections are asked every minute whether they still stand.
  keepAliveTimeout: hourMs,
  h2Options: { pingInterval: 60_000 },
  // Sooner than the exchange's own: undici then asks whether the connection stands, and opens another where not.
  headersTimeout: 10_000,
  bodyTimeout: 10_000,
}

export function createEgress(needs: { allow: readonly AllowEntry[]; ca?: string; lookup?: Lookup }): Egress {
  const list = createAllowList(needs.allow)
  const { lookup = askNameServer } = needs
  const trust = createTrust(needs.ca)
  // A pool each: a stranger must never ride on a socket that was opened under the operator's wider rule.
  const createPool = (suppliedBy: SuppliedBy, protocol: 'http/1.1' | 'h2' = 'http/1.1') => {
    const connector = createConnector({ list, suppliedBy, lookup, trust, protocol, connectMs })
    const options = protocol === 'h2' ? http2Options : poolOptions
    return { connector, agent: new Agent({ ...options, connect: connector.connect }) }
  }
  const pools = {
    operator: createPool('operator'),
    stranger: createPool('stranger'),
    http2: createPool('operator', 'h2'),
  }

  const requestOver =
    (which: keyof typeof pools) =>
    async ({ suppliedBy, limits, ...rest }: EgressRequest) => {
      judgeUrl(list, rest.url, suppliedBy)
      return exchange(pools[which].agent, { ...rest, limits: { ...requestLimits, ...limits } })
    }
  const request = (one: EgressRequest) => requestOver(one.suppliedBy)(one)

  const collect = async (one: EgressRequest): Promise<CollectedAnswer> => {
    const { body, trailers, ...head } = await request(one)
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk as Uint8Array)
    return { ...head, body: Buffer.concat(chunks), trailers: trailers() }
  }

  return {
    request,
    collect,
    fetch: (suppliedBy, limits) => createFetch(request, suppliedBy, { ...fetchLimits, ...limits }),
    fetchOverHttp2: (limits) => createFetch(requestOver('http2'), 'operator', { ...fetchLimits, ...limits }),
    judgeUrl: (url, suppliedBy, field) => {
      judgeUrl(list, url, suppliedBy, field)
    },
    judgeName: (url, suppliedBy, field) => judgeName({ list, lookup }, url, suppliedBy, field),
    close: async () => {
      for (const { connector } of Object.values(pools)) connector.stop()
      await Promise.all(Object.values(pools).map(({ agent }) => agent.destroy()))
    },
  }
}
