/**
 * Many small works in one commit. A commit that is on disk costs the same for one as for fifty, so those that come at
 * about the same time share it; nobody waits for company that does not come.
 */
import { ServiceError } from '../errors.ts'
import type { Database, Queries } from './database.ts'

export interface GroupCommit {
  /**
   * Resolves once what the work wrote is on disk. A ServiceError that it throws is its own affair and leaves the others
   * alone: what it wrote before is not undone.
   */
  commit: <T>(work: (tx: Queries) => Promise<T>) => Promise<T>
  /** The same, but goes with the next commit that somebody waits for, or after a moment. */
  commitLater: <T>(work: (tx: Queries) => Promise<T>) => Promise<T>
  /** Resolves once all that was handed in so far is on disk, or has failed. */
  flush: () => Promise<void>
}

interface Entry {
  work: (tx: Queries) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

type Settlement = { value: unknown } | { refusal: ServiceError }

const maxTogether = 64
const laterMs = 20
const mostTurns = 4

export function createGroupCommit(database: Database): GroupCommit {
  let waiting: Entry[] = []
  let isScheduled = false
  let later: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined

  const run = async () => {
    while (waiting.length > 0) {
      const entries = waiting.slice(0, maxTogether)
      waiting = waiting.slice(maxTogether)
      await commitTogether(database, entries)
    }
    current = undefined
  }
  const start = () => {
    isScheduled = false
    clearTimeout(later)
    later = undefined
    // Somebody else may have been quicker. A run of nothing would be over before it is noted, and stay noted for good.
    if (waiting.length > 0) current ??= run()
  }
  /** Once a turn of the event loop has brought nobody new: calls tend to come in swarms. */
  const startAfter = (turns: number, known: number) => {
    setImmediate(() => {
      const isSwarming = waiting.length > known && waiting.length < maxTogether
      if (isSwarming && turns > 1) startAfter(turns - 1, waiting.length)
      else start()
    })
  }
  const hurry = () => {
    if (isScheduled || current) return
    isScheduled = true
    startAfter(mostTurns, waiting.length)
  }
  const enter = <T>(work: (tx: Queries) => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: resolve as Entry['resolve'], reject })
    })

  return {
    commit: (work) => {
      const done = enter(work)
      hurry()
      return done
    },
    commitLater: (work) => {
      const done = enter(work)
      if (!isScheduled && !current) later ??= setTimeout(start, laterMs)
      return done
    },
    flush: async () => {
      start()
      await current
    },
  }
}

async function commitTogether(database: Database, entries: Entry[]): Promise<void> {
  try {
    // At once, so that what all of them ask goes as one statement. None may still be at it when the transaction ends.
    const settled = await database.transaction(async (tx) => {
      const all = await Promise.allSettled(entries.map(({ work }) => settle(work, tx)))
      return all.map((one) => {
        if (one.status === 'rejected') throw one.reason
        return one.value
      })
    })
    entries.forEach(({ resolve, reject }, index) => {
      const one = settled[index]
      if (one && 'refusal' in one) reject(one.refusal)
      else resolve(one?.value)
    })
  } catch (error) {
    if (entries.length === 1) {
      entries[0]?.reject(error)
      return
    }
    // One of them may be the cause: none has to suffer for another's sake.
    for (const entry of entries) await commitTogether(database, [entry])
  }
}

async function settle(work: Entry['work'], tx: Queries): Promise<Settlement> {
  try {
    return { value: await work(tx) }
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error }
    throw error
  }
}
