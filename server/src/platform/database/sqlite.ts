/**
 * Kysely on node:sqlite. A commit is on disk when it returns (WAL with synchronous=FULL); statements are prepared
 * once; transactions take the write lock at once, so that they never fail half-way for want of it.
 */
import { rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Driver, Kysely, QueryResult } from 'kysely'
import { createDatabase } from './database.ts'
import type { Database, Shortcut } from './database.ts'
import { DatabaseFileLost, isBusy } from './failures.ts'

/** SQLite itself waits on our thread; past this we wait on a timer instead, so that other calls go on. */
const blockingWaitMs = 50
const patienceMs = 5_000
const keptStatements = 500
const readsTrustMs = 10

export function openSqlite(file: string): Database {
  const { driver, shortcut } = sqliteDriver(file)
  const dialect = {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => driver,
    createIntrospector: (db: Kysely<never>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
  return createDatabase('sqlite', dialect, shortcut)
}

/** Kysely lets one user at a time have the connection; it would never let go of one that failed to be acquired. */
function sqliteDriver(file: string): { driver: Driver; shortcut: Shortcut } {
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
        if (isInTransaction && !handle.writer.database.isTransaction) endedBy = error as Error
        throw error
      }
    })
  const run = (statement: string) =>
    use(
      ({ writer }) => {
        prepare(writer, statement).statement.run()
      },
      { isRead: false },
    )
  const connection: DatabaseConnection = {
    executeQuery: <Row>(query: CompiledQuery) =>
      use(({ writer }) => execute<Row>(writer, query), { isRead: query.query.kind === 'SelectQueryNode' }),
    streamQuery: () => {
      throw new Error('queries are not streamed from SQLite')
    },
  }
  const shortcut: Shortcut = {
    read: (query) => use(({ reader }) => rowsOf(reader, query), { isRead: true }),
    inTransaction: (query) => use(({ writer }) => rowsOf(writer, query), { isRead: false }),
  }
  const driver: Driver = {
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
      if (handle.writer.database.isTransaction) handle.writer.database.exec('rollback')
      return Promise.resolve()
    },
    destroy: () => {
      close(handle)
      return Promise.resolve()
    },
  }
  return { driver, shortcut }
}

interface Handle {
  writer: Link
  /** Sees what is committed, without waiting for the transaction that is open. */
  reader: Link
  inode: number
  /** Of the log and of its index, which lie beside the file. */
  logInodes: Map<string, number | undefined>
}

interface Link {
  database: DatabaseSync
  statements: Map<string, Prepared>
  /** Of these the columns are known beforehand: a row comes as its values alone, which takes half the time. */
  shortcuts: Map<string, Prepared>
}

interface Prepared {
  statement: StatementSync
  columns: string[]
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
  const reader = new DatabaseSync(file, { timeout: blockingWaitMs, readOnly: true })
  return { writer: linkTo(database), reader: linkTo(reader), inode: statSync(file).ino, logInodes }
}

function linkTo(database: DatabaseSync): Link {
  return { database, statements: new Map(), shortcuts: new Map() }
}

function close({ reader, writer }: Handle): void {
  // The last to go writes the log into the file, which only the writer can.
  for (const { database } of [reader, writer]) if (database.isOpen) database.close()
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
function leaveFile(handle: Handle): void {
  const { writer, logInodes } = handle
  if (!writer.database.isOpen) return
  try {
    writer.database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    close(handle)
    for (const [log, inode] of logInodes) if (inode !== undefined && inodeOf(log) === inode) rmSync(log)
  }
}

function execute<Row>(link: Link, { sql, parameters }: CompiledQuery): QueryResult<Row> {
  const { statement, columns } = prepare(link, sql)
  const values = parameters as SQLInputValue[]
  if (columns.length > 0) return { rows: statement.all(...values) as Row[] }
  const { changes } = statement.run(...values)
  return { rows: [], numAffectedRows: BigInt(changes) }
}

function rowsOf(link: Link, { sql, parameters }: CompiledQuery): object[] {
  let known = link.shortcuts.get(sql)
  if (!known) {
    known = prepareAnew(link.database, sql)
    known.statement.setReturnArrays(true)
    link.shortcuts.set(sql, known)
  }
  const { statement, columns } = known
  const rows = statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][]
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] ?? ''] = values[index]
    return row
  })
}

function prepare({ database, statements }: Link, sql: string): Prepared {
  const known = statements.get(sql)
  if (known) return known
  if (statements.size === keptStatements) statements.clear()
  const made = prepareAnew(database, sql)
  statements.set(sql, made)
  return made
}

function prepareAnew(database: DatabaseSync, sql: string): Prepared {
  const statement = database.prepare(sql)
  return { statement, columns: statement.columns().map(({ name }) => name) }
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
