import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import type { Database, Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { cacheByVersion } from './version-cache.ts'

const select = prepared((queries: Queries, { userId }: { userId: string }) =>
  queries.selectFrom('users').select('name').where('user_id', '=', userId),
)
const note = prepared(
  (tx: Queries, { userId }: { userId: string }) =>
    tx.updateTable('users').set({ name: 'noted' }).where('user_id', '=', userId),
  { leavesCachesValid: true },
)

/** Reads a row through a memory, and counts how often it was really read. */
async function startReading({ queries }: Database) {
  await queries.insertInto('users').values({ user_id: 'a', name: '1', created_at: 0, requires_device: 0 }).execute()
  let reads = 0
  const find = cacheByVersion(async (from, userId) => {
    reads++
    const [row] = await select(from, { userId })
    return row
  })
  return { read: async (from = queries) => Number((await find(from, 'a'))?.name), reads: () => reads }
}

const write = (queries: Queries, name: number) =>
  queries
    .updateTable('users')
    .set({ name: `${name}` })
    .execute()

onBothDatabases('what was read', (engine) => {
  test('is read again after a write by this instance', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const { read } = await startReading(database)
    assert.equal(await read(), 1)
    await write(database.queries, 2)
    assert.equal(await read(), 2)
    await database.transaction((tx) => write(tx, 3))
    assert.equal(await read(), 3)
  })

  test('is read again after a write by another instance', async (t) => {
    const open = await migratedDatabase(t, engine)
    const [here, there] = [open(), open()]
    const { read } = await startReading(here)
    assert.equal(await read(), 1)
    await write(there.queries, 2)
    assert.equal(await read(), 2)
    await there.transaction((tx) => write(tx, 3))
    assert.equal(await read(), 3)
  })

  test('before a commit is the old value, which is not cached beyond the commit', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const { read } = await startReading(database)
    await database.transaction(async (tx) => {
      await write(tx, 2)
      assert.equal(await read(), 1)
      assert.equal(await read(tx), 2)
    })
    assert.equal(await read(), 2)
  })

  test('during a write is not cached', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    await startReading(database)
    const find = cacheByVersion(async (queries, userId) => {
      const [row] = await select(queries, { userId })
      if (row?.name === '1') await write(database.queries, 2)
      return row
    })
    assert.equal((await find(database.queries, 'a'))?.name, '1')
    assert.equal((await find(database.queries, 'a'))?.name, '2')
  })

  test('after a transaction was rolled back is still the old value', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const { read } = await startReading(database)
    const undone = database.transaction(async (tx) => {
      await write(tx, 2)
      await read()
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    assert.equal(await read(), 1)
  })
})

test('on SQLite it is read once, despite writes that leave caches valid', async (t) => {
  const database = (await migratedDatabase(t, 'sqlite'))()
  const { read, reads } = await startReading(database)
  for (let count = 0; count < 5; count++) {
    await read()
    await database.transaction((tx) => note(tx, { userId: 'b' }))
    await select(database.queries, { userId: 'a' })
  }
  assert.equal(reads(), 1)
  await sql`update users set name = '7'`.execute(database.queries)
  assert.equal(await read(), 7)
  assert.equal(reads(), 2)
})

test('on SQLite it stays cached when a write changed no rows', async (t) => {
  const { queries } = (await migratedDatabase(t, 'sqlite'))()
  const { read, reads } = await startReading({ queries } as Database)
  await read()
  await queries.updateTable('users').set({ name: '2' }).where('user_id', '=', 'b').returning('user_id').execute()
  await queries.deleteFrom('users').where('user_id', '=', 'b').execute()
  await read()
  assert.equal(reads(), 1)
})

test('a missing row is looked up each time', async (t) => {
  const database = (await migratedDatabase(t, 'sqlite'))()
  let reads = 0
  const find = cacheByVersion<object>(() => {
    reads++
    return Promise.resolve(undefined)
  })
  await find(database.queries, 'a')
  await find(database.queries, 'a')
  assert.equal(reads, 2)
})
