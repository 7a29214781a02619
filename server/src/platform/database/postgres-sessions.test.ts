import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { migratedPostgres } from '../../../testkit/databases.ts'
import { startPooler } from '../../../testkit/postgres-pooler.ts'
import { Secret } from '../secret.ts'
import { migrate } from '../../migrations/migrations.ts'
import { openPostgres } from './postgres.ts'
import { SessionsShared } from './postgres-sessions.ts'

async function openThrough(t: TestContext, mode: 'session' | 'transaction' | undefined) {
  const url = new URL(await migratedPostgres(t))
  if (mode) url.port = String((await startPooler(t, Number(url.port), mode)).port)
  const database = openPostgres(new Secret(url.href), { isInsecure: false })
  t.after(() => database.close())
  return database
}

test('transaction pooling is distinguished from session pooling and from no pooler', async (t) => {
  await assert.rejects((await openThrough(t, 'transaction')).assertOwnSessions?.() ?? Promise.resolve(), SessionsShared)
  await (await openThrough(t, 'session')).assertOwnSessions?.()
  await (await openThrough(t, undefined)).assertOwnSessions?.()
})

test('session pooling needs no extra settings, and our session settings apply', async (t) => {
  const database = await openThrough(t, 'session')
  await migrate(database, fixedClock().now)
  await database.probe()
  const { rows } = await sql<{ limit: string }>`select current_setting('statement_timeout') as limit`.execute(
    database.queries,
  )
  assert.deepEqual(rows, [{ limit: '10s' }])
})
