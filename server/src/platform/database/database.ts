import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely } from 'kysely'
import type { CompiledQuery, Dialect, Kysely as KyselyType } from 'kysely'
import { createActiveSet } from '../active-set.ts'
import { isRetryable } from './failures.ts'
import type { PoolFigures } from './postgres-pool.ts'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'

/** What runs queries: the database itself, or a transaction on it. */
export type Queries = KyselyType<Tables>

export interface Database {
  engine: Engine
  queries: Queries
  /** All or nothing. Run again when it lost a race, so it may hold nothing but queries: no network, no other effect. */
  transaction: <T>(work: (tx: Queries) => Promise<T>, options?: TransactionOptions) => Promise<T>
  /**
   * One statement that is a transaction by itself, for what is quicker that way. It fails rather than wait for others.
   * Undefined where the engine has no such thing, or not at the moment.
   */
  runSingleStatement: RunDirectly
  /**
   * Notes that are a transaction by themselves, on the engine that has no such statement: all of them or, where one that
   * has to change a row finds none, `RolledBack`. On disk once `durable` resolves. Undefined as above.
   */
  runBatchTransaction: (notes: readonly BatchStatement[]) => Promise<void> | undefined
  /** Resolves once what was committed before is on disk. Transactions and single statements wait for it by themselves. */
  durable: () => Promise<void>
  /**
   * Writes something, on a connection of its own where the engine has several, and resolves to the number of the newest
   * migration.
   */
  probe: () => Promise<number>
  /** Throws where a pooler in between gives one session to several clients. Undefined where there can be none. */
  assertOwnSessions?: () => Promise<void>
  /** Undefined where the engine has no pool. */
  pool?: () => PoolFigures
  /** How long the oldest transaction that is still open has been so. */
  oldestTransactionMs: () => number
  close: () => Promise<void>
}

export interface TransactionOptions {
  /** It goes before others that wait, on an engine that runs one transaction at a time: somebody waits for a call. */
  isUrgent?: boolean
}

/** The short way to an engine, for statements that are compiled already: past all that is done around other queries. */
export interface Shortcut {
  /** Only for what reads. What others have begun to write is not seen. */
  read: RunDirectly
  inTransaction?: ShortcutInTransaction
  runBatchTransaction?: Database['runBatchTransaction']
  /** Where a commit returns before it is on disk. */
  durable?: Database['durable']
  /** Differs whenever something that decides who may do what was written since, here or by another process. */
  version: () => Version | Promise<Version | undefined>
}

export interface ShortcutInTransaction {
  /** On behalf of the transaction that is open: for reads, and for notes. */
  read: RunDirectly
  /** Returns how many rows each changed. A statement for all of them at once would take longer. */
  runBatch: RunBatch
}

export type Version = number | string

/** One statement, run once with each of these values. */
export interface BatchStatement {
  text: string
  rows: readonly (readonly unknown[])[]
  /** Each time it has to change a row. */
  mustChange?: boolean
}

/** Undefined where it can't be done this way at the moment. */
export type RunDirectly = (query: CompiledQuery) => Promise<object[]> | undefined
export type RunBatch = (note: BatchStatement) => Promise<number[]>

const shortcuts = new WeakMap<Queries, Shortcut>()
const shortcutsInside = new WeakMap<Queries, ShortcutInTransaction>()

/** Undefined where the engine has no such thing, and out of transactions. */
export function batchRunnerOf(tx: Queries): RunBatch | undefined {
  return shortcutsInside.get(tx)?.runBatch
}

/** Undefined where the engine has none, or none for this. */
export function shortcutOf(queries: Queries, { query }: CompiledQuery, leavesCachesValid: boolean): RunDirectly | undefined {
  const mayTake = query.kind === 'SelectQueryNode' || (leavesCachesValid && queries.isTransaction)
  return mayTake ? (shortcuts.get(queries) ?? shortcutsInside.get(queries))?.read : undefined
}

/** Undefined where that can't be told: in a transaction, or on an engine that has no such thing. */
export function versionOf(queries: Queries): ReturnType<Shortcut['version']> | undefined {
  return shortcuts.get(queries)?.version()
}

/** `unknown`: the commit was sent, and no answer came. It may have happened, or may yet. */
export type CommitResult = 'committed' | 'undone' | 'unknown'

/** What must be the very last thing of a transaction, because it holds up others until the commit is over. */
export interface LastStep {
  run: (tx: Queries) => Promise<void>
  /** Told once, also where `run` was never reached. */
  ended: (result: CommitResult) => void
}

/** The open transactions, and what each is to do last. */
const lastSteps = new WeakMap<Queries, LastStep[]>()

/** False where `tx` is no open transaction: then nothing will ever run the step. */
export function beforeCommit(tx: Queries, step: LastStep): boolean {
  return lastSteps.get(tx)?.push(step) !== undefined
}

const attempts = 6

/** What differs between engines beyond that, each engine adds. `urgentDialect`: where some can go before others. */
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
    const leave = open.enter(performance.now())
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
      leave()
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
      // What is added from now on would come too late.
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
