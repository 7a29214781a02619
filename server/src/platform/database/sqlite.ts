/**
 * Kysely on node:sqlite. Statements are prepared once. Transactions take the write lock when they begin, so that they can't
 * fail later for lack of it. A commit is visible immediately, and on disk when its promise resolves (wal-sync.ts).
 */
import { realpathSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, Kysely } from 'kysely'
import { createSemaphore } from '../limits/semaphore.ts'
import type { QueueLimits } from '../limits/semaphore.ts'
import { createCheckpoints } from './checkpoints.ts'
import type { Checkpoints } from './checkpoints.ts'
import { createDatabase, batchRunnerOf } from './database.ts'
import type { Database, BatchStatement, Queries, Shortcut } from './database.ts'
import { DatabaseFileLost, RolledBack, isBusy } from './failures.ts'
import { openWalFrames } from './wal-frames.ts'
import type { WalFrames } from './wal-frames.ts'
import { createSync, openWalSync } from './wal-sync.ts'
import type { WalSync, Sync } from './wal-sync.ts'
import { requiredMigration } from './migrate.ts'
import {
  changesOf,
  changesRows,
  dataVersion,
  execute,
  linkTo,
  runBatchStatement,
  prepare,
  rowsOf,
} from './sqlite-statements.ts'
import type { Link } from './sqlite-statements.ts'

/** How long to wait for another process's lock. SQLite would block the event loop while waiting, so a timer retries instead. */
const patienceMs = 5_000
const longestPauseMs = 10
/** Others come from the operating system's cache. With 8 MB a record costs 3 % less with 1,000 agents. */
const cacheKibibytes = 2 * 1024
const readsTrustMs = 10
/** For the connection, as on PostgreSQL. Beyond that callers get `busy`. */
const usualQueue: QueueLimits = { maxWaiting: 1_000, maxWaitMs: 10_000 }

export function openSqlite(file: string, sync: Sync = createSync(), queue: QueueLimits = usualQueue): Database {
  const { driver, urgentDriver, shortcut } = sqliteDriver(file, sync, queue)
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

/** There is one connection; our own lock decides who gets it next. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** Run as a batch statement, which leaves caches valid. */
async function probe(tx: Queries): Promise<number> {
  const text = `insert into rate_limits (key, full_at) values ('probe', 0)
    on conflict (key) do update set full_at = excluded.full_at`
  await batchRunnerOf(tx)?.({ text, rows: [[]] })
  return requiredMigration(tx)
}

/** Counts the writes of this process to all of its databases: what one writes, another may have cached. */
let writes = 0

/** A single write releases the connection before it is on disk; after that it can't be used any more. */
interface Connection extends DatabaseConnection {
  release: () => void
}

function sqliteDriver(
  file: string,
  sync: Sync,
  queue: QueueLimits,
): { driver: Driver; urgentDriver: Driver; shortcut: Shortcut } {
  let handle = openFile(file, sync)
  const lock = createSemaphore(1, queue)
  let isInTransaction = false
  let hasWritten = false
  /** On a full disk SQLite rolls back by itself. Later statements must not run as if the transaction were still open. */
  let endedBy: Error | undefined
  /** When the file was last checked. A check costs more than most reads, so reads trust it for a while; writes don't. */
  let checkedAt = -Infinity
  /** Changes with every write. `seen` is SQLite's data_version, which tells of other processes' writes. */
  let version = 0
  let seen: unknown
  /** The value of `writes` when the version was last read in this tick. */
  let askedAt: number | undefined
  const checkFile = (isRead: boolean) => {
    const now = performance.now()
    if (isRead && now - checkedAt < readsTrustMs) return
    checkedAt = -Infinity
    const before = handle
    if (!isRead) handle.walSync.assertSound()
    handle = sameFile(file, handle, sync)
    if (handle !== before) version++
    checkedAt = now
  }
  const use = <T>(work: (handle: Handle) => T, { isRead }: { isRead: boolean }) =>
    whenFree(() => {
      if (!isInTransaction) checkFile(isRead)
      else if (endedBy !== undefined) throw endedBy
      try {
        return work(handle)
      } catch (error) {
        if (isInTransaction && !handle.writer.database.isTransaction) endedBy = error as Error
        throw error
      }
    })
  /** Something was written that may invalidate caches. */
  const invalidateCaches = () => {
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
            // Again at the commit: until then others read, and cache, the state before it.
            if (!isRead && (changesOf(writer) !== before || !changesRows(query))) invalidateCaches()
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
        checkFile(true)
        // Faster than the reader, because the writer has the pages that it wrote in its cache.
        return rowsOf(handle.writer, query)
      }),
    inTransaction: {
      read: (query) => use(({ writer }) => rowsOf(writer, query), { isRead: false }),
      runBatch: (statement) => use(({ writer }) => runBatchStatement(writer, statement), { isRead: false }),
    },
    runBatchTransaction: (statements) => {
      if (isInTransaction) return undefined
      try {
        checkFile(false)
        begin(handle)
      } catch {
        // The usual transaction waits for the file, or reports what is wrong with it.
        return undefined
      }
      return runAll(handle, statements)
    },
    durable,
    // Read once per tick: all calls of the tick arrived before.
    version: () => {
      if (askedAt === writes) return version
      if (!isInTransaction) checkFile(true)
      let told: unknown
      try {
        told = dataVersion(handle.writer)
      } finally {
        // If it can't be read, assume a change.
        if (told === undefined || told !== seen) version++
        seen = told
      }
      if (askedAt === undefined) process.nextTick(() => (askedAt = undefined))
      askedAt = writes
      return version
    },
  }
  const begin = ({ writer }: Handle) => {
    prepare(writer, 'begin immediate').statement.run()
    // Without yielding: no read may use this connection as if it were free.
    isInTransaction = true
    endedBy = undefined
  }
  const rollback = () => {
    isInTransaction = false
    hasWritten = false
    if (handle.writer.database.isTransaction) handle.writer.database.exec('rollback')
  }
  /** Does not yield, so nothing else can run in between. */
  const runAll = async ({ writer }: Handle, statements: readonly BatchStatement[]): Promise<void> => {
    let isCommitting = false
    try {
      for (const statement of statements) {
        const changes = runBatchStatement(writer, statement)
        if (statement.mustChange && changes.includes(0)) throw new RolledBack()
      }
      isCommitting = true
      prepare(writer, 'commit').statement.run()
      isInTransaction = false
      // Taking the lock may have meant waiting for another writer.
      writes++
    } catch (error) {
      rollback()
      throw isCommitting || error instanceof RolledBack ? error : new RolledBack(error)
    }
  }
  const driver: Driver = {
    init: () => Promise.resolve(),
    acquireConnection: async () => connect(await lock.acquire()),
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
          if (hasWritten) invalidateCaches()
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
    acquireConnection: async () => connect(await lock.acquire({ isUrgent: true })),
    destroy: () => Promise.resolve(),
  }
  return { driver, urgentDriver, shortcut }
}

interface Handle {
  writer: Link
  /** Reads committed data while a transaction is open. */
  reader: Link
  inode: number
  /** Inodes of the -wal and -shm files. */
  logInodes: Map<string, number | undefined>
  walFrames: WalFrames
  walSync: WalSync
  checkpoints: Checkpoints
}

function openFile(file: string, sync: Sync): Handle {
  // Several processes may open a new file at once. Blocking is fine here: nothing else is running yet.
  const database = new DatabaseSync(file, { timeout: patienceMs, enableForeignKeyConstraints: true })
  keepLog(database)
  database.exec('pragma synchronous = normal')
  // Overwrite deleted data, such as a retired data key or a value encrypted with it.
  database.exec('pragma secure_delete = on')
  // SQLite creates the log at the first read.
  database.exec('select 1 from sqlite_schema')
  database.exec('pragma busy_timeout = 0')
  database.exec(`pragma cache_size = -${cacheKibibytes}`)
  const logInodes = new Map([`${file}-wal`, `${file}-shm`].map((log) => [log, inodeOf(log)]))
  const reader = new DatabaseSync(file, { timeout: 0, readOnly: true })
  const walFrames = openWalFrames(`${realpathSync(file)}-shm`)
  return {
    writer: linkTo(database),
    reader: linkTo(reader),
    inode: statSync(file).ino,
    logInodes,
    walFrames,
    walSync: openWalSync(`${realpathSync(file)}-wal`, sync),
    checkpoints: createCheckpoints(realpathSync(file), database, walFrames),
  }
}

/** If two processes switch a new file to WAL mode at once, SQLite fails for one of them without honouring the timeout. */
function keepLog(database: DatabaseSync): void {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      // Blocks the thread: nothing else is running yet.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 10)
    }
  }
}

function close({ reader, writer, walFrames, walSync, checkpoints }: Handle): void {
  if (!writer.database.isOpen) return
  void checkpoints.close()
  // The reader first: the last connection to close checkpoints the log, which only the writer can.
  for (const { database } of [reader, writer]) database.close()
  walFrames.close()
  walSync.close()
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/**
 * The file may be deleted or replaced while it is open, and what is written then is lost. The same goes for the write-ahead
 * log and its index: SQLite would go on writing to a deleted log.
 */
function sameFile(file: string, handle: Handle, sync: Sync): Handle {
  // Closing has deleted the log.
  if (!handle.writer.database.isOpen) return handle
  const now = statSync(file, { throwIfNoEntry: false })
  if (now === undefined || now.size === 0) throw new DatabaseFileLost(file)
  const hasItsLog = [...handle.logInodes].every(([log, inode]) => inodeOf(log) === inode)
  if (now.ino === handle.inode && hasItsLog) return handle
  leaveFile(handle)
  return openFile(file, sync)
}

/**
 * The log beside the new file still belongs to the old one and would be replayed into the new one. So it is checkpointed
 * into the old file, wherever that is now, and deleted, unless it was replaced too.
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

/** Retries while another process holds the write lock. */
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
