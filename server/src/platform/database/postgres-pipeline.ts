/**
 * A pipelined connection outside the pool, for the few statements that every call needs: each is sent without waiting for
 * the results of those before it. When the connection is lost it is opened again; the pool serves meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Client, ClientConfig, QueryConfig } from 'pg'
import { isSessionFault, isTimeout } from './failures.ts'
import { destroy } from './postgres-connection.ts'
import type { Primary } from './postgres-primary.ts'

export interface Pipeline {
  /** Undefined while it is not connected. */
  open: () => OpenPipeline | undefined
  /** Its connection leads to another server than new ones would. */
  drop: () => void
  close: () => Promise<void>
}

export interface OpenPipeline {
  /** Counts the connections that were opened, so that a new one can be told from the one before. */
  number: number
  run: (query: QueryConfig) => Promise<object[]>
}

/** How long to wait before connecting again after a failure. */
const pauseMs = 500
/** How long the server may take to close the connection. */
const goodbyeMs = 1_000

/** `settings` are SQL statements that each connection runs first. `onSilence` is called after a timeout. */
export function createPipeline(
  options: ClientConfig,
  primary: Primary,
  settings: string,
  onSilence: () => void,
): Pipeline {
  let pipeline: OpenPipeline | undefined
  let client: Client | undefined
  let connecting: Promise<void> | undefined
  let failedAt = -Infinity
  let isClosed = false
  let number = 0

  const run = async (on: Client, query: QueryConfig, lost: () => void): Promise<object[]> => {
    try {
      return (await on.query<object>(query)).rows
    } catch (error) {
      if (isTimeout(error)) onSilence()
      if (isSessionFault(error)) {
        lost()
        destroy(on)
      }
      throw error
    }
  }

  const connect = async () => {
    try {
      await primary.find()
      await connectTo(new pg.Client({ ...options, ...primary.options(), pipeline: true }))
    } catch {
      primary.doubt()
      failedAt = performance.now()
    } finally {
      connecting = undefined
    }
  }

  const connectTo = async (made: Client) => {
    client = made
    const lost = () => {
      primary.doubt()
      if (client === made) pipeline = client = undefined
    }
    // Without a listener, an error would end the process.
    made.on('error', lost)
    made.on('end', lost)
    try {
      await made.connect()
      await made.query(settings)
      if (client !== made) return
      pipeline = { number: ++number, run: (query) => run(made, query, lost) }
    } catch (error) {
      lost()
      destroy(made)
      throw error
    }
  }

  return {
    open: () => {
      if (!pipeline && !isClosed && performance.now() - failedAt > pauseMs) connecting ??= connect()
      return pipeline
    },
    drop: () => {
      const last = client
      pipeline = client = undefined
      if (last) destroy(last)
    },
    close: async () => {
      isClosed = true
      await connecting
      const last = client
      pipeline = client = undefined
      if (!last) return
      await Promise.race([last.end(), sleep(goodbyeMs, undefined, { ref: false })])
      destroy(last)
    },
  }
}
