import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { migratedDatabase } from '../../testkit/open-database.ts'
import type { Database } from '../platform/database/database.ts'
import { perSecond } from '../platform/limits/rate-limits.ts'
import { createPrepaidCalls } from './prepaid-calls.ts'
import type { TakeCall } from './prepaid-calls.ts'

const limit = perSecond(20, 200)

/** How many of so many calls got through. */
async function call(database: Database, take: TakeCall, now: Date, count: number, key = 'a'): Promise<number> {
  let through = 0
  for (let index = 0; index < count; index++) {
    try {
      await database.transaction(async (tx) => take(tx, { key, limit }, now))
      through++
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'rate_limited')
    }
  }
  return through
}

onBothDatabases('prepaid calls', (engine) => {
  test('are limited by the rate and refill one by one', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const { take } = createPrepaidCalls()
    assert.equal(await call(database, take, clock.now(), 210), 200)
    clock.advance(0.05)
    assert.equal(await call(database, take, clock.now(), 3), 1)
    clock.advance(1)
    assert.equal(await call(database, take, clock.now(), 30), 20)
  })

  test('are shared by instances, except for the few that each has reserved', async (t) => {
    const open = await migratedDatabase(t, engine)
    const [here, there] = [open(), open()]
    const clock = fixedClock()
    const [{ take: takeHere }, { take: takeThere }] = [createPrepaidCalls(), createPrepaidCalls()]
    assert.equal(await call(here, takeHere, clock.now(), 1), 1)
    assert.equal(await call(there, takeThere, clock.now(), 300), 190)
    assert.equal(await call(here, takeHere, clock.now(), 300), 9)
  })

  test('are each counted when concurrent', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const { take } = createPrepaidCalls()
    const all = database.transaction(async (tx) => {
      const calls = Array.from({ length: 60 }, async () => take(tx, { key: 'a', limit: perSecond(1, 50) }, clock.now()))
      return (await Promise.allSettled(calls)).filter(({ status }) => status === 'fulfilled').length
    })
    assert.equal(await all, 50)
  })

  test('do not affect other agents', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const { take } = createPrepaidCalls()
    assert.equal(await call(database, take, clock.now(), 205), 200)
    assert.equal(await call(database, take, clock.now(), 5, 'b'), 5)
  })
})
