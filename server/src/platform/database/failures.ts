/** What the engines' errors mean. node:sqlite has result codes, PostgreSQL SQLSTATEs, sockets names. */

const sqliteBusy = 5
const sqliteLocked = 6
const sqliteUnavailable = new Set([
  sqliteBusy,
  sqliteLocked,
  8, // READONLY
  10, // IOERR
  13, // FULL
  14, // CANTOPEN
])

const socketFailures = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Messages of pg, Kysely and SQLite errors that have no code. The last four come after the database was closed. */
const lostConnection =
  /connection terminated|query read timeout|timeout expired|not queryable|after calling end on the pool|driver has already been destroyed|database is not open|statement has been finalized/i

/** The database file was deleted: anything written now would be lost with it. */
export class DatabaseFileLost extends Error {
  constructor(file: string) {
    super(`the database file ${file} no longer exists`)
    this.name = 'DatabaseFileLost'
  }
}

/** A commit may not be on disk, and retrying the fsync would not tell. */
export class WalNotSynced extends Error {
  constructor(cause: unknown) {
    super('the disk failed to store a write: check it, then restart the service', { cause })
    this.name = 'WalNotSynced'
  }
}

/** None of the hosts in DATABASE_URL accepts connections and takes writes. */
export class NoWritableHost extends Error {
  constructor(problems: string) {
    super(`no host takes writes (${problems})`)
    this.name = 'NoWritableHost'
  }
}

/** The transaction was rolled back as a whole, because one of its statements could not be done. */
export class RolledBack extends Error {
  constructor(cause?: unknown) {
    super('nothing was written', { cause })
    this.name = 'RolledBack'
  }
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === sqliteBusy || code === sqliteLocked
}

/** A lock was not free in time. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** A serialization failure or deadlock: the transaction can be retried. A busy SQLite file was already waited for. */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error) ?? '')
}

/** The engine reported the failure, so nothing was written. Without a report, or when the server shuts down, that is unknown. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof RolledBack || /^(0A|2[2356]|4[02]|5[345]|57014)/.test(sqlState(error) ?? '')
}

/** The database can't be reached or written to at the moment. */
export function isUnavailable(error: unknown): boolean {
  const isKnown = [DatabaseFileLost, WalNotSynced, NoWritableHost].some((kind) => error instanceof kind)
  if (isKnown || isRetryable(error)) return true
  const code = sqliteCode(error)
  if (code !== undefined) return sqliteUnavailable.has(code)
  const state = sqlState(error)
  if (state !== undefined) return /^(08|53|57P0|57014|58|25006)/.test(state)
  if (!(error instanceof Error)) return false
  const { code: name = '', syscall } = error as NodeJS.ErrnoException
  const isSocketFileGone = name === 'ENOENT' && syscall === 'connect'
  return isSocketFileGone || socketFailures.has(name) || lostConnection.test(error.message)
}

/** The client gave up waiting for the server. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /query read timeout/i.test(error.message)
}

/**
 * The connection is at fault, not the statement: it has to be replaced. Its server is shutting down (57P0x) or became
 * read-only (25006), its transaction timed out (25P03), its prepared statements are gone or outdated (26000, 42P05,
 * 0A000), or it is broken.
 */
export function isSessionFault(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined ? isUnavailable(error) : /^(08|57P0|25006|25P03|26000|42P05|0A000)/.test(state)
}

function sqliteCode(error: unknown): number | undefined {
  const { code, errcode } = (error ?? {}) as { code?: string; errcode?: number }
  // The low byte is the primary result code; the rest distinguishes variants of it.
  return code === 'ERR_SQLITE_ERROR' && errcode !== undefined ? errcode & 0xff : undefined
}

function sqlState(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !socketFailures.has(code) ? code : undefined
}
