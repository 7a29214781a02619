import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import type { Database } from './database.ts'
import { createPriorityLock } from './priority-lock.ts'
import { syncData } from './wal-sync.ts'
import { openSqlite } from './sqlite.ts'

test('one holds it at a time: those in a hurry first, then who came first', async () => {
  const { take } = createPriorityLock()
  const order: string[] = []
  const release = await take()
  const hold = async (name: string, isUrgent: boolean) => {
    const giveBack = await take({ isUrgent })
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
  ;(await take())()
})

const insert = (queries: Database['queries'], name: string) => sql`insert into names values (${name})`.execute(queries)

async function namesDatabase(t: TestContext, file: string, sync = syncData): Promise<Database> {
  const database = openSqlite(file, sync)
  t.after(() => database.close())
  await sql`create table names (name text)`.execute(database.queries)
  return database
}

test('an urgent transaction does not wait for a crowd of others', async (t) => {
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

test('a single write that waits for the disk holds up no other', async (t) => {
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
