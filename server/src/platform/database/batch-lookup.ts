/**
 * Batches look-ups of the same kind into one statement: those of the same tick, and those that arrive while a statement is
 * running. A single look-up is not delayed.
 */
import type { Queries } from './database.ts'

interface Waiting<Key, Result> {
  key: Key
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** The most look-ups in one statement. */
const maxBatch = 64

/** `find` returns one result for each key, in the same order. */
export function batchLookup<Key, Result>(
  find: (queries: Queries, keys: readonly Key[]) => Promise<readonly Result[]>,
): (queries: Queries, key: Key) => Promise<Result> {
  const queues = new WeakMap<Queries, Waiting<Key, Result>[]>()

  const serve = async (queries: Queries, queue: Waiting<Key, Result>[]) => {
    while (queue.length > 0) {
      const batch = queue.splice(0, maxBatch)
      try {
        const keys = batch.map(({ key }) => key)
        const results = await find(queries, keys)
        batch.forEach(({ resolve }, index) => {
          resolve(results[index] as Result)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(queries)
  }

  return (queries, key) =>
    new Promise((resolve, reject) => {
      const waiting = { key, resolve, reject }
      const queue = queues.get(queries)
      if (queue) {
        queue.push(waiting)
        return
      }
      const started = [waiting]
      queues.set(queries, started)
      process.nextTick(() => void serve(queries, started))
    })
}

/** For statements in which a key may occur only once: its second occurrence goes into the second group, and so on. */
export function groupsWithUniqueKeys<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const seen = new Map<string, number>()
  const groups: T[][] = []
  for (const item of items) {
    const key = keyOf(item)
    const index = seen.get(key) ?? 0
    seen.set(key, index + 1)
    ;(groups[index] ??= []).push(item)
  }
  return groups
}
