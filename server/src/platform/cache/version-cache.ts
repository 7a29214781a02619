/**
 * What was read is kept as long as nothing was written since, here or by another process: the engine says whether it
 * was. Where it can't say, or in a transaction, everything is read anew.
 */
import { setBounded } from './memoize.ts'
import { versionOf } from '../database/database.ts'
import type { Queries, Version } from '../database/database.ts'

interface Kept<Found> {
  version: Version
  found: Map<string, Found>
}

/** Returns at once where it is known. */
export type CachedFind<Found> = (queries: Queries, key: string) => Found | undefined | Promise<Found | undefined>

export function cacheByVersion<Found>(
  find: (queries: Queries, key: string) => Promise<Found | undefined>,
): CachedFind<Found> {
  const keptOf = new WeakMap<Queries, Kept<Found>>()
  const findAsOf = (queries: Queries, key: string, version: Version | undefined) => {
    if (version === undefined) return find(queries, key)
    let kept = keptOf.get(queries)
    if (kept?.version !== version) keptOf.set(queries, (kept = { version, found: new Map() }))
    return kept.found.get(key) ?? findAndKeep(queries, key, kept)
  }
  const findAndKeep = async (queries: Queries, key: string, kept: Kept<Found>) => {
    // It is as of that version or newer, and so it is at worst thrown away too early.
    const found = await find(queries, key)
    if (found !== undefined) setBounded(kept.found, key, found)
    return found
  }
  return (queries, key) => {
    const told = versionOf(queries)
    return typeof told === 'object'
      ? told.then((version) => findAsOf(queries, key, version))
      : findAsOf(queries, key, told)
  }
}
