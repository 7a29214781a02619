/**
 * The connection pool for Kysely. Waiting for a connection, opening one and running a statement have separate time limits.
 * A connection that may be broken is destroyed instead of being returned to the pool.
 */
import type { PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { ClientConfig, PoolClient, QueryConfig } from 'pg'
import { createSemaphore } from '../limits/semaphore.ts'
import type { QueueLimits } from '../limits/semaphore.ts'
import { isSessionFault, isTimeout } from './failures.ts'
import { destroy } from './postgres-connection.ts'
import type { Primary } from './postgres-primary.ts'
import { nameOf } from './prepared.ts'

export interface PoolFigures {
  used: number
  waiting: number
  size: number
}

export interface PoolOptions extends ClientConfig {
  /** SQL statements that each connection runs first. */
  settings?: string
}

export function createPool(options: PoolOptions, primary: Primary, size: number, limits: QueueLimits) {
  const { connectionTimeoutMillis = 0, settings, ...rest } = options
  // pg's pool would use this timeout for waiting in the queue as well; the queue is the semaphore's.
  class Client extends pg.Client {
    constructor(config?: ClientConfig) {
      super({ ...config, ...primary.options(), connectionTimeoutMillis })
    }
  }
  const onConnect = settings !== undefined && { onConnect: (client: pg.ClientBase) => client.query(settings) }
  const pool = new pg.Pool({ ...rest, ...onConnect, Client, max: size })
  const connections = createSemaphore(size, limits)
  const connectedAt = new Map<PoolClient, number>()
  let trustedSince = -Infinity
  const distrust = () => {
    trustedSince = performance.now()
  }

  // The pool replaces broken connections. Without a listener, the error would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => {
    connectedAt.set(client, performance.now())
    client.on('error', primary.doubt)
  })
  pool.on('remove', (client) => connectedAt.delete(client))

  /** pg's pool never answers callers that ask while it is ending. */
  const closed = Promise.withResolvers<never>()
  closed.promise.catch(() => undefined)
  const anyClient = (): Promise<PoolClient> => {
    const connecting = pool.connect()
    connecting.then(
      (client) => {
        if (pool.ending) client.release(true)
      },
      () => undefined,
    )
    return Promise.race([closed.promise, connecting])
  }

  const trustedClient = async (): Promise<PoolClient> => {
    for (;;) {
      await primary.find()
      const client = await anyClient()
      if (pool.ending) throw new Error('the database is not open')
      if ((connectedAt.get(client) ?? 0) > trustedSince) return client
      destroy(client)
      client.release(true)
    }
  }

  const connect = async (): Promise<PostgresPoolClient> => {
    const leave = await connections.acquire()
    try {
      return guarded(await trustedClient(), leave)
    } catch (error) {
      primary.doubt()
      leave()
      throw error
    }
  }

  const guarded = (client: PoolClient, leave: () => void): PostgresPoolClient => {
    let fault: Error | undefined
    const run = async (query: QueryConfig) => {
      // Don't wait for a broken connection again, not even to roll back.
      if (fault) throw fault
      try {
        return await client.query(query)
      } catch (error) {
        if (isTimeout(error)) distrust()
        if (isSessionFault(error)) {
          primary.doubt()
          fault = error as Error
          destroy(client)
        }
        throw error
      }
    }
    // Rows are never streamed, so this is always called with text.
    const query = (text: unknown, values: readonly unknown[] = []) => run(statement(String(text), values))
    return {
      query: query as never,
      release: (isBroken = false) => {
        client.release(isBroken || fault !== undefined)
        leave()
      },
    }
  }

  return {
    options: pool.options,
    connect,
    end: (): Promise<void> => {
      closed.reject(new Error('the database is not open'))
      return pool.end()
    },
    /** Connections in use, and how many callers wait for one. */
    figures: (): PoolFigures => ({ used: connections.taken(), waiting: connections.waiting(), size }),
    /** Connections that are open now are not used again: the server did not answer on one of them. */
    distrust,
    /** Aborts running queries. */
    destroyAll: () => {
      for (const client of connectedAt.keys()) destroy(client)
    },
  }
}

/** Statements with a name are parsed and planned once per connection. */
export function statement(text: string, given: readonly unknown[]): QueryConfig {
  const values = [...given]
  const name = nameOf(text)
  return name === undefined ? { text, values } : { name, text, values }
}
