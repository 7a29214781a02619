import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { emptyDatabase, migratedDatabase } from '../../../testkit/open-database.ts'
import { migrate, migrations } from '../../migrations/migrations.ts'
import type { Database } from './database.ts'
import { DatabaseTooNew, lastMigration } from './migrate.ts'

const clock = fixedClock().now

const numbers = async ({ queries }: Database) =>
  (await queries.selectFrom('migrations').select('number').orderBy('number').execute()).map(({ number }) => number)

async function tables({ engine, queries }: Database): Promise<string[]> {
  const { rows } = await (
    engine === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`
      : sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public'`
  ).execute(queries)
  return rows.map(({ name }) => name).sort()
}

test('migrations are numbered from one, without a gap', () => {
  assert.deepEqual(
    migrations.map(({ number }) => number),
    migrations.map((_, index) => index + 1),
  )
})

onBothDatabases('migrating', (engine) => {
  test('brings an empty database up to date, once', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    assert.deepEqual(await migrate(database, clock), migrations)
    const all = migrations.map(({ number }) => number)
    assert.deepEqual(await numbers(database), all)
    assert.deepEqual(await migrate(database, clock), [])
    assert.deepEqual(await numbers(database), all)
    assert.equal(await lastMigration(database.queries), migrations.length)
  })

  test('by several instances concurrently is done by one of them', async (t) => {
    const instances = Array.from({ length: 4 }, await emptyDatabase(t, engine))
    const done = await Promise.all(instances.map((database) => migrate(database, clock)))
    assert.deepEqual(done.map(({ length }) => length).sort(), [0, 0, 0, migrations.length])
    for (const database of instances) await database.probe()
  })

  test('refuses a database of a newer version without changing it', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const newer = { number: migrations.length + 1, name: 'from the future', applied_at: 0 }
    await database.queries.insertInto('migrations').values(newer).execute()
    await assert.rejects(migrate(database, clock), DatabaseTooNew)
    assert.equal(await lastMigration(database.queries), newer.number)
  })

  test('that fails is rolled back and repeated completely', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    // The last table of the first migration stands in its way.
    await sql`create table audit_records (other text)`.execute(database.queries)
    await assert.rejects(migrate(database, clock), /already exists/)
    assert.deepEqual(await tables(database), ['audit_records'])
    await sql`drop table audit_records`.execute(database.queries)
    await migrate(database, clock)
    assert.ok((await tables(database)).includes('vault_keys'))
  })

  test('is reported by the readiness probe with its progress', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    await assert.rejects(database.probe(), /rate_limits/)
    await migrate(database, clock)
    const required = migrations.map(({ number, runsFrom = number }) => runsFrom)
    assert.equal(await database.probe(), Math.max(...required))
  })
})

test('migrating on PostgreSQL may take longer than other statements', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  const limit = `current_setting('statement_timeout')`
  const long = {
    number: migrations.length + 1,
    name: 'long',
    statements: () => [`create table seen as select ${limit}`],
  }
  await migrate(database, clock, [...migrations, long])
  const { rows } = await sql`select current_setting from seen`.execute(database.queries)
  assert.deepEqual(rows, [{ current_setting: '0' }])
  const after = await sql`select current_setting('statement_timeout')`.execute(database.queries)
  assert.deepEqual(after.rows, [{ current_setting: '10s' }])
})
