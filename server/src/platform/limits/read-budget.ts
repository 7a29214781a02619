/**
 * Limits what one caller's lists cost other callers of this process: how many rows are read for a caller per second, and
 * how many searches run concurrently. The searches themselves have to yield to the event loop between batches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import { nextSlice } from '../event-loop/time-slices.ts'

interface ReadBudgetNeeds {
  clock: Clock
  /** 0 for no limit. */
  rowsPerSecond: number
  /** Callers that anyone can create in any number. They have a queue of their own, so that nobody else waits for them. */
  isSelfRegistered: (caller: string) => boolean
}

/** How much may be read in a burst, as seconds of the usual rate. */
const burstSeconds = 10
const mostRunning = 2
const mostWaiting = 100
const mostWaitingPerCaller = 8
/** Beyond this many callers, those whose budget is full again are removed from memory. */
const maxCallers = 10_000

/** The operator has no limit. */
const unlimited = 'admin'

interface Queue {
  running: Set<string>
  waiting: { caller: string; start: () => void }[]
}

export type ReadBudget = ReturnType<typeof createReadBudget>

export function createReadBudget({ clock, rowsPerSecond, isSelfRegistered }: ReadBudgetNeeds) {
  /** When each caller's budget will be full again. */
  const fullAt = new Map<string, number>()
  const newQueue = (): Queue => ({ running: new Set(), waiting: [] })
  const queues = { selfRegistered: newQueue(), others: newQueue() }

  const waitMs = (caller: string): number =>
    rowsPerSecond === 0 ? 0 : (fullAt.get(caller) ?? 0) - clock().getTime() - burstSeconds * 1000

  const next = ({ running, waiting }: Queue) => {
    if (running.size >= mostRunning) return
    const index = waiting.findIndex(({ caller }) => !running.has(caller))
    const [first] = index === -1 ? [] : waiting.splice(index, 1)
    if (!first) return
    running.add(first.caller)
    first.start()
  }

  return {
    /** Throws `rate_limited` if the caller has used up its rows. */
    assertLeft: (caller: string): void => {
      const ms = waitMs(caller)
      if (ms > 0)
        throw tooMany(Math.ceil(ms / 1000), 'Too many rows were read for you. Wait for the time in Retry-After.')
    },
    /** For work that can wait: resolves once the caller may read more rows. */
    untilLeft: async (caller: string): Promise<void> => {
      const ms = waitMs(caller)
      if (ms > 0) await sleep(ms, undefined, { ref: false })
    },
    /** Counts rows after they were read, because their number is not known before. */
    spend: (caller: string, rows: number): void => {
      if (rowsPerSecond === 0 || caller === unlimited) return
      const now = clock().getTime()
      fullAt.set(caller, Math.max(fullAt.get(caller) ?? 0, now) + (rows * 1000) / rowsPerSecond)
      if (fullAt.size <= maxCallers) return
      for (const [known, full] of fullAt) if (full <= now) fullAt.delete(known)
    },
    /** Queues a search. Throws `rate_limited` if the queue is full. */
    inTurn: async <T>(caller: string, search: () => Promise<T>): Promise<T> => {
      const queue = isSelfRegistered(caller) ? queues.selfRegistered : queues.others
      const own = queue.waiting.filter((other) => other.caller === caller).length
      if (own >= mostWaitingPerCaller || queue.waiting.length >= mostWaiting) {
        throw tooMany(1, 'Too many searches are waiting. Wait for the time in Retry-After, then try again.')
      }
      await new Promise<void>((start) => {
        queue.waiting.push({ caller, start })
        next(queue)
      })
      try {
        return await search()
      } finally {
        // Yield first. Otherwise all queued searches would run in one turn of the event loop.
        if (queue.waiting.length > 0) await nextSlice()
        queue.running.delete(caller)
        next(queue)
      }
    },
  }
}

function tooMany(retryAfterSeconds: number, message: string): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, retryAfterSeconds), message })
}
