/**
 * Who shares a socket with whom: requests to one origin, of one supplier, of one pool, and nobody else. So an upstream
 * that mixes up its answers can not hand one connection's to another, and a stranger never rides on a socket that was
 * opened under the operator's wider rule. A pool without a socket is forgotten; a bound holds for each and for all.
 */
import type { TLSSocket } from 'node:tls'
import { Pool } from 'undici'
import type { AllowList, SuppliedBy } from './allow-list.ts'
import { createConnector } from './connector.ts'
import type { Lookup } from './resolver.ts'
import { createSockets } from './sockets.ts'
import type { Trust } from './trust.ts'

/** `either` takes HTTP/2 where the server offers it. */
export type Protocol = 'http/1.1' | 'h2' | 'either'

export interface Place {
  origin: string
  suppliedBy: SuppliedBy
  protocol: Protocol
  /** The pool's name; '' for requests that belong to nobody in particular. */
  name: string
}

export interface SharedSockets {
  pool: Pool
  /** Calls that were begun and have not ended. */
  inFlight: number
  /** The higher, the later it was. */
  lastUse: number
  /** One call of it came to its end. */
  leave: () => void
  /** The next call gets other sockets; those under way end as they would have. */
  retire: () => void
}

export interface Pools {
  enter: (place: Place) => SharedSockets
  size: () => { pools: number; sockets: number }
  close: () => Promise<void>
}

export interface PoolBounds {
  /** Of one pool to one origin. */
  maxSocketsPerPool: number
  maxSockets: number
}

const common = {
  pipelining: 1,
  maxHeaderSize: 32_768,
  keepAliveMaxTimeout: 60_000,
  // The exchange has its own clocks.
  headersTimeout: 0,
  bodyTimeout: 0,
}

const optionsOf = {
  'http/1.1': { ...common, allowH2: false },
  // A new connection costs more than twenty calls on one that stands. What the server says about its own end goes first.
  either: { ...common, allowH2: true, keepAliveTimeout: 30_000 },
  h2: {
    ...{ allowH2: true, connections: 1, maxHeaderSize: 32_768 },
    // An hour; idle connections are asked every minute whether they still stand.
    ...{ keepAliveTimeout: 3_600_000, h2Options: { pingInterval: 60_000 } },
    // Sooner than the exchange's own: undici then asks whether the connection stands, and opens another where not.
    ...{ headersTimeout: 10_000, bodyTimeout: 10_000 },
  },
}

export function createPools(needs: {
  list: AllowList
  lookup: Lookup
  trust: Trust
  connectMs: number
  bounds: PoolBounds
}): Pools {
  const { bounds } = needs
  const standing = new Map<string, SharedSockets>()
  /** Forgotten, but not yet without a socket. */
  const ending = new Set<Pool>()

  const end = (key: string, shared: SharedSockets) => {
    if (standing.get(key) === shared) standing.delete(key)
    const { pool } = shared
    if (pool.closed || pool.destroyed) return
    ending.add(pool)
    void pool.close().finally(() => ending.delete(pool))
  }
  let uses = 0
  /** The one whose last use is the longest ago. To be found when it is asked for: that is seldom, and calls are not. */
  const letOneGo = () => {
    let found: [string, SharedSockets] | undefined
    for (const one of standing) {
      const [, { inFlight, lastUse }] = one
      if (inFlight === 0 && lastUse < (found?.[1].lastUse ?? Infinity)) found = one
    }
    if (found) end(...found)
  }
  const sockets = createSockets(bounds.maxSockets, letOneGo)
  const connectorFor = (suppliedBy: SuppliedBy, protocol: Protocol) =>
    createConnector({ ...needs, suppliedBy, protocol, sockets })
  const perProtocol = (suppliedBy: SuppliedBy) => ({
    'http/1.1': connectorFor(suppliedBy, 'http/1.1'),
    either: connectorFor(suppliedBy, 'either'),
    h2: connectorFor(suppliedBy, 'h2'),
  })
  const connectors = { operator: perProtocol('operator'), stranger: perProtocol('stranger') }

  const open = (key: string, { origin, suppliedBy, protocol }: Place): SharedSockets => {
    const { connect } = connectors[suppliedBy][protocol]
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
      if (sockets.isShort() || pool.stats.connected === 0) end(key, shared)
    }
    const shared: SharedSockets = {
      ...{ pool, inFlight: 0, lastUse: 0 },
      leave: () => {
        shared.inFlight--
        // After a failure there may be no socket whose end would tell.
        endIfUnused()
      },
      retire: () => {
        end(key, shared)
      },
    }
    pool.on('connectionError', endIfUnused).on('disconnect', () => {
      // A session that takes nothing more: undici would let the next call wait for those that are still under way.
      if (isHttp2) end(key, shared)
      else endIfUnused()
    })
    standing.set(key, shared)
    return shared
  }

  return {
    enter: (place) => {
      const key = `${place.suppliedBy} ${place.protocol} ${place.origin} ${place.name}`
      const shared = standing.get(key) ?? open(key, place)
      shared.inFlight++
      shared.lastUse = ++uses
      return shared
    },
    size: () => ({ pools: standing.size, sockets: sockets.count() }),
    close: async () => {
      for (const group of Object.values(connectors)) {
        for (const connector of Object.values(group)) connector.stop()
      }
      const pools = [...[...standing.values()].map(({ pool }) => pool), ...ending]
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}

/**
 * A pool's queue of waiting requests starts with an array of 2,048 places, 16 KB for each account, and is seldom used: it
 * now grows as it fills. `pools.test.ts` fails where an undici release has changed what this relies on.
 */
function shrinkQueue(pool: Pool): void {
  for (const name of Object.getOwnPropertySymbols(pool)) {
    if (name.description !== 'queue') continue
    const queue = (pool as unknown as Record<symbol, { head: { list: unknown[] } }>)[name]
    if (queue) queue.head.list = []
  }
}
