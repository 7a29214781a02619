/**
 * Kysely on node:sqlite. A commit is on disk when it returns (WAL with synchronous=FULL); statements are prepared
 * once; transactions take the write lock at once, so that they never fail half-way for want of it.
 */
import { rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { createDatabase } from './database.ts'
import type { Database } from './database.ts'
import { DatabaseFileLost, isBusy } from './failures.ts'

/** SQLite itself waits on our thread; past this we wait on a timer instead, so that other calls go on. */
const blockingWaitMs = 50
const patienceMs = 5_000
const keptStatements = 500
const readsTrustMs = 10

export function openSqlite(file: string): Database {
  const driver = sqliteDriver(file)
  return createDatabase('sqlite', {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  })
}

/** Kysely lets one user at a time have the connection; it would never let go of one that failed to be acquired. */
function sqliteDriver(file: string): Driver {
  let handle = openFile(file)
  let isInTransaction = false
  /** A full disk makes SQLite roll back by itself: what comes after must not pass for a part of the transaction. */
  let endedBy: Error | undefined
  /** To ask the file system costs more than most reads do. It is always asked before something is written. */
  let lookedAt = -Infinity
  const look = (isRead: boolean) => {
    const now = performance.now()
    if (isRead && now - lookedAt < readsTrustMs) return
    lookedAt = -Infinity
    handle = sameFile(file, handle)
    lookedAt = now
  }
  const use = <T>(work: (handle: Handle) => T, { isRead }: { isRead: boolean }) =>
    whenFree(() => {
      if (!isInTransaction) look(isRead)
      else if (endedBy !== undefined) throw endedBy
      try {
        return work(handle)
      } catch (error) {
        if (isInTransaction && !handle.database.isTransaction) endedBy = error as Error
        throw error
      }
    })
  const run = (statement: string) =>
    use(
      (current) => {
        prepare(current, statement).statement.run()
      },
      { isRead: false },
    )
  const connection: DatabaseConnection = {
    executeQuery: <Row>(query: CompiledQuery) =>
      use((current) => execute<Row>(current, query), { isRead: query.query.kind === 'SelectQueryNode' }),
    streamQuery: () => {
      throw new Error('queries are not streamed from SQLite')
    },
  }
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    releaseConnection: () => Promise.resolve(),
    beginTransaction: async () => {
      await run('begin immediate')
      isInTransaction = true
      endedBy = undefined
    },
    commitTransaction: async () => {
      await run('commit')
      isInTransaction = false
    },
    rollbackTransaction: () => {
      isInTransaction = false
      if (handle.database.isTransaction) handle.database.exec('rollback')
      return Promise.resolve()
    },
    destroy: () => {
      if (handle.database.isOpen) handle.database.close()
      return Promise.resolve()
    },
  }
}

interface Handle {
  database: DatabaseSync
  inode: number
  /** Of the log and of its index, which lie beside the file. */
  logInodes: Map<string, number | undefined>
  statements: Map<string, Prepared>
}

interface Prepared {
  statement: StatementSync
  returnsRows: boolean
}

function openFile(file: string): Handle {
  // Of several processes that open a new file one sets it up; there is nothing yet that could go on meanwhile.
  const database = new DatabaseSync(file, { timeout: patienceMs, enableForeignKeyConstraints: true })
  database.exec('pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  // What was deleted must not be left in the file's free pages: a retired data key, or a value sealed under it.
  database.exec('pragma secure_delete = on')
  // The log is there once something was read.
  database.exec('select 1 from sqlite_schema')
  database.exec(`pragma busy_timeout = ${blockingWaitMs}`)
  const logInodes = new Map([`${file}-wal`, `${file}-shm`].map((log) => [log, inodeOf(log)]))
  return { database, inode: statSync(file).ino, logInodes, statements: new Map() }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/** An open file can be deleted or replaced under us; what we would then write reaches nobody. */
function sameFile(file: string, handle: Handle): Handle {
  const now = statSync(file, { throwIfNoEntry: false })
  if (now === undefined || now.size === 0) throw new DatabaseFileLost(file)
  if (now.ino === handle.inode) return handle
  leaveFile(handle)
  return openFile(file)
}

/**
 * The log beside the new file is still that of the old one, and would be played into it. What it holds goes to the old
 * file, wherever that is now; then the log goes, unless somebody has put another one there.
 */
function leaveFile({ database, logInodes }: Handle): void {
  if (!database.isOpen) return
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.close()
    for (const [log, inode] of logInodes) if (inode !== undefined && inodeOf(log) === inode) rmSync(log)
  }
}

function execute<Row>(handle: Handle, { sql, parameters }: CompiledQuery): QueryResult<Row> {
  const { statement, returnsRows } = prepare(handle, sql)
  const values = parameters as SQLInputValue[]
  if (returnsRows) return { rows: statement.all(...values) as Row[] }
  const { changes } = statement.run(...values)
  return { rows: [], numAffectedRows: BigInt(changes) }
}

function prepare({ database, statements }: Handle, sql: string): Prepared {
  const known = statements.get(sql)
  if (known) return known
  if (statements.size === keptStatements) statements.clear()
  const statement = database.prepare(sql)
  const prepared = { statement, returnsRows: statement.columns().length > 0 }
  statements.set(sql, prepared)
  return prepared
}

/** Another process may hold the write lock for a moment. */
async function whenFree<T>(work: () => T): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await sleep(5 + Math.random() * 20)
    }
  }
}
