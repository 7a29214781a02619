/**
 * The other sides of an agent's or a user's records, ordered by their newest common record. That takes one index
 * look-up for each, so if there are many the result is cached for the next page, which looks up only those whose newest
 * record is on the pages before.
 */
import { inBatches, rowsPerBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { timeOf } from '../platform/ids.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { auditPairStore } from './audit-pair-store.ts'
import { idSlackMs } from './audit-record.ts'

export interface Counterpart {
  id: string
  /** The newest common record below the cursor. */
  newest: string
}

export interface Counterparts {
  /** Newest record first. */
  found: Counterpart[]
  /** How many index look-ups it took. */
  looked: number
}

interface Party {
  own: 'agent_id' | 'user_id'
  id: string
}

interface Cached {
  before: string
  found: Counterpart[]
}

/** Fewer are looked up as quickly; more would take too much memory. */
const cachedCount = { least: 200, most: 20_000 }
const maxParties = 4
const cachesOf = new WeakMap<Queries, Map<string, Cached>>()

export async function counterpartsOf(
  queries: Queries,
  party: Party,
  before: string | undefined,
): Promise<Counterparts> {
  const cache = cacheOf(queries)
  const known = cache.get(party.id)
  cache.delete(party.id)
  const canContinue = known !== undefined && before !== undefined && before <= known.before
  const result = canContinue
    ? await continueFrom(queries, party, known, before)
    : await lookUpAll(queries, party, before)
  if (before === undefined || !isCacheable(result.found)) return result
  if (canContinue || (await isSettledBelow(queries, before))) {
    cache.set(party.id, { before, found: result.found })
    const [oldest] = cache.keys()
    if (cache.size > maxParties && oldest !== undefined) cache.delete(oldest)
  }
  return result
}

function cacheOf(queries: Queries): Map<string, Cached> {
  const known = cachesOf.get(queries)
  if (known) return known
  const cache = new Map<string, Cached>()
  cachesOf.set(queries, cache)
  return cache
}

function isCacheable({ length }: readonly Counterpart[]): boolean {
  return length >= cachedCount.least && length <= cachedCount.most
}

/** Whether no record that is yet to be committed can have an id below that: the cache would miss it. */
async function isSettledBelow(queries: Queries, before: string): Promise<boolean> {
  const newest = await auditPairStore.newestId(queries)
  return newest !== undefined && timeOf(before) < timeOf(newest) - idSlackMs
}

async function lookUpAll(queries: Queries, { own, id }: Party, before: string | undefined): Promise<Counterparts> {
  let found: Counterpart[] = []
  let looked = 0
  let after = ''
  await inBatches(async () => {
    const rows = await auditPairStore.listCounterparts(queries, own, id, before, { after })
    found = merged(found, inOrder(rows))
    looked += rows.length
    after = rows.at(-1)?.id ?? ''
    return rows.length < rowsPerBatch ? 'done' : 'more'
  })
  return { found, looked }
}

async function continueFrom(
  queries: Queries,
  { own, id }: Party,
  cached: Cached,
  before: string,
): Promise<Counterparts> {
  const below = cached.found.findIndex(({ newest }) => newest < before)
  const passed = below === -1 ? cached.found : cached.found.slice(0, below)
  let found = cached.found.slice(passed.length)
  for (let start = 0; start < passed.length; start += rowsPerBatch) {
    if (start > 0) await nextSlice()
    const ids = passed.slice(start, start + rowsPerBatch).map((counterpart) => counterpart.id)
    found = merged(found, inOrder(await auditPairStore.listCounterparts(queries, own, id, before, { ids })))
  }
  return { found, looked: passed.length }
}

/** Those with a record below the cursor, newest first. */
function inOrder(rows: readonly { id: string; newest: string | null }[]): Counterpart[] {
  const found = rows.flatMap(({ id, newest }) => (newest === null ? [] : { id, newest }))
  return found.sort((one, other) => (one.newest < other.newest ? 1 : -1))
}

/** Merges two sorted lists. Sorting all of them would block the event loop. */
function merged(one: readonly Counterpart[], other: readonly Counterpart[]): Counterpart[] {
  const all: Counterpart[] = []
  let index = 0
  for (const counterpart of one) {
    for (let next = other[index]; next && next.newest > counterpart.newest; next = other[++index]) all.push(next)
    all.push(counterpart)
  }
  return all.concat(other.slice(index))
}
