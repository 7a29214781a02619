/**
 * Kysely on node:sqlite. Statements are prepared once; transactions take the write lock at once, so that they never fail
 * half-way for want of it. What is committed can be read at once, and is on disk when its promise resolves (log-sync.ts).
 */
import { realpathSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, Kysely } from 'kysely'
import { createCheckpoints } from './checkpoints.ts'
import type { Checkpoints } from './checkpoints.ts'
import { createDatabase, batchRunnerOf } from './database.ts'
import type { Database, BatchStatement, Queries, Shortcut } from './database.ts'
import { DatabaseFileLost, RolledBack, isBusy } from './failures.ts'
import { createPriorityLock } from './priority-lock.ts'
import { openWalIndexHead } from './wal-index-head.ts'
import type { WalIndexHead } from './wal-index-head.ts'
import { openWalSync, syncData } from './wal-sync.ts'
import type { WalSync, Sync } from './wal-sync.ts'
import { lastMigration } from './migrate.ts'
import { changesOf, changesRows, dataVersion, execute, linkTo, runBatchStatement, prepare, rowsOf } from './sqlite-statements.ts'
import type { Link } from './sqlite-statements.ts'

/** For a lock of another process. SQLite itself would wait on our thread: we wait on a timer, so that other calls go on. */
const patienceMs = 5_000
const longestPauseMs = 10
/**
 * Enough for what calls touch; the rest is read from the system's cache. Twice as much saves 3 % of what a record costs with
 * 1,000 agents. A commit in which a page of an index was split looks through all of it.
 */
const cacheKibibytes = 8 * 1024
const readsTrustMs = 10

export function openSqlite(file: string, sync: Sync = syncData): Database {
  const { driver, urgentDriver, shortcut } = sqliteDriver(file, sync)
  const database = createDatabase('sqlite', dialectOf(driver), shortcut, dialectOf(urgentDriver))
  return { ...database, probe: () => database.transaction(probe, { isUrgent: true }) }
}

function dialectOf(driver: Driver): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => driver,
    createIntrospector: (db: Kysely<never>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** There is one connection, and who has it next is for our own lock to say. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** It says nothing of who may do what, so that what was read and kept stays valid. */
async function probe(tx: Queries): Promise<number> {
  const text = `insert into rate_limits (key, full_at) values ('probe', 0)
    on conflict (key) do update set full_at = excluded.full_at`
  await batchRunnerOf(tx)?.({ text, rows: [[]] })
  return lastMigration(tx)
}

/** Of all databases that this process has open: what one of them writes, another may have read a moment ago. */
let writes = 0

/** For one user. A single write gives it back before it is on disk: nothing may follow on it. */
interface Connection extends DatabaseConnection {
  release: () => void
}

function sqliteDriver(file: string, sync: Sync): { driver: Driver; urgentDriver: Driver; shortcut: Shortcut } {
  let handle = openFile(file, sync)
  const lock = createPriorityLock()
  let isInTransaction = false
  let hasWritten = false
  /** A full disk makes SQLite roll back by itself: what comes after must not pass for a part of the transaction. */
  let endedBy: Error | undefined
  /** To ask the file system costs more than most reads do. It is always asked before something is written. */
  let lookedAt = -Infinity
  /** Moves with what is written here; `seen` is what the file said of what others wrote when it was asked last. */
  let version = 0
  let seen: unknown
  /** How much this process had written, in whatever file, when it was asked; undefined once those who came together know. */
  let askedAt: number | undefined
  const look = (isRead: boolean) => {
    const now = performance.now()
    if (isRead && now - lookedAt < readsTrustMs) return
    lookedAt = -Infinity
    const before = handle
    if (!isRead) handle.walSync.assertSound()
    handle = sameFile(file, handle, sync)
    if (handle !== before) version++
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
  /** Something was written that is no note. */
  const wroteSince = () => {
    version++
    writes++
    hasWritten = isInTransaction
  }
  const durable = async () => {
    const { walSync, checkpoints } = handle
    await walSync.durable()
    checkpoints.committed()
  }
  const connect = (giveBack: () => void): Connection => {
    let isOurs = true
    return {
      release: giveBack,
      executeQuery: async <Row>(query: CompiledQuery) => {
        if (!isOurs) throw new Error('the connection was given back after a single write')
        const isRead = query.query.kind === 'SelectQueryNode'
        const result = await use(
          ({ writer }) => {
            const before = isRead ? 0 : changesOf(writer)
            const result = execute<Row>(writer, query)
            // Once more at the commit, because until then others read and keep what was before.
            if (!isRead && (changesOf(writer) !== before || !changesRows(query))) wroteSince()
            return result
          },
          { isRead },
        )
        if (!isRead && !isInTransaction) {
          isOurs = false
          giveBack()
          await durable()
        }
        return result
      },
      streamQuery: () => {
        throw new Error('queries are not streamed from SQLite')
      },
    }
  }
  const shortcut: Shortcut = {
    read: (query) =>
      whenFree(() => {
        if (isInTransaction) return rowsOf(handle.reader, query)
        look(true)
        // Quicker than the reader: it still has the pages that it wrote.
        return rowsOf(handle.writer, query)
      }),
    inTransaction: {
      read: (query) => use(({ writer }) => rowsOf(writer, query), { isRead: false }),
      runBatch: (note) => use(({ writer }) => runBatchStatement(writer, note), { isRead: false }),
    },
    runBatchTransaction: (notes) => {
      if (isInTransaction) return undefined
      try {
        look(false)
        begin(handle)
      } catch {
        // Whoever waits for the file, or says what is wrong with it, takes the long way.
        return undefined
      }
      return noteAll(handle, notes)
    },
    durable,
    // Once for all calls that are taken together: each of them had come before.
    version: () => {
      if (askedAt === writes) return version
      if (!isInTransaction) look(true)
      if (!handle.walIndexHead.isSame()) {
        let told: unknown
        try {
          told = dataVersion(handle.writer)
        } finally {
          // Where nobody can say, it has.
          if (told === undefined || told !== seen) version++
          seen = told
        }
      }
      if (askedAt === undefined) process.nextTick(() => (askedAt = undefined))
      askedAt = writes
      return version
    },
  }
  const begin = ({ writer }: Handle) => {
    prepare(writer, 'begin immediate').statement.run()
    // In the same breath: no read may take this connection for free.
    isInTransaction = true
    endedBy = undefined
  }
  const rollback = () => {
    isInTransaction = false
    hasWritten = false
    if (handle.writer.database.isTransaction) handle.writer.database.exec('rollback')
  }
  /** Without a pause: nobody else comes between. */
  const noteAll = async ({ writer }: Handle, notes: readonly BatchStatement[]): Promise<void> => {
    let isCommitting = false
    try {
      for (const note of notes) {
        const changes = runBatchStatement(writer, note)
        if (note.mustChange && changes.includes(0)) throw new RolledBack()
      }
      isCommitting = true
      prepare(writer, 'commit').statement.run()
      isInTransaction = false
      // To begin may have meant to wait for another who wrote.
      writes++
    } catch (error) {
      rollback()
      throw isCommitting || error instanceof RolledBack ? error : new RolledBack(error)
    }
  }
  const driver: Driver = {
    init: () => Promise.resolve(),
    acquireConnection: async () => connect(await lock.take()),
    releaseConnection: (connection) => {
      ;(connection as Connection).release()
      return Promise.resolve()
    },
    beginTransaction: () => use(begin, { isRead: false }),
    commitTransaction: () =>
      use(
        ({ writer }) => {
          prepare(writer, 'commit').statement.run()
          isInTransaction = false
          writes++
          if (hasWritten) wroteSince()
        },
        { isRead: false },
      ),
    rollbackTransaction: () => {
      rollback()
      return Promise.resolve()
    },
    destroy: async () => {
      await handle.checkpoints.close()
      close(handle)
    },
  }
  const urgentDriver: Driver = {
    ...driver,
    acquireConnection: async () => connect(await lock.take({ isUrgent: true })),
    destroy: () => Promise.resolve(),
  }
  return { driver, urgentDriver, shortcut }
}

interface Handle {
  writer: Link
  /** Sees what is committed, without waiting for the transaction that is open. */
  reader: Link
  inode: number
  /** Of the log and of its index, which lie beside the file. */
  logInodes: Map<string, number | undefined>
  walIndexHead: WalIndexHead
  walSync: WalSync
  checkpoints: Checkpoints
}

function openFile(file: string, sync: Sync): Handle {
  // Of several processes that open a new file one sets it up; there is nothing yet that could go on meanwhile.
  const database = new DatabaseSync(file, { timeout: patienceMs, enableForeignKeyConstraints: true })
  keepLog(database)
  database.exec('pragma synchronous = normal')
  // What was deleted must not be left in the file's free pages: a retired data key, or a value sealed under it.
  database.exec('pragma secure_delete = on')
  // The log is there once something was read.
  database.exec('select 1 from sqlite_schema')
  database.exec('pragma busy_timeout = 0')
  database.exec(`pragma cache_size = -${cacheKibibytes}`)
  const logInodes = new Map([`${file}-wal`, `${file}-shm`].map((log) => [log, inodeOf(log)]))
  const reader = new DatabaseSync(file, { timeout: 0, readOnly: true })
  const walIndexHead = openWalIndexHead(`${realpathSync(file)}-shm`)
  return {
    writer: linkTo(database),
    reader: linkTo(reader),
    inode: statSync(file).ino,
    logInodes,
    walIndexHead,
    walSync: openWalSync(`${realpathSync(file)}-wal`, sync),
    checkpoints: createCheckpoints(realpathSync(file), database, walIndexHead),
  }
}

/** Of two that switch a new file over at the same time SQLite turns one away at once, however patient it is. */
function keepLog(database: DatabaseSync): void {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      // Nothing goes on here yet that could be held up.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 10)
    }
  }
}

function close({ reader, writer, walIndexHead, walSync, checkpoints }: Handle): void {
  if (!writer.database.isOpen) return
  void checkpoints.close()
  // The last to go writes the log into the file, which only the writer can.
  for (const { database } of [reader, writer]) database.close()
  walIndexHead.close()
  walSync.close()
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/**
 * An open file can be removed or replaced under us, and what we would then write is lost with the process. That holds for
 * the write-ahead log and its index too: SQLite goes on writing to a log that no longer has a name.
 */
function sameFile(file: string, handle: Handle, sync: Sync): Handle {
  // Closing removes the log.
  if (!handle.writer.database.isOpen) return handle
  const now = statSync(file, { throwIfNoEntry: false })
  if (now === undefined || now.size === 0) throw new DatabaseFileLost(file)
  const hasItsLog = [...handle.logInodes].every(([log, inode]) => inodeOf(log) === inode)
  if (now.ino === handle.inode && hasItsLog) return handle
  leaveFile(handle)
  return openFile(file, sync)
}

/**
 * The log beside the new file is still that of the old one, and would be played into it. What it holds goes to the old
 * file, wherever that is now; then the log goes, unless somebody has put another one there.
 */
function leaveFile(handle: Handle): void {
  const { writer, logInodes, checkpoints } = handle
  if (!writer.database.isOpen) return
  void checkpoints.close()
  try {
    writer.database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    close(handle)
    for (const [log, inode] of logInodes) if (inode !== undefined && inodeOf(log) === inode) rmSync(log)
  }
}

/** Another process may hold the write lock for a moment. */
async function whenFree<T>(work: () => T): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await sleep(pauseMs * (0.5 + Math.random()))
    }
  }
}
