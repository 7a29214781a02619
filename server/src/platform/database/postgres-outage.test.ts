import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { startPostgres } from '../../../testkit/postgres-server.ts'
import type { PostgresServer } from '../../../testkit/postgres-server.ts'
import { Secret } from '../secret.ts'
import type { Database, Queries } from './database.ts'
import { isUnavailable } from './failures.ts'
import { migrate } from '../../migrations/migrations.ts'
import { openPostgres } from './postgres.ts'

let server: PostgresServer
let database: Database

before(async () => {
  server = await startPostgres()
  database = openPostgres(new Secret(server.url), { isInsecure: false })
  await migrate(database, fixedClock().now)
})

after(async () => {
  await database.close()
  await server.stop()
})

const put = (queries: Queries, key: string) => queries.insertInto('rate_limits').values({ key, full_at: 0 }).execute()

const has = async (key: string) =>
  (await database.queries.selectFrom('rate_limits').where('key', '=', key).select('key').execute()).length === 1

async function assertUnavailable(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => isUnavailable(error))
}

test('a stopped server makes the database unavailable until it runs again', async () => {
  await put(database.queries, 'before the halt')
  await server.halt()
  await assertUnavailable(database.probe())
  await assertUnavailable(put(database.queries, 'lost'))
  await assertUnavailable(database.transaction((tx) => put(tx, 'lost')))
  await server.resume()
  await database.probe()
  assert.ok(await has('before the halt'))
  assert.ok(!(await has('lost')))
})

test('a stop during a transaction rolls it back and has no other effect', async () => {
  const cut = database.transaction(async (tx) => {
    await put(tx, 'half')
    await server.halt()
    await put(tx, 'other half')
  })
  await assertUnavailable(cut)
  await server.resume()
  assert.ok(!(await has('half')))
  await database.transaction((tx) => put(tx, 'whole'))
  assert.ok(await has('whole'))
})

test('a connection that breaks while idle or checked out does not crash the process', async () => {
  const idle = await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.01)`.execute(database.queries)))
  assert.equal(idle.length, 3)
  const asleep = database.queries.connection().execute(async (connection) => {
    await sql`select 1`.execute(connection)
    await server.halt()
    // The client learns of its end here, while it is checked out and has no query to fail.
    await new Promise(setImmediate)
  })
  await asleep
  await server.resume()
  await database.probe()
})

test('a backend that an operator terminated is replaced', async () => {
  const cut = database.transaction(async (tx) => {
    await put(tx, 'ended')
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx)
  })
  await assertUnavailable(cut)
  assert.ok(!(await has('ended')))
})

test('a server that refuses to write is unavailable', async () => {
  const refused = database.transaction(async (tx) => {
    await sql`set transaction read only`.execute(tx)
    await put(tx, 'read only')
  })
  await assertUnavailable(refused)
})

test('64-bit integers are returned as numbers', async () => {
  const { rows } = await sql<{ at: unknown }>`select 1794744000000::bigint as at`.execute(database.queries)
  assert.deepEqual(rows, [{ at: 1_794_744_000_000 }])
})
