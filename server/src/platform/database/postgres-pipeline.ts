/**
 * A connection of its own, past the pool, for the few statements that every call needs. Each is sent without waiting
 * for the answers to those before it. Where the connection is not there it is made anew, and the pool serves meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Client, ClientConfig, QueryConfig } from 'pg'
import { isSessionFault, isTimeout } from './failures.ts'
import { destroy } from './postgres-pool.ts'

export interface Pipeline {
  /** Undefined where it is not connected at the moment. */
  open: () => OpenPipeline | undefined
  close: () => Promise<void>
}

export interface OpenPipeline {
  /** Of this connection among those that the line has had. */
  number: number
  run: (query: QueryConfig) => Promise<object[]>
}

/** A server that is down is asked now and then, not by every call. */
const pauseMs = 500
/** How long a server may take to notice that we go. */
const goodbyeMs = 1_000

/**
 * `settings` is what each connection begins with. A pooler may pass them on only if it works by session. `onSilence` is
 * called where no answer came in time.
 */
export function createPipeline(options: ClientConfig, settings: string, onSilence: () => void): Pipeline {
  let line: OpenPipeline | undefined
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
    const made = new pg.Client({ ...options, pipeline: true })
    client = made
    const lost = () => {
      if (client === made) line = client = undefined
    }
    // Without a listener an error would end the process.
    made.on('error', lost)
    made.on('end', lost)
    try {
      await made.connect()
      await made.query(settings)
      if (client !== made) return
      line = { number: ++number, run: (query) => run(made, query, lost) }
    } catch {
      failedAt = performance.now()
      lost()
      destroy(made)
    } finally {
      connecting = undefined
    }
  }

  return {
    open: () => {
      if (!line && !isClosed && performance.now() - failedAt > pauseMs) connecting ??= connect()
      return line
    },
    close: async () => {
      isClosed = true
      await connecting
      const last = client
      line = client = undefined
      if (!last) return
      await Promise.race([last.end(), sleep(goodbyeMs, undefined, { ref: false })])
      destroy(last)
    },
  }
}
