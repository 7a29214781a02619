import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseFileLost, isBusy, isRetryable, isUnavailable } from './failures.ts'

const sqlite = (errcode: number) => Object.assign(new Error('sqlite'), { code: 'ERR_SQLITE_ERROR', errcode })
const coded = (code: string) => Object.assign(new Error('failed'), { code })

const judged = (error: unknown) => [isBusy(error), isRetryable(error), isUnavailable(error)]

function are(expected: [boolean, boolean, boolean], errors: readonly unknown[]): void {
  for (const error of errors) assert.deepEqual(judged(error), expected, JSON.stringify(error) + String(error))
}

test('a transaction that lost a race may be retried', () => {
  are([false, true, true], ['40001', '40P01'].map(coded))
})

test('a file locked by another process is unavailable after waiting', () => {
  // BUSY, BUSY_SNAPSHOT, BUSY_RECOVERY, LOCKED, LOCKED_SHAREDCACHE
  are([true, false, true], [5, 517, 261, 6, 262].map(sqlite))
})

test('an unreachable or read-only database is unavailable, not failed', () => {
  // READONLY, READONLY_DBMOVED, IOERR, IOERR_WRITE, FULL, CANTOPEN
  are([false, false, true], [8, 1032, 10, 778, 13, 14].map(sqlite))
  const states = ['08006', '08001', '53300', '53100', '57P01', '57P02', '57P03', '57014', '58030', '25006']
  are([false, false, true], states.map(coded))
  const sockets = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN']
  are([false, false, true], sockets.map(coded))
  are([false, false, true], [Object.assign(coded('ENOENT'), { syscall: 'connect' })])
  const messages = [
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout expired',
    'Cannot use a pool after calling end on the pool',
    'Client has encountered a connection error and is not queryable',
  ]
  const errors = messages.map((message) => new Error(message))
  are([false, false, true], [...errors, new DatabaseFileLost('sallyport.db')])
})

test('an internal error is not blamed on the database', () => {
  const states = ['42601', '42P01', '22P02', '28P01', '3D000', 'XX000', '23505', '23503', 'EPERM', 'EROFS', 'ENOENT']
  // NOT NULL, CHECK, UNIQUE and FOREIGN KEY among them
  are([false, false, false], [...states.map(coded), ...[1, 26, 1299, 275, 2067, 787].map(sqlite)])
  are([false, false, false], [new Error('failed'), new TypeError('connection'), { code: 5 }, coded('')])
})

test('any thrown value is classified', () => {
  are([false, false, false], [undefined, null, 'text', 0, Symbol('a'), {}])
})
