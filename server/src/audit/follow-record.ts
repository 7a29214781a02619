/**
 * Polls for new records. Each record is returned once and none is skipped: on PostgreSQL a sequence number is taken
 * before the commit, so a smaller one can appear after a larger one. Missing numbers are looked for again until their
 * transactions must have ended.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { AuditTailStore } from './audit-tail-store.ts'

/** Reads records of one kind by their sequence numbers. */
type Tail<T> = {
  [name in 'listAfter' | 'listThese']: (...args: Parameters<AuditTailStore[name]>) => Promise<T[]>
} & Pick<AuditTailStore, 'lastSequence'>

interface FollowNeeds<T> {
  database: Database
  auditTail: Tail<T>
  clock: Clock
}

export interface RecordFollower<T> {
  /** Begins with the current end of the log. */
  start: () => Promise<void>
  /** Begins after that record. */
  startAfter: (sequence: number) => void
  /** The records since the last call, or `too_much` if there are too many to read. */
  next: () => Promise<T[] | 'too_much'>
  /** The next records, however many there are. */
  nextPage: () => Promise<T[]>
  /** All records up to this one have been returned. Later ones may have been, too. */
  settled: () => number
}

/** Read by one step. */
const maxRecords = 2_000
const maxMissing = 500
/** Numbers taken before the start may be committed after it. */
const lookBack = 200
/** The database ends an idle transaction after 30 seconds. */
const patienceMs = 35_000

export function createRecordFollower<T extends { sequence: number }>({
  database,
  auditTail,
  clock,
}: FollowNeeds<T>): RecordFollower<T> {
  const { queries } = database
  let last = 0
  /** With the time when each was first missed. */
  let missing = new Map<number, number>()

  const step = async ({ skipsMany }: { skipsMany: boolean }): Promise<T[] | 'too_much'> => {
    const now = clock().getTime()
    const late = missing.size === 0 ? [] : await auditTail.listThese(queries, [...missing.keys()])
    for (const { sequence } of late) missing.delete(sequence)
    for (const [sequence, since] of missing) if (now - since > patienceMs) missing.delete(sequence)
    const came = await auditTail.listAfter(queries, last, maxRecords + 1)
    if (!skipsMany) came.splice(maxRecords)
    else if (came.length > maxRecords) {
      last = await auditTail.lastSequence(queries)
      return 'too_much'
    }
    for (const { sequence } of came) {
      // A database may skip thousands of numbers. Only the newest can belong to open transactions.
      const from = Math.max(last + 1, sequence - maxMissing)
      for (let skipped = from; skipped < sequence; skipped++) missing.set(skipped, now)
      last = sequence
    }
    if (missing.size > maxMissing) missing = new Map([...missing].slice(-maxMissing))
    return [...late, ...came]
  }

  return {
    start: async () => {
      missing = new Map()
      last = Math.max(0, (await auditTail.lastSequence(queries)) - lookBack)
      await step({ skipsMany: true })
    },
    startAfter: (sequence) => {
      missing = new Map()
      last = sequence
    },
    next: () => step({ skipsMany: true }),
    nextPage: async () => {
      const came = await step({ skipsMany: false })
      return came === 'too_much' ? [] : came
    },
    settled: () => Math.min(last, ...[...missing.keys()].map((sequence) => sequence - 1)),
  }
}
