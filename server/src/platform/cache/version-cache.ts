/**
 * Caches query results until anything that decides who may do what is written, by this process or another: the engine's
 * version tells. If the version is not known, or in a transaction, nothing is cached.
 */
import { setBounded } from './memoize.ts'
import { versionOf } from '../database/database.ts'
import type { Queries, Version } from '../database/database.ts'

/** The results that were found in one version of the database. */
interface Snapshot<Found> {
  version: Version
  found: Map<string, Found>
}

/** Returns a cached result without a promise. */
export type CachedFind<Found> = (queries: Queries, key: string) => Found | undefined | Promise<Found | undefined>

export function cacheByVersion<Found>(
  find: (queries: Queries, key: string) => Promise<Found | undefined>,
): CachedFind<Found> {
  const snapshots = new WeakMap<Queries, Snapshot<Found>>()
  const findIn = (queries: Queries, key: string, version: Version | undefined) => {
    if (version === undefined) return find(queries, key)
    let snapshot = snapshots.get(queries)
    if (snapshot?.version !== version) snapshots.set(queries, (snapshot = { version, found: new Map() }))
    return snapshot.found.get(key) ?? findAndCache(queries, key, snapshot)
  }
  const findAndCache = async (queries: Queries, key: string, snapshot: Snapshot<Found>) => {
    // The result may be newer than the version; then it is dropped earlier than needed.
    const found = await find(queries, key)
    if (found !== undefined) setBounded(snapshot.found, key, found)
    return found
  }
  return (queries, key) => {
    const told = versionOf(queries)
    return typeof told === 'object' ? told.then((version) => findIn(queries, key, version)) : findIn(queries, key, told)
  }
}
