/**
 * Bounds what one caller's lists cost everybody else, in this process: how many rows are read for a caller a second, and
 * how many searches run at once. A search also runs in small pieces, between which other work has its turn; that is up to
 * whoever searches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import { nextSlice } from '../event-loop/time-slices.ts'

export interface ReadBudget {
  /** Throws where more rows were read for the caller than it may have read. */
  assertLeft: (caller: string) => void
  /** The same for what may take its time: resolves once the caller may read on. */
  untilLeft: (caller: string) => Promise<void>
  /** Counts rows after they were read: how many there will be is not known before. */
  spend: (caller: string, rows: number) => void
  /** Runs a search when it is the caller's turn. Throws where too many wait already. */
  inTurn: <T>(caller: string, search: () => Promise<T>) => Promise<T>
}

interface ReadBudgetNeeds {
  clock: Clock
  /** 0 for no limit. */
  rowsPerSecond: number
}

/** So much may be read at once, as seconds of the usual rate. */
const burstSeconds = 10
const mostRunning = 2
const mostWaiting = 100
const mostWaitingPerCaller = 8
/** Callers whose budget is full again are forgotten once so many are known. */
const mostRemembered = 10_000

/** Operators read as much as they like. */
const unlimited = 'admin'

interface Lane {
  running: Set<string>
  waiting: { caller: string; start: () => void }[]
}

export function createReadBudget({ clock, rowsPerSecond }: ReadBudgetNeeds): ReadBudget {
  /** When each caller's budget will be full again. */
  const fullAt = new Map<string, number>()
  // Agents, of which anybody can register any number, never hold up people.
  const lanes = { agents: newLane(), people: newLane() }

  const waitMs = (caller: string): number =>
    rowsPerSecond === 0 ? 0 : (fullAt.get(caller) ?? 0) - clock().getTime() - burstSeconds * 1000

  const next = ({ running, waiting }: Lane) => {
    if (running.size >= mostRunning) return
    const index = waiting.findIndex(({ caller }) => !running.has(caller))
    const [first] = index === -1 ? [] : waiting.splice(index, 1)
    if (!first) return
    running.add(first.caller)
    first.start()
  }

  return {
    assertLeft: (caller) => {
      const ms = waitMs(caller)
      if (ms > 0) throw tooMany(Math.ceil(ms / 1000), 'Too many rows were read for you. Wait as Retry-After says.')
    },
    untilLeft: async (caller) => {
      const ms = waitMs(caller)
      if (ms > 0) await sleep(ms, undefined, { ref: false })
    },
    spend: (caller, rows) => {
      if (rowsPerSecond === 0 || caller === unlimited) return
      const now = clock().getTime()
      fullAt.set(caller, Math.max(fullAt.get(caller) ?? 0, now) + (rows * 1000) / rowsPerSecond)
      if (fullAt.size <= mostRemembered) return
      for (const [known, full] of fullAt) if (full <= now) fullAt.delete(known)
    },
    inTurn: async (caller, search) => {
      const lane = caller.startsWith('agent ') ? lanes.agents : lanes.people
      const own = lane.waiting.filter((other) => other.caller === caller).length
      if (own >= mostWaitingPerCaller || lane.waiting.length >= mostWaiting) {
        throw tooMany(1, 'Too many searches are waiting. Wait as Retry-After says, then ask again.')
      }
      await new Promise<void>((start) => {
        lane.waiting.push({ caller, start })
        next(lane)
      })
      try {
        return await search()
      } finally {
        // Else those that wait would all run before the event loop turns.
        if (lane.waiting.length > 0) await nextSlice()
        lane.running.delete(caller)
        next(lane)
      }
    },
  }
}

function newLane(): Lane {
  return { running: new Set(), waiting: [] }
}

function tooMany(retryAfterSeconds: number, message: string): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, retryAfterSeconds), message })
}
