/**
 * What was read is kept as long as nothing was written since, here or by another process: the engine says whether it
 * was. Where it can't say, or in a transaction, everything is read anew.
 */
import { versionOf } from './database.ts'
import type { Queries } from './database.ts'

const mostKept = 10_000

interface Kept<Found> {
  version: number
  found: Map<string, Found>
}

export function whileUnchanged<Found>(
  find: (queries: Queries, key: string) => Promise<Found | undefined>,
): (queries: Queries, key: string) => Promise<Found | undefined> {
  const keptOf = new WeakMap<Queries, Kept<Found>>()
  return async (queries, key) => {
    const version = versionOf(queries)
    if (version === undefined) return find(queries, key)
    let kept = keptOf.get(queries)
    if (kept?.version !== version || kept.found.size >= mostKept) {
      keptOf.set(queries, (kept = { version, found: new Map() }))
    }
    const known = kept.found.get(key)
    if (known !== undefined) return known
    const found = await find(queries, key)
    // Unless something was written while it was read.
    if (found !== undefined && versionOf(queries) === version) kept.found.set(key, found)
    return found
  }
}
