/**
 * Opens connections: the name is resolved once, every address is checked, and only checked addresses are connected to. TLS
 * certificates are always verified; no setting or option turns that off.
 */
import { isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'
import { parseAddress } from '@sallyport/protocol/public-address'
import type { buildConnector } from 'undici'
import { Busy } from '../limits/semaphore.ts'
import { hasAddress, namesPlace } from './destinations.ts'
import type { Destinations, Place, SuppliedBy } from './destinations.ts'
import { openTunnel } from './egress-proxy.ts'
import type { EgressProxy } from './egress-proxy.ts'
import { codeOf, invalidUrl, notAllowed, timedOut, tlsFailure, tooManyLookups, unreachable } from './failures.ts'
import type { Lookup } from './resolver.ts'

/** `either` uses HTTP/2 if the server offers it. */
export type Protocol = 'http/1.1' | 'h2' | 'either'

interface Needs {
  destinations: Destinations
  lookup: Lookup
  /** The operator's own certificate authorities (PEM), trusted for destinations that the operator listed. */
  ca: string | undefined
  proxy?: EgressProxy | undefined
  /** Waits for room for another socket; resolves to a function that frees it. */
  takeSocket: (signal: AbortSignal) => Promise<() => void>
  connectMs: number
}

export function createConnectors({ destinations, lookup, ca, proxy, takeSocket, connectMs }: Needs) {
  /** The addresses to connect to. Throws if any address of the name is refused. */
  const resolve = async (place: Place, suppliedBy: SuppliedBy, asker: string): Promise<string[]> => {
    const answer =
      isIP(place.host) === 0 ? await lookup(place.host, asker).catch(nameFailure(place)) : [{ address: place.host }]
    const addresses = answer.map(({ address }) => address)
    if (addresses.length === 0) throw unreachable(place.host, 'no address')
    for (const address of addresses) {
      const reason = destinations.judge(address, place, suppliedBy)
      if (reason !== undefined) throw notAllowed(place.host, reason)
    }
    return addresses
  }

  /** The proxy is the operator's own, so its address may be a private one. */
  const lookupProxy: LookupFunction = (name, options, callback) => {
    lookup(name, 'operator').then(
      (found) => {
        answering(found.map(({ address }) => address))(name, options, callback)
      },
      (error: unknown) => {
        callback(error as Error, '')
      },
    )
  }

  /** The socket for TLS through the proxy. Undefined if the place is reached directly. */
  const tunnelTo = async (place: Place, addresses: string[], signal: AbortSignal): Promise<Socket | undefined> => {
    if (!proxy || isDirect(proxy, place, addresses)) return undefined
    return openTunnel(place, addresses, { proxy, lookup: lookupProxy, secureContext: trusting(ca), signal })
  }

  const open = async (
    { hostname, port, protocol: scheme }: buildConnector.Options,
    suppliedBy: SuppliedBy,
    asker: string,
    protocol: Protocol,
    signal: AbortSignal,
  ): Promise<TLSSocket> => {
    if (scheme !== 'https:') throw invalidUrl('The URL is not https.')
    const place = { host: hostname, port: port === '' ? 443 : Number(port) }
    const late = rejectedBy(signal)
    const isResolvedThere = proxy?.resolvesNames && isIP(place.host) === 0 && !namesPlace(proxy.direct, place)
    const addresses = isResolvedThere ? [] : await Promise.race([resolve(place, suppliedBy, asker), late])
    const isListed = isResolvedThere
      ? destinations.listsPlace(place)
      : addresses.every((address) => destinations.listsAddress(address, place, suppliedBy))
    const free = await takeSocket(signal)
    const tunnel = await tunnelTo(place, addresses, signal).catch((error: unknown) => {
      free()
      throw error
    })
    const socket = connect({
      ...(tunnel ? { socket: tunnel } : { ...place, lookup: answering(addresses) }),
      ...(isIP(place.host) === 0 ? { servername: place.host } : { host: place.host }),
      secureContext: trusting(isListed ? ca : undefined),
      rejectUnauthorized: true,
      ALPNProtocols: protocol === 'either' ? offered('h2', 'http/1.1') : offered(protocol),
    })
    socket.once('close', free)
    socket.setNoDelay(true)
    try {
      await Promise.race([secured(socket, place, tunnel ? undefined : addresses), late])
      if (protocol === 'h2' && socket.alpnProtocol !== 'h2') throw tlsFailure(place.host, 'no HTTP/2')
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  const opening = new Set<AbortController>()

  return {
    /** `asker`: whose share of the look-ups is used. */
    connector:
      (suppliedBy: SuppliedBy, asker: string, protocol: Protocol): buildConnector.connector =>
      (options, callback) => {
        const late = new AbortController()
        opening.add(late)
        const timer = setTimeout(() => {
          late.abort(timedOut(options.hostname, 'connection'))
        }, connectMs)
        open(options, suppliedBy, asker, protocol, late.signal)
          .finally(() => {
            clearTimeout(timer)
            opening.delete(late)
          })
          .then(
            (socket) => {
              callback(null, socket)
            },
            (error: unknown) => {
              callback(error as Error, null)
            },
          )
      },
    /** Aborts connections that are being opened. */
    stop: () => {
      for (const late of opening) late.abort(unreachable('every host', 'stopped'))
    },
  }
}

/** By the additional authorities. Created when first needed, once per process: parsing root certificates takes a while. */
const contexts = new Map<string | undefined, SecureContext>()

/** Trusts the usual certificate authorities, and the additional ones if they are given. */
function trusting(ca: string | undefined): SecureContext {
  let context = contexts.get(ca)
  if (!context) {
    const authorities = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }
    contexts.set(ca, (context = createSecureContext({ minVersion: 'TLSv1.2', ...authorities })))
  }
  return context
}

/**
 * The ALPN list in wire format (RFC 7301 §3.1). From an array of names, Node would make a slice of its shared 64 KB Buffer
 * pool, and each socket would keep its pool block in memory. A DataView is copied instead.
 */
function offered(...protocols: string[]): DataView {
  const { buffer } = Uint8Array.from(protocols.flatMap((name) => [name.length, ...Buffer.from(name)]))
  return new DataView(buffer)
}

function nameFailure(place: Place) {
  return (error: unknown): never => {
    throw error instanceof Busy ? tooManyLookups(place.host) : unreachable(place.host, codeOf(error))
  }
}

/** A lookup function that returns the addresses that were checked, without asking again. */
function answering(addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}

function isDirect(proxy: EgressProxy, place: Place, addresses: readonly string[]): boolean {
  if (namesPlace(proxy.direct, place)) return true
  return addresses.length > 0 && addresses.every((address) => hasAddress(proxy.direct, address))
}

/**
 * Resolves after the TLS handshake, on a socket whose peer is one of the checked addresses. In a tunnel (no `addresses`) the
 * peer is the proxy, which was asked for one of them.
 */
function secured(socket: TLSSocket, { host }: Place, addresses: string[] | undefined): Promise<void> {
  const judged = new Set(addresses?.map(comparable))
  return new Promise((resolve, reject) => {
    let isConnected = addresses === undefined
    socket.once('connect', () => {
      if (isConnected) return
      isConnected = true
      const { remoteAddress } = socket
      if (remoteAddress !== undefined && judged.has(comparable(remoteAddress))) return
      // Without an address, the peer has already hung up.
      reject(remoteAddress ? notAllowed(host, 'another address answered') : tlsFailure(host, 'hung up'))
      socket.destroy()
    })
    socket.once('secureConnect', resolve)
    // Not removed: undici adds its own error listener only after the callback.
    socket.on('error', (error) => {
      const fail = isConnected ? tlsFailure : unreachable
      reject(fail(host, codeOf(error)))
    })
  })
}

function comparable(address: string): string {
  const parsed = parseAddress(address)
  return parsed ? `${parsed.family} ${parsed.bits}` : 'none'
}

/** Rejects when the signal is aborted. */
function rejectedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  signal.addEventListener('abort', () => {
    reject(signal.reason as Error)
  })
  return promise
}
