/**
 * Connection pools: requests share sockets only with the same origin, supplier and pool name. So an upstream that mixes up
 * responses can't leak one account's to another, and a stranger's request never uses a socket that was opened under the
 * operator's wider rules. Empty pools are removed; the number of sockets is limited per pool and in total.
 */
import type { TLSSocket } from 'node:tls'
import { Pool } from 'undici'
import { createSemaphore } from '../limits/semaphore.ts'
import { createConnectors } from './connector.ts'
import type { Protocol } from './connector.ts'
import type { Destinations, SuppliedBy } from './destinations.ts'
import type { Lookup } from './resolver.ts'

interface PoolKey {
  origin: string
  suppliedBy: SuppliedBy
  protocol: Protocol
  /** The pool's name; '' for requests that belong to no account. */
  name: string
}

export interface SharedSockets {
  pool: Pool
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
    ...{ allowH2: true, connections: 1, maxHeaderSize: 32_768 },
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
  connectMs: number
  bounds: PoolBounds
}) {
  const { bounds } = needs
  const standing = new Map<string, SharedSockets>()
  /** Removed pools that still have sockets. */
  const ending = new Set<Pool>()

  const end = (key: string, shared: SharedSockets) => {
    if (standing.get(key) === shared) standing.delete(key)
    const { pool } = shared
    if (pool.closed || pool.destroyed) return
    ending.add(pool)
    void pool.close().finally(() => ending.delete(pool))
  }
  let uses = 0
  /** Closes the least recently used idle pool. Searching for it is fine, because it is rarely needed. */
  const closeIdlePool = () => {
    let found: [string, SharedSockets] | undefined
    for (const one of standing) {
      const [, { inFlight, lastUse }] = one
      if (inFlight === 0 && lastUse < (found?.[1].lastUse ?? Infinity)) found = one
    }
    if (found) end(...found)
  }
  const sockets = createSemaphore(bounds.maxSockets)
  /** Resolves once another socket may be opened, to a function to call when it is closed. */
  const takeSocket = (signal: AbortSignal): Promise<() => void> => {
    if (sockets.taken() === bounds.maxSockets) closeIdlePool()
    return sockets.acquire({ signal })
  }
  const connectors = createConnectors({ ...needs, takeSocket })

  const open = (key: string, { origin, suppliedBy, protocol, name }: PoolKey): SharedSockets => {
    const asker = name === '' ? suppliedBy : `account ${name}`
    const connect = connectors.connector(suppliedBy, asker, protocol)
    let isHttp2 = false
    const noting: typeof connect = (options, callback) => {
      connect(options, (...opened) => {
        isHttp2 = opened[0] === null && (opened[1] as TLSSocket).alpnProtocol === 'h2'
        callback(...opened)
      })
    }
    const pool = new Pool(origin, { connections: bounds.maxSocketsPerPool, ...optionsOf[protocol], connect: noting })
    shrinkQueue(pool)
    const endIfUnused = () => {
      if (shared.inFlight > 0 || pool.closed || pool.destroyed) return
      if (sockets.waiting() > 0 || pool.stats.connected === 0) end(key, shared)
    }
    const shared: SharedSockets = {
      ...{ pool, inFlight: 0, lastUse: 0 },
      leave: () => {
        shared.inFlight--
        // After a failure there may be no socket, and so no `disconnect` event.
        endIfUnused()
      },
      retire: () => {
        end(key, shared)
      },
    }
    pool.on('connectionError', endIfUnused).on('disconnect', () => {
      // The HTTP/2 session accepts no more requests: undici would make the next call wait for those in flight.
      if (isHttp2) end(key, shared)
      else endIfUnused()
    })
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
    size: () => ({ pools: standing.size, sockets: sockets.taken() }),
    close: async () => {
      connectors.stop()
      const pools = [...[...standing.values()].map(({ pool }) => pool), ...ending]
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}

/**
 * undici's queue of waiting requests starts with an array of 2,048 elements: 16 KB for each account, rarely used. Replaced
 * by an array that grows. `pools.test.ts` fails if a release of undici changes what this relies on.
 */
function shrinkQueue(pool: Pool): void {
  for (const name of Object.getOwnPropertySymbols(pool)) {
    if (name.description !== 'queue') continue
    const queue = (pool as unknown as Record<symbol, { head: { list: unknown[] } }>)[name]
    if (queue) queue.head.list = []
  }
}
