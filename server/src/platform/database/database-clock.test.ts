import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import { followDatabaseClock } from './database-clock.ts'

test("instances on PostgreSQL use the database's time, whatever their own clocks say", async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  let monotonic = 1000
  let system = new Date('2001-01-01T00:00:00Z')
  const clock = await followDatabaseClock(
    database,
    () => system,
    () => monotonic,
  )
  const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(database.queries)
  const difference = (rows[0]?.at.getTime() ?? 0) - clock.now().getTime()
  // It was asked a moment ago, and stands still since.
  assert.ok(difference >= 0 && difference < 60_000, `${difference} ms`)
  const before = clock.now().getTime()
  system = new Date('2040-01-01T00:00:00Z')
  assert.equal(clock.now().getTime(), before, 'a jump does not show')
  assert.equal(clock.offsetMs(), system.getTime() - before)
  monotonic += 5000
  assert.equal(clock.now().getTime(), before + 5000)
  await clock.adjust()
  assert.ok(clock.now().getTime() < before + 60_000, 'it follows the database, not the monotonic clock')
})

test('the clock keeps running while the database is down', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  let monotonic = 0
  const clock = await followDatabaseClock(database, fixedClock().now, () => monotonic)
  const before = clock.now().getTime()
  await database.close()
  await assert.rejects(clock.adjust())
  monotonic += 1000
  assert.equal(clock.now().getTime(), before + 1000)
})

test('a slow response does not move the clock', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  let monotonic = 0
  let stepMs = 0
  const clock = await followDatabaseClock(database, fixedClock().now, () => (monotonic += stepMs))
  const before = clock.now().getTime()
  stepMs = 10_000
  await clock.adjust()
  stepMs = 0
  assert.equal(clock.now().getTime(), before + monotonic)
})

test('on SQLite it is the system clock', async (t) => {
  const system = fixedClock()
  const clock = await followDatabaseClock((await migratedDatabase(t, 'sqlite'))(), system.now)
  assert.deepEqual(clock.now(), system.now())
  assert.equal(clock.offsetMs(), 0)
})
