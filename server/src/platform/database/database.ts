import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely } from 'kysely'
import type { CompiledQuery, Dialect, Kysely as KyselyType } from 'kysely'
import { createActiveSet } from '../active-set.ts'
import { isRetryable } from './failures.ts'
import type { PoolFigures } from './postgres-pool.ts'
import type { HostState } from './postgres-primary.ts'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'

/** Runs queries: on the database itself, or in a transaction. */
export type Queries = KyselyType<Tables>

export interface Database {
  engine: Engine
  queries: Queries
  /** Atomic. It is retried after a serialization failure or deadlock, so `work` must do nothing but query. */
  transaction: <T>(work: (tx: Queries) => Promise<T>, options?: TransactionOptions) => Promise<T>
  /**
   * Runs one statement as its own transaction, on a pipelined connection (PostgreSQL). It fails rather than wait long for
   * a lock. Undefined if the engine has no such connection, or not at the moment.
   */
  runSingleStatement: RunDirectly
  /**
   * Runs several statements as one transaction without yielding (SQLite). Rejects with `RolledBack` if a statement that
   * must change a row changes none. On disk once `durable` resolves. Undefined as above.
   */
  runBatchTransaction: (statements: readonly BatchStatement[]) => Promise<void> | undefined
  /** Resolves once everything committed so far is on disk. Transactions and single statements wait for it themselves. */
  durable: () => Promise<void>
  /** Writes a row, on PostgreSQL on a connection of its own. Resolves to the newest migration that a version has to know. */
  probe: () => Promise<number>
  /** Rejects if a connection pooler shares one session among several clients. Undefined for SQLite. */
  assertOwnSessions?: () => Promise<void>
  /** Undefined for SQLite, which has no pool. */
  pool?: () => PoolFigures
  /** Asks each of several hosts. Undefined with one. */
  hosts?: () => Promise<HostState[]>
  /** The age of the oldest open transaction. */
  oldestTransactionMs: () => number
  close: () => Promise<void>
}

export interface TransactionOptions {
  /** Overtakes other waiting transactions on SQLite, which runs one at a time. For calls that someone is waiting for. */
  isUrgent?: boolean
}

/** Runs compiled statements directly on an engine, without Kysely's overhead. */
export interface Shortcut {
  /** For reads only. Doesn't see uncommitted writes. */
  read: RunDirectly
  inTransaction?: ShortcutInTransaction
  runBatchTransaction?: Database['runBatchTransaction']
  /** Only for an engine whose commits return before they are on disk. */
  durable?: Database['durable']
  /** Changes whenever anything that decides who may do what is written, by this process or another. */
  version: () => Version | Promise<Version | undefined>
}

export interface ShortcutInTransaction {
  /** Inside the open transaction: for reads, and for writes that leave caches valid. */
  read: RunDirectly
  /** Returns how many rows each run changed. One statement for all of them would take longer. */
  runBatch: RunBatch
}

export type Version = number | string

/** One prepared statement, run once for each row of values. */
export interface BatchStatement {
  text: string
  rows: readonly (readonly unknown[])[]
  /** Every run has to change a row; otherwise the transaction is rolled back. */
  mustChange?: boolean
}

/** Undefined if it can't be run directly at the moment. */
export type RunDirectly = (query: CompiledQuery) => Promise<object[]> | undefined
export type RunBatch = (statement: BatchStatement) => Promise<number[]>

const shortcuts = new WeakMap<Queries, Shortcut>()
const shortcutsInside = new WeakMap<Queries, ShortcutInTransaction>()

/** Undefined on PostgreSQL, and outside transactions. */
export function batchRunnerOf(tx: Queries): RunBatch | undefined {
  return shortcutsInside.get(tx)?.runBatch
}

/** Undefined if the query can't take the shortcut. */
export function shortcutOf(
  queries: Queries,
  { query }: CompiledQuery,
  leavesCachesValid: boolean,
): RunDirectly | undefined {
  const mayTake = query.kind === 'SelectQueryNode' || (leavesCachesValid && queries.isTransaction)
  return mayTake ? (shortcuts.get(queries) ?? shortcutsInside.get(queries))?.read : undefined
}

/** Undefined if the version is not known, as in a transaction. */
export function versionOf(queries: Queries): ReturnType<Shortcut['version']> | undefined {
  return shortcuts.get(queries)?.version()
}

/** `unknown`: the commit was sent but not answered. It may have happened, or may still happen. */
export type CommitResult = 'committed' | 'undone' | 'unknown'

/** Something that has to be the last step of a transaction, because it blocks others until the commit is done. */
export interface LastStep {
  run: (tx: Queries) => Promise<void>
  /** Called once, even if `run` was never reached. */
  ended: (result: CommitResult) => void
}

/** The last steps of each open transaction. */
const lastSteps = new WeakMap<Queries, LastStep[]>()

/** Returns false if `tx` is not an open transaction: then the step will never run. */
export function beforeCommit(tx: Queries, step: LastStep): boolean {
  return lastSteps.get(tx)?.push(step) !== undefined
}

const attempts = 6

/** What both engines have in common. `urgentDialect` is for an engine on which urgent transactions can overtake others. */
export function createDatabase(
  engine: Engine,
  dialect: Dialect,
  shortcut?: Shortcut,
  urgentDialect?: Dialect,
): Omit<Database, 'probe'> {
  const queries = new Kysely<Tables>({ dialect })
  const urgentQueries = urgentDialect ? new Kysely<Tables>({ dialect: urgentDialect }) : queries
  if (shortcut) shortcuts.set(queries, shortcut)
  const open = createActiveSet<number>()
  const durable = shortcut?.durable ?? (() => Promise.resolve())
  const transaction: Database['transaction'] = async (work, { isUrgent = false } = {}) => {
    const remove = open.add(performance.now())
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          const value = await transactOnce(isUrgent ? urgentQueries : queries, work, shortcut)
          await durable()
          return value
        } catch (error) {
          if (attempt === attempts || !isRetryable(error)) throw error
          await sleep(Math.random() * 10 * 2 ** attempt)
        }
      }
    } finally {
      remove()
    }
  }
  return {
    engine,
    queries,
    transaction,
    runSingleStatement: () => undefined,
    runBatchTransaction: shortcut?.runBatchTransaction ?? (() => undefined),
    durable,
    oldestTransactionMs: () => performance.now() - Math.min(performance.now(), ...open.all()),
    close: () => queries.destroy(),
  }
}

async function transactOnce<T>(
  queries: Queries,
  work: (tx: Queries) => Promise<T>,
  shortcut: Shortcut | undefined,
): Promise<T> {
  const steps: LastStep[] = []
  let result: CommitResult = 'undone'
  try {
    const value = await queries.transaction().execute(async (tx) => {
      lastSteps.set(tx, steps)
      if (shortcut?.inTransaction) shortcutsInside.set(tx, shortcut.inTransaction)
      const done = await work(tx)
      // Steps that are added from now on would be too late.
      lastSteps.delete(tx)
      for (const step of steps) await step.run(tx)
      shortcutsInside.delete(tx)
      result = 'unknown'
      return done
    })
    result = 'committed'
    return value
  } finally {
    for (const step of steps) step.ended(result)
  }
}
