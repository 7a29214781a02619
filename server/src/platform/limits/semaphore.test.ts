import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import type { Database } from '../database/database.ts'
import { Busy, createSemaphore } from './semaphore.ts'
import { syncData } from '../database/wal-sync.ts'
import { openSqlite } from '../database/sqlite.ts'

test('one slot has one holder at a time: urgent callers first, then in order', async () => {
  const { acquire } = createSemaphore(1)
  const order: string[] = []
  const release = await acquire()
  const hold = async (name: string, isUrgent: boolean) => {
    const giveBack = await acquire({ isUrgent })
    order.push(`${name} in`)
    await new Promise(setImmediate)
    order.push(`${name} out`)
    giveBack()
    giveBack()
  }
  const all = [hold('a', false), hold('b', false), hold('c', true), hold('d', true)]
  release()
  await Promise.all(all)
  assert.deepEqual(order, ['c in', 'c out', 'd in', 'd out', 'a in', 'a out', 'b in', 'b out'])
  ;(await acquire())()
})

test('a full queue and a long wait are refused, and a released slot goes to the next waiter', async () => {
  const { acquire, taken, waiting } = createSemaphore(1, { maxWaiting: 1, maxWaitMs: 1 })
  const release = await acquire()
  const late = acquire()
  await assert.rejects(acquire(), Busy)
  await assert.rejects(late, Busy)
  assert.deepEqual([taken(), waiting()], [1, 0])
  const next = acquire()
  release()
  ;(await next)()
  assert.deepEqual([taken(), waiting()], [0, 0])
})

test('an aborted waiter leaves the queue and takes no slot', async () => {
  const { acquire, taken, waiting } = createSemaphore(1)
  const release = await acquire()
  const [first, second] = [new AbortController(), new AbortController()]
  const waits = [acquire({ signal: first.signal }), acquire({ signal: second.signal })]
  first.abort(new Error('gone'))
  await assert.rejects(acquire({ signal: first.signal }), /gone/)
  await assert.rejects(waits[0] ?? Promise.resolve(), /gone/)
  release()
  const releaseSecond = await waits[1]
  second.abort(new Error('too late'))
  assert.deepEqual([taken(), waiting()], [1, 0])
  releaseSecond?.()
  assert.equal(taken(), 0)
})

const insert = (queries: Database['queries'], name: string) => sql`insert into names values (${name})`.execute(queries)

async function namesDatabase(t: TestContext, file: string, sync = syncData): Promise<Database> {
  const database = openSqlite(file, sync)
  t.after(() => database.close())
  await sql`create table names (name text)`.execute(database.queries)
  return database
}

test('an urgent transaction overtakes others', async (t) => {
  const database = await namesDatabase(t, join(temporaryFolder(t), 'names.db'))
  let done = 0
  const others = Array.from({ length: 200 }, (_, index) =>
    database.transaction((tx) => insert(tx, String(index))).then(() => done++),
  )
  let before = Infinity
  const urgent = database.transaction((tx) => insert(tx, 'urgent'), { isUrgent: true }).then(() => (before = done))
  await Promise.all([...others, urgent])
  assert.ok(before < 100, `${before} went before it`)
})

test('a single write that waits for the disk does not delay others', async (t) => {
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  let syncs = 0
  const file = join(temporaryFolder(t), 'names.db')
  const database = await namesDatabase(t, file, async (fd) => {
    if (++syncs > 1) await gate
    await syncData(fd)
  })
  const written = [insert(database.queries, 'a'), insert(database.queries, 'b')]
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  const other = new DatabaseSync(file)
  const names = other.prepare('select name from names').all()
  other.close()
  open(undefined)
  await Promise.all(written)
  assert.equal(names.length, 2)
})
