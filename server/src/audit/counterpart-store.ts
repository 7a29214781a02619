/**
 * Those with whom an agent or a user has records, by the newest of them. To find that out takes a look into the index for
 * each; so for one who has many, the next page goes on from what the page before has found, and looks again only for
 * those whose newest record has been passed.
 */
import { inBatches, rowsPerBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { timeOf } from '../platform/ids.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { auditPairStore } from './audit-pair-store.ts'
import { idSlackMs } from './audit-record.ts'

export interface Counterpart {
  id: string
  /** Of the records with it below where one reads, the newest. */
  newest: string
}

export interface Counterparts {
  /** The one with the newest record first. */
  found: Counterpart[]
  /** How many were looked up in the index. */
  looked: number
}

interface Party {
  own: 'agent_id' | 'user_id'
  id: string
}

interface Kept {
  before: string
  found: Counterpart[]
}

/** Fewer than this are looked up as quickly as they are remembered; more would take too much memory. */
const worthKeeping = { least: 200, most: 20_000 }
const mostParties = 4
const memoriesOf = new WeakMap<Queries, Map<string, Kept>>()

export async function counterpartsOf(
  queries: Queries,
  party: Party,
  before: string | undefined,
): Promise<Counterparts> {
  const memory = memoryOf(queries)
  const known = memory.get(party.id)
  memory.delete(party.id)
  const canGoOn = known !== undefined && before !== undefined && before <= known.before
  const result = canGoOn ? await goOn(queries, party, known, before) : await lookUpAll(queries, party, before)
  if (before === undefined || !isWorthKeeping(result.found)) return result
  if (canGoOn || (await isSettledBelow(queries, before))) {
    memory.set(party.id, { before, found: result.found })
    const [oldest] = memory.keys()
    if (memory.size > mostParties && oldest !== undefined) memory.delete(oldest)
  }
  return result
}

function memoryOf(queries: Queries): Map<string, Kept> {
  const known = memoriesOf.get(queries)
  if (known) return known
  const memory = new Map<string, Kept>()
  memoriesOf.set(queries, memory)
  return memory
}

function isWorthKeeping({ length }: readonly Counterpart[]): boolean {
  return length >= worthKeeping.least && length <= worthKeeping.most
}

/** No record that is yet to be committed belongs there: what is kept would not know of it. */
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

async function goOn(queries: Queries, { own, id }: Party, kept: Kept, before: string): Promise<Counterparts> {
  const below = kept.found.findIndex(({ newest }) => newest < before)
  const passed = below === -1 ? kept.found : kept.found.slice(0, below)
  let found = kept.found.slice(passed.length)
  for (let start = 0; start < passed.length; start += rowsPerBatch) {
    if (start > 0) await nextSlice()
    const ids = passed.slice(start, start + rowsPerBatch).map((counterpart) => counterpart.id)
    found = merged(found, inOrder(await auditPairStore.listCounterparts(queries, own, id, before, { ids })))
  }
  return { found, looked: passed.length }
}

/** Those that have any record there, the one with the newest first. */
function inOrder(rows: readonly { id: string; newest: string | null }[]): Counterpart[] {
  const found = rows.flatMap(({ id, newest }) => (newest === null ? [] : { id, newest }))
  return found.sort((one, other) => (one.newest < other.newest ? 1 : -1))
}

/** Both are in order. To sort all of them at once would take as long as several batches. */
function merged(one: readonly Counterpart[], other: readonly Counterpart[]): Counterpart[] {
  const all: Counterpart[] = []
  let index = 0
  for (const counterpart of one) {
    for (let next = other[index]; next && next.newest > counterpart.newest; next = other[++index]) all.push(next)
    all.push(counterpart)
  }
  return all.concat(other.slice(index))
}
