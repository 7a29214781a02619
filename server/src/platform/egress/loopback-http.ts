/**
 * Plain http to a program on this machine: the one exception from https, for what the operator's settings name.
 * It connects to loopback addresses only, so what is sent never leaves the machine.
 */
import { request } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { EgressRequest } from './egress.ts'
import { codeOf, invalidUrl, timedOut, tooLarge, unreachable } from './failures.ts'
import { pairsOf } from './header-lists.ts'
import type { HeaderPairs } from './header-lists.ts'

export interface LoopbackAnswer {
  status: number
  headers: HeaderPairs
  body: Buffer
}

/** As URLs spell them. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

const both = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]
/** Whatever the machine's name servers and hosts file say. */
const lookup: LookupFunction = (_name, options, callback) => {
  if (options.all) callback(null, both)
  else callback(null, '127.0.0.1', 4)
}

export function collectFromLoopback({ url, method, headers, body, limits }: EgressRequest): Promise<LoopbackAnswer> {
  if (url.protocol !== 'http:' || !isLoopbackName(url.hostname))
    throw invalidUrl('The URL is not http on this machine.')
  const { promise, resolve, reject } = Promise.withResolvers<LoopbackAnswer>()
  const { wholeMs = 10_000, maxBytes = 65_536 } = limits ?? {}
  const signal = AbortSignal.timeout(wholeMs)
  // Node's usual agent would follow HTTP_PROXY where NODE_USE_ENV_PROXY is set.
  const options = { method, headers: Object.fromEntries(headers), lookup, signal, agent: false as const }
  const sent = request(url, options, (response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxBytes) sent.destroy(tooLarge(url.host, 'body'))
    })
    response.on('error', fail)
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, headers: pairsOf(response.rawHeaders), body: Buffer.concat(chunks) })
    })
  })
  const fail = (error: Error) => {
    if (signal.aborted) reject(timedOut(url.host, 'answer'))
    else reject(error.name === 'ServiceError' ? error : unreachable(url.host, codeOf(error)))
  }
  sent.on('error', fail)
  sent.end(body)
  return promise
}
