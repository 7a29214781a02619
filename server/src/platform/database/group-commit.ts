/**
 * Many small entries in one commit. A commit that is on disk costs the same for one as for fifty, so those that come at
 * about the same time share it; nobody waits for company that does not come.
 */
import { Busy } from '../limits/admission.ts'
import type { Database, Queries } from './database.ts'
import { isUnavailable } from './failures.ts'
import { isTickBatchingIdle } from '../event-loop/tick-batching.ts'

export interface GroupCommit<Entry> {
  /** Resolves once the entry is on disk, or rejects with what it was refused for. */
  commit: (entry: Entry) => Promise<void>
  /** The same, but goes with the next commit that somebody waits for, or after a moment. */
  commitLater: (entry: Entry) => Promise<void>
  /** Resolves once all that was handed in so far is on disk, or has failed. */
  flush: () => Promise<void>
}

/**
 * Writes entries that came at about the same time. A refusal is one entry's own affair and leaves the others alone: it
 * stands in that entry's place in what is returned, and what was written for it is not undone.
 */
export type WriteBatch<Entry> = (tx: Queries, entries: readonly Entry[]) => Promise<Refusals>
export type Refusals = readonly (Error | undefined)[]

interface GroupOptions<Entry> {
  /** All of them, the short way. Undefined where that could not be: then nothing was written. Rejects where nobody knows. */
  fastWrite?: ((entries: readonly Entry[]) => Promise<Refusals | undefined>) | undefined
  /** Of what is written twice, where nobody knows whether it was written, nothing worse comes. */
  mayRepeat: (entry: Entry) => boolean
}

interface Waiting<Entry> {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

const maxTogether = 64
const laterMs = 20
/** Turns of the event loop become long when there is much to do, so it is time that bounds the wait for more entries. */
const mostGatherMs = 2
/** So many in a row have to bring nobody new. */
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
  /** How many are waited for, and whether it was more than one the last time. */
  let urgent = 0
  let isSwarming = false

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
      // Each by itself would only make it busier.
      if (some.length === 1 || error instanceof Busy) {
        for (const { reject } of some) reject(error)
        return
      }
      // One of them may be the cause: none has to suffer for another's sake. But what may be there already is not
      // written again: whoever waits for it is told that it failed.
      isUncertain ||= isUnavailable(error)
      for (const one of some) {
        if (isUncertain && !mayRepeat(one.entry)) one.reject(error)
        else await commitBatch([one])
      }
    }
  }
  const run = async () => {
    while (waiting.length > 0) {
      const some = waiting.slice(0, maxTogether)
      waiting = waiting.slice(maxTogether)
      if (urgent > 0) isSwarming = urgent > 1
      urgent = 0
      await commitBatch(some)
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
  /** Calls tend to come in swarms, whose last are not far behind. */
  const gather = (deadline: number, known = waiting.length, turns = 1, quiet = 0) => {
    setImmediate(() => {
      const stillQuiet = waiting.length > known ? 0 : quiet + 1
      const isLate = turns >= quietTurns && performance.now() >= deadline
      if (stillQuiet === quietTurns || isLate || waiting.length >= maxTogether) start()
      else gather(deadline, waiting.length, turns + 1, stillQuiet)
    })
  }
  const hurry = () => {
    if (isScheduled || current) return
    isScheduled = true
    if (isSwarming) gather(performance.now() + mostGatherMs)
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
      hurry()
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
