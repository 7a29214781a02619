/**
 * Follows the record as it grows, in steps. Each record is given out once, and none is passed over: on PostgreSQL a
 * number is taken before its commit, so that a smaller one can appear after a larger one. Numbers that are missing are
 * asked for again, until whoever took one can not be at it any more.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { AuditTailStore, TailRecord } from './audit-tail-store.ts'

interface FollowNeeds {
  database: Database
  auditTail: AuditTailStore
  clock: Clock
}

export interface RecordFollower {
  /** From here on. */
  start: () => Promise<void>
  /** What came since, or `too_much` to be read. */
  next: () => Promise<TailRecord[] | 'too_much'>
}

/** A step reads no more, whatever was written. */
const mostAtOnce = 2_000
const mostMissing = 500
/** What was taken before the start may be committed after it. */
const lookBack = 200
/** The database ends a transaction that stands still after 30 seconds. */
const patienceMs = 35_000

export function createRecordFollower({ database, auditTail, clock }: FollowNeeds): RecordFollower {
  const { queries } = database
  let last = 0
  /** Each with the time when it was missed. */
  let missing = new Map<number, number>()

  const step = async (): Promise<TailRecord[] | 'too_much'> => {
    const now = clock().getTime()
    const late = missing.size === 0 ? [] : await auditTail.listThese(queries, [...missing.keys()])
    for (const { sequence } of late) missing.delete(sequence)
    for (const [sequence, since] of missing) if (now - since > patienceMs) missing.delete(sequence)
    const came = await auditTail.listAfter(queries, last, mostAtOnce + 1)
    if (came.length > mostAtOnce) {
      last = await auditTail.lastSequence(queries)
      return 'too_much'
    }
    for (const { sequence } of came) {
      // A database may skip numbers by the thousand; only the newest can be of somebody who is still at it.
      const from = Math.max(last + 1, sequence - mostMissing)
      for (let skipped = from; skipped < sequence; skipped++) missing.set(skipped, now)
      last = sequence
    }
    if (missing.size > mostMissing) missing = new Map([...missing].slice(-mostMissing))
    return [...late, ...came]
  }

  return {
    start: async () => {
      missing = new Map()
      last = Math.max(0, (await auditTail.lastSequence(queries)) - lookBack)
      await step()
    },
    next: step,
  }
}
