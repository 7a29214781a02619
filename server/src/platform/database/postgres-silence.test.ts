/** Connections on which nothing comes through any more, sessions that went bad, and more work than connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { migratedPostgres } from '../../../testkit/databases.ts'
import { fixedClock } from '../../../testkit/clock.ts'
import { startSilentRelay } from '../../../testkit/silent-relay.ts'
import { Busy } from '../limits/semaphore.ts'
import { Secret } from '../secret.ts'
import type { Database } from './database.ts'
import { isUnavailable } from './failures.ts'
import { migrate } from '../../migrations/migrations.ts'
import { openPostgres } from './postgres.ts'
import type { PostgresSettings } from './postgres.ts'
import { prepared } from './prepared.ts'

const limits = { connect: 2_000, statement: 20_000, silence: 300, pipelineSilence: 300, probe: 300, close: 300 }

async function openThroughRelay(t: TestContext, more: Partial<PostgresSettings> = {}) {
  const url = new URL(await migratedPostgres(t))
  const relay = await startSilentRelay(t, Number(url.port))
  url.port = String(relay.port)
  const database = openPostgres(new Secret(url.href), { isInsecure: false, limits, ...more })
  t.after(() => database.close())
  await migrate(database, fixedClock().now)
  return { relay, database }
}

let written = 0

const write = (database: Database) =>
  database.transaction((tx) =>
    tx
      .insertInto('rate_limits')
      .values({ key: `${written++}`, full_at: 0 })
      .execute(),
  )

const readShort = prepared((queries, { key }: { key: string }) =>
  queries.selectFrom('rate_limits').select('key').where('key', '=', key),
)

/** All that the service does with its database, once: by pool, by both lines, and the probe. */
async function useAll(database: Database): Promise<void> {
  await write(database)
  await readShort(database.queries, { key: 'any' })
  await database.runSingleStatement(sql`select 1`.compile(database.queries))
  await database.probe()
}

async function untilItWorks(work: () => Promise<void>): Promise<number> {
  for (let failures = 0; ; failures++) {
    try {
      await work()
      return failures
    } catch (error) {
      assert.ok(isUnavailable(error), String(error))
      assert.ok(failures < 20, 'it never works again')
      await sleep(50)
    }
  }
}

test('silent connections are dropped, and new ones replace them', async (t) => {
  const { relay, database } = await openThroughRelay(t)
  // As many connections as there can be.
  await Promise.all(Array.from({ length: 8 }, () => sql`select pg_sleep(0.05)`.execute(database.queries)))
  await untilItWorks(() => useAll(database))
  const busy = database.transaction(async (tx) => {
    await sql`select 1`.execute(tx)
    relay.silence()
    await sql`select 1`.execute(tx)
  })
  await assert.rejects(busy, (error) => isUnavailable(error))
  await untilItWorks(() => useAll(database))
  // What was silent is not used again, be it by those who come together.
  await Promise.all(Array.from({ length: 8 }, () => write(database)))
})

test('a statement on a silent connection delays neither others nor the close', async (t) => {
  const { relay, database } = await openThroughRelay(t, {
    limits: { ...limits, silence: 60_000, pipelineSilence: 60_000 },
  })
  await untilItWorks(() => useAll(database))
  let isOver = false
  const hung = database
    .transaction(async (tx) => {
      relay.silence()
      await sql`select 1`.execute(tx)
    })
    .catch((error: unknown) => error)
    .finally(() => (isOver = true))
  await sleep(50)
  await untilItWorks(() => database.probe().then(() => undefined))
  assert.equal(isOver, false)
  await database.close()
  assert.ok(isUnavailable(await hung))
})

test('a session that became read-only is not used again', async (t) => {
  const { database } = await openThroughRelay(t, { poolSize: 1 })
  await sql`set session characteristics as transaction read only`.execute(database.queries)
  await assert.rejects(write(database), (error) => isUnavailable(error))
  await write(database)
})

test('a caller that waits too long for a connection, or behind too many, gets busy', async (t) => {
  const { database } = await openThroughRelay(t, {
    ...{ poolSize: 2, limits: { ...limits, silence: 60_000, wait: 200, waiting: 3 } },
  })
  const { pool } = database
  assert.ok(pool)
  const release = Promise.withResolvers<undefined>()
  const holding = [1, 2].map((one) =>
    database.transaction(async (tx) => {
      await sql`select ${one}`.execute(tx)
      await release.promise
    }),
  )
  while (pool().used !== 2) await sleep(5)
  const waiting = [1, 2, 3].map(() => write(database).catch((error: unknown) => error))
  while (pool().waiting !== 3) await sleep(5)
  await assert.rejects(write(database), Busy)
  assert.ok((await Promise.all(waiting)).every((error) => error instanceof Busy))
  release.resolve(undefined)
  await Promise.all(holding)
  await write(database)
  assert.deepEqual(pool(), { used: 0, waiting: 0, size: 2 })
})

test('a server that accepts connections and stays silent is unavailable', async (t) => {
  const { relay, database } = await openThroughRelay(t, { limits: { ...limits, connect: 200, probe: 200 } })
  await untilItWorks(() => useAll(database))
  relay.silenceFromNowOn()
  const uses: (() => Promise<unknown>)[] = [
    () => write(database),
    () => sql`select 1`.execute(database.queries),
    () => readShort(database.queries, { key: 'any' }),
    () => database.probe(),
  ]
  // Twice each: on connections that there are, and on new ones.
  for (const use of [...uses, ...uses]) await assert.rejects(use, (error) => isUnavailable(error))
  assert.equal(database.pool?.().used, 0)
})

test('a caller waiting for a connection when the database closes gets unavailable', async (t) => {
  const { database } = await openThroughRelay(t, { poolSize: 1 })
  const [begun, release] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const holding = database.transaction(async (tx) => {
    await sql`select 1`.execute(tx)
    begun.resolve(undefined)
    await release.promise
  })
  await begun.promise
  const waiting = write(database).catch((error: unknown) => error)
  while (database.pool?.().waiting !== 1) await sleep(5)
  const closed = database.close()
  release.resolve(undefined)
  await holding.catch(() => undefined)
  const error = await waiting
  assert.ok(isUnavailable(error), String(error))
  await closed
})
