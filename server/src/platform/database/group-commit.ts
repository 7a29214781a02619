/**
 * Group commit: entries that arrive at about the same time share one commit, because a durable commit costs the same for
 * one entry as for fifty. A single entry is not delayed.
 */
import { Busy } from '../limits/semaphore.ts'
import type { Database, Queries } from './database.ts'
import { isUnavailable } from './failures.ts'
import { isTickBatchingIdle } from '../event-loop/tick-batching.ts'

export interface GroupCommit<Entry> {
  /** Resolves once the entry is on disk; rejects if it was refused. */
  commit: (entry: Entry) => Promise<void>
  /** The same without hurry: joins the next commit, or commits after a few milliseconds. */
  commitLater: (entry: Entry) => Promise<void>
  /** Resolves once all entries so far are on disk or have failed. */
  flush: () => Promise<void>
}

/**
 * Writes a batch of entries. The result has an error at the index of each entry that is refused. A refusal does not affect
 * the other entries, and what was written for the refused one is not rolled back.
 */
export type WriteBatch<Entry> = (tx: Queries, entries: readonly Entry[]) => Promise<Refusals>
export type Refusals = readonly (Error | undefined)[]

interface GroupOptions<Entry> {
  /** The fast path. Resolves to undefined if it could not be taken and nothing was written; rejects if that is unknown. */
  fastWrite?: ((entries: readonly Entry[]) => Promise<Refusals | undefined>) | undefined
  /** Writing the entry is idempotent: after a commit with an unknown result it may be written again. */
  mayRepeat: (entry: Entry) => boolean
}

interface Waiting<Entry> {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

const maxBatch = 64
const laterMs = 20
/** How long to wait for more entries. A time, because turns of the event loop get long under load. */
const mostGatherMs = 2
/** Stop waiting after this many turns without a new entry. */
const quietTurns = 2

export function createGroupCommit<Entry>(
  database: Database,
  write: WriteBatch<Entry>,
  { fastWrite = () => Promise.resolve(undefined), mayRepeat }: GroupOptions<Entry>,
): GroupCommit<Entry> {
  let waiting: Waiting<Entry>[] = []
  let isScheduled = false
  let later: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined
  /** Entries that someone is waiting for, and whether the last batch had several. */
  let urgent = 0
  let hadSeveral = false

  const commitBatch = async (some: readonly Waiting<Entry>[]): Promise<void> => {
    let isUncertain = false
    try {
      const entries = some.map(({ entry }) => entry)
      const written = await fastWrite(entries).catch((error: unknown) => {
        isUncertain = true
        throw error
      })
      const refusals = written ?? (await database.transaction((tx) => write(tx, entries), { isUrgent: true }))
      some.forEach(({ resolve, reject }, index) => {
        const refusal = refusals[index]
        if (refusal) reject(refusal)
        else resolve()
      })
    } catch (error) {
      // Writing each entry by itself would only add load.
      if (some.length === 1 || error instanceof Busy) {
        for (const { reject } of some) reject(error)
        return
      }
      // One entry may be the cause, so each is tried by itself. An entry that may have been written already, and is not
      // idempotent, is not written again: it fails.
      isUncertain ||= isUnavailable(error)
      for (const one of some) {
        if (isUncertain && !mayRepeat(one.entry)) one.reject(error)
        else await commitBatch([one])
      }
    }
  }
  const run = async () => {
    while (waiting.length > 0) {
      const some = waiting.slice(0, maxBatch)
      waiting = waiting.slice(maxBatch)
      if (urgent > 0) hadSeveral = urgent > 1
      urgent = 0
      await commitBatch(some)
    }
    current = undefined
  }
  const start = () => {
    isScheduled = false
    clearTimeout(later)
    later = undefined
    // Another call may have started it already. An empty run would end before `current` is set, and then never be cleared.
    if (waiting.length > 0) current ??= run()
  }
  /** Calls tend to arrive in groups: wait a little for the rest of the group. */
  const gather = (deadline: number, known = waiting.length, turns = 1, quiet = 0) => {
    setImmediate(() => {
      const stillQuiet = waiting.length > known ? 0 : quiet + 1
      const isLate = turns >= quietTurns && performance.now() >= deadline
      if (stillQuiet === quietTurns || isLate || waiting.length >= maxBatch) start()
      else gather(deadline, waiting.length, turns + 1, stillQuiet)
    })
  }
  const startSoon = () => {
    if (isScheduled || current) return
    isScheduled = true
    if (hadSeveral) gather(performance.now() + mostGatherMs)
    else if (isTickBatchingIdle()) start()
    else process.nextTick(start)
  }
  const enter = (entry: Entry): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ entry, resolve, reject })
    })

  return {
    commit: (entry) => {
      const done = enter(entry)
      urgent++
      startSoon()
      return done
    },
    commitLater: (entry) => {
      const done = enter(entry)
      if (!isScheduled && !current) later ??= setTimeout(start, laterMs)
      return done
    },
    flush: async () => {
      start()
      await current
    },
  }
}
