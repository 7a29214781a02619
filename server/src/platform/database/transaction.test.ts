import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import { beforeCommit } from './database.ts'
import type { Database, Queries } from './database.ts'

const put = (queries: Queries, key: string, value = 0) =>
  queries.insertInto('rate_limits').values({ key, full_at: value }).execute()

const add = (queries: Queries, key: string) =>
  sql`update rate_limits set full_at = full_at + 1 where key = ${key}`.execute(queries)

const valueOf = async (queries: Queries, key: string) =>
  (await queries.selectFrom('rate_limits').select('full_at').where('key', '=', key).executeTakeFirst())?.full_at

const count = async ({ queries }: Database) => (await queries.selectFrom('rate_limits').select('key').execute()).length

onBothDatabases('a transaction', (engine) => {
  test('that throws is rolled back and rejects with the error', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const failed = database.transaction(async (tx) => {
      await put(tx, 'a')
      await put(tx, 'b')
      throw new RangeError('ours')
    })
    await assert.rejects(failed, RangeError)
    assert.equal(await count(database), 0)
    await database.transaction((tx) => put(tx, 'c'))
    assert.equal(await count(database), 1)
  })

  test('is not retried after an error of our own', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    let runs = 0
    const failed = database.transaction(async (tx) => {
      runs++
      await sql`select * from no_such_table`.execute(tx)
    })
    await assert.rejects(failed)
    assert.equal(runs, 1)
  })

  test('that swallows the error of a statement is not committed', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    await put(database.queries, 'taken')
    const work = database.transaction(async (tx) => {
      await put(tx, 'before')
      await put(tx, 'taken').catch(() => undefined)
    })
    // SQLite undoes the statement, PostgreSQL the transaction: never a half of it.
    if (engine === 'sqlite') await work
    else await assert.rejects(work)
    assert.equal(await count(database), engine === 'sqlite' ? 2 : 1)
  })

  test('is not visible until it is committed', async (t) => {
    const open = await migratedDatabase(t, engine)
    const [here, elsewhere] = [open(), open()]
    let outside: Promise<number> | undefined
    await here.transaction(async (tx) => {
      await put(tx, 'a')
      outside = count(here)
      assert.equal(await count(elsewhere), 0)
      await put(tx, 'b')
    })
    assert.ok([0, 2].includes((await outside) ?? -1), 'all or nothing')
    assert.equal(await count(elsewhere), 2)
  })

  test('loses no update among many others on two instances', async (t) => {
    const open = await migratedDatabase(t, engine)
    const instances = [open(), open()]
    await put(instances[0]?.queries ?? assert.fail(), 'sum')
    const runs = instances.flatMap((database) =>
      Array.from({ length: 15 }, (_, index) =>
        database.transaction(async (tx) => {
          await add(tx, 'sum')
          await put(tx, `${instances.indexOf(database)} ${index}`)
        }),
      ),
    )
    await Promise.all(runs)
    assert.equal(await valueOf(open().queries, 'sum'), 30)
    assert.equal(await count(open()), 31)
  })

  test('runs its last steps before the commit, and reports the result to them', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const heard: string[] = []
    const leave = (tx: Queries, run: () => Promise<unknown>) =>
      beforeCommit(tx, {
        run: async () => {
          heard.push('last')
          await run()
        },
        ended: (result) => heard.push(result),
      })
    await database.transaction(async (tx) => {
      assert.ok(leave(tx, () => put(tx, 'last')))
      await put(tx, 'first')
      heard.push('first')
    })
    assert.deepEqual(heard.splice(0), ['first', 'last', 'committed'])
    assert.equal(await count(database), 2)

    const failed = database.transaction((tx) => {
      leave(tx, () => Promise.resolve())
      return Promise.reject(new RangeError('ours'))
    })
    await assert.rejects(failed, RangeError)
    assert.deepEqual(heard.splice(0), ['undone'])

    const failedLast = database.transaction(async (tx) => {
      await put(tx, 'third')
      leave(tx, () => Promise.reject(new RangeError('ours')))
    })
    await assert.rejects(failedLast, RangeError)
    assert.deepEqual(heard.splice(0), ['last', 'undone'])
    assert.equal(await count(database), 2)
    assert.equal(
      leave(database.queries, () => Promise.resolve()),
      false,
      'no transaction, no end of one',
    )
  })
})

/** Each waits until the other has come as far, but only the first time: a second run finds its way free. */
function meetingPoint(parties: number): () => Promise<void> {
  let missing = parties
  const { promise, resolve } = Promise.withResolvers<undefined>()
  return async () => {
    if (--missing <= 0) resolve(undefined)
    await promise
  }
}

test('two transactions in a deadlock both succeed', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  await put(database.queries, 'a')
  await put(database.queries, 'b')
  const bothHoldOne = meetingPoint(2)
  let runs = 0
  const states: unknown[] = []
  const inOrder = (first: string, second: string) =>
    database.transaction(async (tx) => {
      runs++
      await add(tx, first)
      await bothHoldOne()
      await add(tx, second).catch((error: unknown) => {
        states.push((error as { code: string }).code)
        throw error
      })
    })
  await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')])
  // A busy server may end both of them before one gets through.
  assert.ok(states.length > 0 && states.every((state) => state === '40P01'), String(states))
  assert.equal(runs, 2 + states.length)
  assert.deepEqual([await valueOf(database.queries, 'a'), await valueOf(database.queries, 'b')], [2, 2])
})

test('a transaction with a serialization failure is retried', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  await put(database.queries, 'a')
  const bothHaveRead = meetingPoint(2)
  let runs = 0
  const addAfterReading = () =>
    database.transaction(async (tx) => {
      runs++
      await sql`set transaction isolation level repeatable read`.execute(tx)
      const value = (await valueOf(tx, 'a')) ?? 0
      await bothHaveRead()
      await tx
        .updateTable('rate_limits')
        .set({ full_at: value + 1 })
        .where('key', '=', 'a')
        .execute()
    })
  await Promise.all([addAfterReading(), addAfterReading()])
  assert.equal(runs, 3)
  assert.equal(await valueOf(database.queries, 'a'), 2)
})

test('a transaction that fails at every retry rejects with the last error', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  let runs = 0
  const lost = database.transaction(async (tx) => {
    runs++
    await sql`do $$ begin raise exception 'lost' using errcode = '40001'; end $$`.execute(tx)
  })
  await assert.rejects(lost, { code: '40001' })
  assert.equal(runs, 6)
})
