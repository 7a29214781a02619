/**
 * The sockets of one pool. Most accounts make one call at a time, with one socket, and there can be thousands of accounts:
 * so the first socket is a Client of undici. The others are those of a Pool, which takes 20 KB more and is created when a
 * call finds the first one busy.
 */
import type { TLSSocket } from 'node:tls'
import { Client, Pool } from 'undici'
import type { buildConnector, Dispatcher } from 'undici'

interface Needs {
  origin: string
  connect: buildConnector.connector
  options: Client.Options
  /** How many there may be. */
  most: number
  /** No connection could be made. */
  onFailed: () => void
  onClosed: (socket: { isHttp2: boolean }) => void
}

export interface Sockets {
  readonly first: Client
  readonly others: Pool | undefined
  /** While it is not known whether the server speaks HTTP/2. Then one socket is enough: dispatch once this resolves. */
  negotiated: () => Promise<void> | undefined
  dispatch: Dispatcher['dispatch']
  isConnected: () => boolean
  isClosed: () => boolean
  /** Waits for the calls in flight. */
  close: () => Promise<unknown>
  destroy: () => Promise<unknown>
}

export function openSockets({ origin, connect, options, most, onFailed, onClosed }: Needs): Sockets {
  let isHttp2 = false
  let isClosed = false
  let negotiation: PromiseWithResolvers<void> | undefined
  const noting: buildConnector.connector = (target, callback) => {
    connect(target, (...opened) => {
      isHttp2 = opened[0] === null && (opened[1] as TLSSocket).alpnProtocol === 'h2'
      callback(...opened)
    })
  }
  const endNegotiation = () => {
    negotiation?.resolve()
    negotiation = undefined
  }
  const watch = (one: Client | Pool) => {
    one.on('connectionError', onFailed)
    one.on('disconnect', () => {
      onClosed({ isHttp2 })
    })
  }
  const first = new Client(origin, { ...options, connect: noting })
  first.on('connect', endNegotiation).on('connectionError', endNegotiation)
  watch(first)
  let others: Pool | undefined
  const openOthers = (): Pool => {
    const pool = new Pool(origin, { ...options, connections: most - 1, connect: noting })
    watch(pool)
    return pool
  }
  const all = () => (others ? [first, others] : [first])
  const isFree = () => most === 1 || isHttp2 || first.stats.size === 0
  const negotiated = () => negotiation?.promise
  return {
    first,
    get others() {
      return others
    },
    negotiated,
    dispatch: (request, handler) => {
      if (!isFree()) return (others ??= openOthers()).dispatch(request, handler)
      const mayTakeMore = first.dispatch(request, handler)
      if (options.allowH2 === true && most > 1 && !first.stats.connected) negotiation ??= Promise.withResolvers()
      return mayTakeMore
    },
    isConnected: () => first.stats.connected || (others?.stats.connected ?? 0) > 0,
    isClosed: () => isClosed,
    close: async () => {
      isClosed = true
      for (let pending = negotiated(); pending; pending = negotiated()) await pending
      await Promise.all(all().map((one) => one.close()))
    },
    destroy: () => {
      isClosed = true
      endNegotiation()
      return Promise.all(all().map((one) => one.destroy()))
    },
  }
}
