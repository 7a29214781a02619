/** A version and the next one on one database: calls on both while it is expanded, and only then contracted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { recorded } from '../testkit/audit.ts'
import { fixedClock } from '../testkit/clock.ts'
import { migratedPostgres, onBothDatabases, temporaryFolder } from '../testkit/databases.ts'
import { migratedDatabase } from '../testkit/open-database.ts'
import { agentInSandbox } from '../testkit/sandbox.ts'
import { startService } from '../testkit/service.ts'
import type { TestService } from '../testkit/service.ts'
import { migrate, migrations } from './migrations/migrations.ts'
import { assertUsable, DatabaseTooNew, requiredMigration } from './platform/database/migrate.ts'
import type { Migration } from './platform/database/migrate.ts'
import { openDatabase } from './platform/operations/instance.ts'
import { mintToken } from './platform/tokens.ts'
import { newMasterKey } from './platform/vault/master-keys.ts'

const clock = fixedClock().now
const known = migrations.length
const hot = ['agents', 'users', 'grants', 'connections', 'providers', 'audit_records', 'rate_limits']

const expanding: Migration = {
  number: known + 1,
  name: 'expanding',
  runsFrom: known,
  statements: ({ number }) => [
    ...hot.map((table) => `alter table ${table} add column added ${number} not null default 0`),
    `create table added (id text primary key)`,
  ],
}
/** Removes what the version that knows the expanding one does not use. */
const contracting: Migration = {
  number: known + 2,
  name: 'contracting',
  runsFrom: known + 1,
  statements: () => ['drop table added'],
}
const next = [...migrations, expanding]

onBothDatabases('a database that a newer version', (engine) => {
  test('expanded can be used and started on by the version before', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    assert.deepEqual(await migrate(database, clock, next), [expanding])
    assert.equal(await database.probe(), known)
    assert.deepEqual(await migrate(database, clock), [])
    await assertUsable(database.queries, known)
  })

  test('contracted is refused by the version that used what is gone, and by no other', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    await migrate(database, clock, [...next, contracting])
    assert.equal(await database.probe(), known + 1)
    await assert.rejects(migrate(database, clock), DatabaseTooNew)
    assert.deepEqual(await migrate(database, clock, next), [])
  })

  test('made before versions could run side by side is one that its own version needs', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    await database.queries.schema.alterTable('migrations').dropColumn('runs_from').execute()
    await migrate(database, clock)
    assert.equal(await requiredMigration(database.queries), known)
  })
})

test('a migration that waits for a lock on PostgreSQL keeps no other query waiting', async (t) => {
  const open = await migratedDatabase(t, 'postgres')
  const [instance, migrating] = [open(), open()]
  const both = { ...expanding, statements: () => ['users', 'agents'].map((one) => `alter table ${one} add added text`) }
  const isLocked = Promise.withResolvers<boolean>()
  const mayEnd = Promise.withResolvers<boolean>()
  const call = instance.transaction(async (tx) => {
    await tx.selectFrom('agents').select('agent_id').limit(1).execute()
    isLocked.resolve(true)
    await mayEnd.promise
  })
  await isLocked.promise
  const migrated = migrate(migrating, clock, [...migrations, both])
  const waiting = sql<{ locks: number }>`select count(*) as locks from pg_locks where not granted`
  while ((await waiting.execute(instance.queries)).rows[0]?.locks === 0) await sleep(10)
  // Otherwise it would wait for the migration, which waits for the call.
  await instance.queries.selectFrom('users').select('user_id').limit(1).execute()
  mayEnd.resolve(true)
  await call
  assert.deepEqual(await migrated, [both])
})

/** Calls one after the other until it is told to end. */
function keepCalling(call: () => Promise<unknown>) {
  const state = { isOver: false, calls: 0 }
  const done = (async () => {
    while (!state.isOver) {
      await call()
      state.calls++
    }
  })()
  return {
    calls: () => state.calls,
    end: () => {
      state.isOver = true
      return done
    },
  }
}

test('calls on both versions succeed while one replaces the other on PostgreSQL, forth and back', async (t) => {
  const settings = {
    SALLYPORT_DATA_DIR: temporaryFolder(t),
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    SALLYPORT_SANDBOX_CALLS_PER_SECOND: '1000',
    SALLYPORT_SANDBOX_BURST: '10000',
    DATABASE_URL: await migratedPostgres(t),
  }
  const start = () => startService(t, 'postgres', settings)
  let proxiedCalls = 0
  const assertWorks = async (service: TestService, token: string, body: object) => {
    proxiedCalls++
    const proxied = await service.call('POST', '/v4/proxy', { token, body })
    assert.equal(proxied.status, 200, `${proxied.text}\n${service.log.slice(-3).join('')}`)
    const me = await service.call('GET', '/v4/agents/me', { token })
    assert.equal(me.status, 200, me.text)
    const grants = await service.call('GET', '/v4/grants', { token })
    assert.equal(grants.status, 200, grants.text)
  }
  const isReady = async (service: TestService) => (await service.call('GET', '/readyz')).status === 200
  const older = await start()
  const { token, grantId, echoUrl } = await agentInSandbox(older)
  const body = { grant_id: grantId, method: 'GET', url: echoUrl }
  const agents = Array.from({ length: 2 }, () => keepCalling(() => assertWorks(older, token, body)))

  const database = openDatabase(older.config, { hasNoLimits: true })
  t.after(() => database.close())
  assert.deepEqual(await migrate(database, clock, next), [expanding])
  const newer = await startService(t, 'postgres', settings, undefined, undefined, undefined, next)
  for (let round = 0; round < 5; round++) for (const one of [older, newer]) await assertWorks(one, token, body)
  assert.deepEqual([await isReady(older), await isReady(newer)], [true, true])
  const again = await start()
  for (let round = 0; round < 5; round++) for (const one of [again, newer]) await assertWorks(one, token, body)
  for (const agent of agents) {
    await agent.end()
    assert.ok(agent.calls() > 0)
  }

  await migrate(database, clock, [...next, contracting])
  assert.deepEqual([await isReady(older), await isReady(newer)], [false, true])
  await assert.rejects(start(), DatabaseTooNew)
  await assertWorks(newer, token, body)
  const records = await recorded(newer, 'proxy.attempt')
  assert.equal(records.length, proxiedCalls)
})
