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
import { judgeUrl } from './judge-url.ts'

export type { AllowEntry, SuppliedBy } from './allow-list.ts'
export type { Lookup } from './connector.ts'
export type { EgressLimits } from './exchange.ts'
export type { EgressFetch } from './fetch.ts'

export interface EgressRequest {
  url: URL
  method: string
  headers: [string, string][]
  body: Buffer | undefined
  suppliedBy: SuppliedBy
  limits?: Partial<EgressLimits>
  signal?: AbortSignal
}

export interface Egress {
  /** A WHATWG fetch for OAuth, callbacks, push: bounded in time and size (decoded bytes count), never follows a redirect, answer read whole. */
  fetch: (suppliedBy: SuppliedBy, limits?: Partial<EgressLimits>) => EgressFetch
  /** For the proxy: one exchange, streamed and raw (not decoded), same guards. */
  request: (request: EgressRequest) => Promise<Answer>
  /** Throws what a call to this URL would be refused with by its text alone (scheme, userinfo, literal address, port); asks no name server. */
  judgeUrl: (url: URL, suppliedBy: SuppliedBy, field?: string) => void
  /** Ends what is still under way. */
  close: () => Promise<void>
}

const connectMs = 10_000
const requestLimits: EgressLimits = { connectMs, firstByteMs: 30_000, wholeMs: 60_000, maxBytes: 10_485_760 }
const fetchLimits: EgressLimits = { connectMs, firstByteMs: 15_000, wholeMs: 15_000, maxBytes: 1_048_576 }

export function createEgress(needs: { allow: readonly AllowEntry[]; ca?: string; lookup?: Lookup }): Egress {
  const list = createAllowList(needs.allow)
  const { ca, lookup = askNameServer } = needs
  // A pool each: a stranger must never ride on a socket that was opened under the operator's wider rule.
  const pools: Record<SuppliedBy, Agent> = { operator: createPool('operator'), stranger: createPool('stranger') }

  function createPool(suppliedBy: SuppliedBy): Agent {
    return new Agent({
      connect: createConnector({ list, suppliedBy, lookup, ca, connectMs }),
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: 32_768,
      keepAliveMaxTimeout: 60_000,
      // The exchange has its own clocks, which are exact.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  const request = async ({ suppliedBy, limits, ...rest }: EgressRequest): Promise<Answer> => {
    judgeUrl(list, rest.url, suppliedBy)
    return exchange(pools[suppliedBy], { ...rest, limits: { ...requestLimits, ...limits } })
  }

  return {
    request,
    fetch: (suppliedBy, limits) => createFetch(request, suppliedBy, { ...fetchLimits, ...limits }),
    judgeUrl: (url, suppliedBy, field) => {
      judgeUrl(list, url, suppliedBy, field)
    },
    close: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    },
  }
}
