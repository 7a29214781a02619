/**
 * Connections through the operator's proxy, by CONNECT. TLS with the upstream runs inside, and its certificate is verified
 * as ever, so the proxy sees addresses, names and amounts, but no request, answer or credential.
 */
import { request as requestOverHttp } from 'node:http'
import { request as requestOverHttps } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { AllowEntry, Place } from './destinations.ts'
import { codeOf, unreachable } from './failures.ts'

export interface EgressProxy {
  isTls: boolean
  host: string
  port: number
  /** The value of Proxy-Authorization. */
  authorization: string | undefined
  /** The proxy gets names instead of addresses that were checked here. */
  resolvesNames: boolean
  /** Reached without the proxy. */
  direct: readonly AllowEntry[]
}

/** Undefined unless it is an http or https URL without a path. */
export function parseProxyUrl(
  text: string,
): Pick<EgressProxy, 'isTls' | 'host' | 'port' | 'authorization'> | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined
  const isTls = url.protocol === 'https:'
  try {
    const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    // RFC 7617 §2: a colon would end the user name.
    if (user.includes(':')) return undefined
    return {
      isTls,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (isTls ? 443 : 80),
      authorization:
        user === '' && password === '' ? undefined : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    }
  } catch {
    return undefined
  }
}

interface Ways {
  proxy: EgressProxy
  /** Finds the proxy itself. */
  lookup: LookupFunction
  /** Verifies the proxy's own certificate. */
  secureContext: SecureContext
  signal: AbortSignal
}

/**
 * A socket on which TLS with the place can begin. With several addresses the next one is tried if the proxy says that it
 * could not reach one.
 */
export async function openTunnel(place: Place, addresses: readonly string[], ways: Ways): Promise<Socket> {
  const targets = addresses.length === 0 ? [place.host] : addresses
  for (const [index, host] of targets.entries()) {
    const { status, socket } = await connect(authority({ host, port: place.port }), place, ways)
    if (status >= 200 && status < 300) return socket
    socket.destroy()
    const isLast = index === targets.length - 1
    if (isLast || status < 500) throw unreachable(place.host, refusal(status))
  }
  throw unreachable(place.host, 'no address')
}

function connect(
  target: string,
  { host: wanted }: Place,
  { proxy, lookup, secureContext, signal }: Ways,
): Promise<{ status: number; socket: Socket }> {
  const { isTls, host, port, authorization } = proxy
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; socket: Socket }>()
  const request = (isTls ? requestOverHttps : requestOverHttp)({
    ...{ method: 'CONNECT', host, port, path: target, lookup, signal, agent: false, maxHeaderSize: 16_384 },
    ...(isTls && { secureContext, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] }),
    ...(isTls && isIP(host) === 0 && { servername: host }),
    headers: { host: target, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
  })
  request.once('connect', (response, socket: Socket, early: Buffer) => {
    socket.on('error', () => undefined)
    // The client begins TLS. Whatever came before it is not from the upstream.
    if (early.length === 0) {
      resolve({ status: response.statusCode ?? 0, socket })
      return
    }
    socket.destroy()
    reject(unreachable(wanted, 'the egress proxy sent bytes before TLS'))
  })
  request.on('error', (error) => {
    reject(signal.aborted ? (signal.reason as Error) : unreachable(wanted, `the egress proxy: ${codeOf(error)}`))
  })
  request.end()
  return promise
}

function authority({ host, port }: Place): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function refusal(status: number): string {
  if (status === 407) return 'the egress proxy did not accept its credentials (407)'
  return `the egress proxy refused the connection (${status})`
}
