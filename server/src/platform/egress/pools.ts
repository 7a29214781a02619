/**
 * Connection pools: requests share sockets only with the same origin, supplier and pool name. So an upstream that mixes up
 * responses can't leak one account's to another, and a stranger's request never uses a socket that was opened under the
 * operator's wider rules. Empty pools are removed; the number of sockets is limited per pool and in total.
 */
import type { Dispatcher } from 'undici'
import { createSemaphore } from '../limits/semaphore.ts'
import { createConnectors } from './connector.ts'
import type { Protocol } from './connector.ts'
import type { Destinations, SuppliedBy } from './destinations.ts'
import type { EgressProxy } from './egress-proxy.ts'
import type { Lookup } from './resolver.ts'
import { openSockets } from './sockets.ts'
import type { Sockets } from './sockets.ts'

interface PoolKey {
  origin: string
  suppliedBy: SuppliedBy
  protocol: Protocol
  /** The pool's name; '' for requests that belong to no account. */
  name: string
}

export interface SharedSockets {
  dispatch: Dispatcher['dispatch']
  /** Set while a call has to wait before it is dispatched. */
  negotiated: Sockets['negotiated']
  /** Calls in flight. */
  inFlight: number
  /** A counter: higher is more recent. */
  lastUse: number
  /** A call has ended. */
  leave: () => void
  /** The next call gets new sockets; calls in flight continue on the old ones. */
  retire: () => void
}

export interface PoolBounds {
  /** Per pool and origin. */
  maxSocketsPerPool: number
  maxSockets: number
}

const common = {
  pipelining: 1,
  maxHeaderSize: 32_768,
  keepAliveMaxTimeout: 60_000,
  // exchange.ts has its own timeouts.
  headersTimeout: 0,
  bodyTimeout: 0,
}

const optionsOf = {
  'http/1.1': { ...common, allowH2: false },
  // A new connection costs more than 20 calls on an open one. The server's own keep-alive hint has precedence.
  either: { ...common, allowH2: true, keepAliveTimeout: 30_000 },
  h2: {
    ...{ allowH2: true, maxHeaderSize: 32_768 },
    // Keeps idle connections for an hour, with a ping every minute.
    ...{ keepAliveTimeout: 3_600_000, h2Options: { pingInterval: 60_000 } },
    // Shorter than the timeouts of exchange.ts: undici then checks the connection and opens another if it is dead.
    ...{ headersTimeout: 10_000, bodyTimeout: 10_000 },
  },
}

export function createPools(needs: {
  destinations: Destinations
  lookup: Lookup
  ca: string | undefined
  proxy?: EgressProxy | undefined
  connectMs: number
  bounds: PoolBounds
}) {
  const { bounds } = needs
  const standing = new Map<string, Shared>()
  /** Removed pools that still have sockets. */
  const ending = new Set<Sockets>()

  const end = (key: string, shared: Shared) => {
    if (standing.get(key) === shared) standing.delete(key)
    const { sockets } = shared
    if (sockets.isClosed()) return
    ending.add(sockets)
    void sockets.close().finally(() => ending.delete(sockets))
  }
  let uses = 0
  /** Closes the least recently used idle pool. Searching for it is fine, because it is rarely needed. */
  const closeIdlePool = () => {
    let found: [string, Shared] | undefined
    for (const one of standing) {
      const [, { inFlight, lastUse }] = one
      if (inFlight === 0 && lastUse < (found?.[1].lastUse ?? Infinity)) found = one
    }
    if (found) end(...found)
  }
  const total = createSemaphore(bounds.maxSockets)
  /** Resolves once another socket may be opened, to a function to call when it is closed. */
  const takeSocket = (signal: AbortSignal): Promise<() => void> => {
    if (total.taken() === bounds.maxSockets) closeIdlePool()
    return total.acquire({ signal })
  }
  const connectors = createConnectors({ ...needs, takeSocket })

  const open = (key: string, { origin, suppliedBy, protocol, name }: PoolKey): Shared => {
    const asker = name === '' ? suppliedBy : `account ${name}`
    const connect = connectors.connector(suppliedBy, asker, protocol)
    const endIfUnused = () => {
      if (shared.inFlight > 0 || sockets.isClosed()) return
      if (total.waiting() > 0 || !sockets.isConnected()) end(key, shared)
    }
    const sockets = openSockets({
      origin,
      connect,
      options: optionsOf[protocol],
      most: protocol === 'h2' ? 1 : bounds.maxSocketsPerPool,
      onFailed: endIfUnused,
      onClosed: ({ isHttp2 }) => {
        // An HTTP/2 session accepts no more requests: undici would make the next call wait for those in flight.
        if (isHttp2) end(key, shared)
        else endIfUnused()
      },
    })
    const shared: Shared = {
      ...{ sockets, dispatch: sockets.dispatch, negotiated: sockets.negotiated, inFlight: 0, lastUse: 0 },
      leave: () => {
        shared.inFlight--
        // After a failure there may be no socket, and so no `disconnect` event.
        endIfUnused()
      },
      retire: () => {
        end(key, shared)
      },
    }
    standing.set(key, shared)
    return shared
  }

  return {
    enter: (one: PoolKey): SharedSockets => {
      const key = `${one.suppliedBy} ${one.protocol} ${one.origin} ${one.name}`
      const shared = standing.get(key) ?? open(key, one)
      shared.inFlight++
      shared.lastUse = ++uses
      return shared
    },
    size: () => ({ pools: standing.size, sockets: total.taken() }),
    close: async () => {
      connectors.stop()
      const all = [...[...standing.values()].map(({ sockets }) => sockets), ...ending]
      await Promise.all(all.map((sockets) => sockets.destroy()))
    },
  }
}

type Shared = SharedSockets & { sockets: Sockets }
