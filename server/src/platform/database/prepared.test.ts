import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import { prepared } from './prepared.ts'

let built = 0
const insertLimit = prepared<{ key: string; fullAt: number }, { key: string }>((queries, { key, fullAt }) => {
  built++
  return queries.insertInto('rate_limits').values({ key, full_at: fullAt }).returning('key')
})
const fullAfter = prepared<{ fullAt: number }, { key: string }>((queries, { fullAt }) =>
  queries
    .selectFrom('rate_limits')
    .select('key')
    .where('full_at', '>', fullAt)
    .where('key', 'like', 'p%')
    .orderBy('key'),
)

onBothDatabases('a prepared statement', (engine) => {
  test('is built once and used with different values', async (t) => {
    const { database } = await startService(t, engine)
    built = 0
    const keys = async (rows: Promise<{ key: string }[]>) => (await rows).map(({ key }) => key)
    assert.deepEqual(await keys(insertLimit(database.queries, { key: 'p1', fullAt: 1 })), ['p1'])
    assert.deepEqual(await keys(insertLimit(database.queries, { fullAt: 2, key: 'p2' })), ['p2'])
    assert.ok(built <= 1)
    assert.deepEqual(await keys(fullAfter(database.queries, { fullAt: 0 })), ['p1', 'p2'])
    assert.deepEqual(await keys(fullAfter(database.queries, { fullAt: 1 })), ['p2'])
  })

  test('in a transaction that fails is rolled back', async (t) => {
    const { database } = await startService(t, engine)
    const failing = database.transaction(async (tx) => {
      await insertLimit(tx, { key: 'p3', fullAt: 3 })
      throw new Error('undone')
    })
    await assert.rejects(failing, /undone/)
    assert.deepEqual(await fullAfter(database.queries, { fullAt: 0 }), [])
  })
})
