import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import type { Queries } from '../database/database.ts'
import { ServiceError } from '../errors.ts'
import { dropFullLimits, perDay, perHour, perMinute, perSecond, takeFromLimit } from './rate-limits.ts'
import type { RateLimit } from './rate-limits.ts'

/** The seconds to wait, or undefined if the call was allowed. */
async function refusal(queries: Queries, key: string, limit: RateLimit, now: Date): Promise<number | undefined> {
  try {
    await takeFromLimit(queries, key, limit, now)
    return undefined
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'rate_limited', String(error))
    return error.retryAfterSeconds
  }
}

test('a limit is a burst and a refill interval', () => {
  assert.deepEqual(perMinute(10), { burst: 10, periodMs: 6_000 })
  assert.deepEqual(perHour(60), { burst: 60, periodMs: 60_000 })
  assert.deepEqual(perDay(100), { burst: 100, periodMs: 864_000 })
  assert.deepEqual(perSecond(5, 20), { burst: 20, periodMs: 200 })
  assert.deepEqual(perMinute(7), { burst: 7, periodMs: 8_572 }, 'never more than was asked for')
})

onBothDatabases('rate limits', (engine) => {
  test('a burst passes, the next call is refused with a retry time, then one passes', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const limit = perMinute(3)
    const call = () => refusal(queries, 'a', limit, clock.now())
    assert.deepEqual([await call(), await call(), await call(), await call()], [undefined, undefined, undefined, 20])
    clock.advance(19.999)
    assert.equal(await call(), 1)
    clock.advance(0.001)
    assert.deepEqual([await call(), await call()], [undefined, 20])
  })

  test('a bucket refills up to its burst', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const call = () => refusal(queries, 'a', perMinute(2), clock.now())
    assert.deepEqual([await call(), await call(), await call()], [undefined, undefined, 30])
    clock.advance(86_400)
    assert.deepEqual([await call(), await call(), await call()], [undefined, undefined, 30])
  })

  test('a refused call costs nothing', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    const call = () => refusal(queries, 'a', perMinute(1), clock.now())
    assert.equal(await call(), undefined)
    for (let count = 0; count < 20; count++) assert.equal(await call(), 60)
    clock.advance(60)
    assert.equal(await call(), undefined)
  })

  test('each key has its own bucket', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const now = fixedClock().now()
    const limit = perMinute(1)
    assert.equal(await refusal(queries, 'a', limit, now), undefined)
    assert.equal(await refusal(queries, 'b', limit, now), undefined)
    assert.equal(await refusal(queries, 'A', limit, now), undefined)
    assert.equal(await refusal(queries, 'a', limit, now), 60)
  })

  test('a rolled-back transaction returns its tokens', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const now = fixedClock().now()
    const failed = database.transaction(async (tx) => {
      await takeFromLimit(tx, 'a', perMinute(1), now)
      throw new Error('later')
    })
    await assert.rejects(failed, /later/)
    assert.equal(await refusal(database.queries, 'a', perMinute(1), now), undefined)
    assert.equal(await refusal(database.queries, 'a', perMinute(1), now), 60)
  })

  test('of many concurrent callers on two instances exactly the burst passes', async (t) => {
    const open = await migratedDatabase(t, engine)
    const now = fixedClock().now()
    const callers = [open(), open()].flatMap((instance) => Array.from({ length: 20 }, () => instance))
    const calls = callers.map((instance) => instance.transaction((tx) => refusal(tx, 'a', perMinute(7), now)))
    const refusals = await Promise.all(calls)
    assert.equal(refusals.filter((wait) => wait === undefined).length, 7)
    assert.ok(refusals.every((wait) => wait === undefined || wait === 9))
  })

  test('a clock that is a second behind does not let more calls through', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const now = fixedClock().now()
    const earlier = new Date(now.getTime() - 1_000)
    assert.equal(await refusal(queries, 'a', perMinute(1), now), undefined)
    assert.equal(await refusal(queries, 'a', perMinute(1), earlier), 61)
    assert.equal(await refusal(queries, 'a', perMinute(1), now), 60)
  })

  test('a clock that is set back lets one more call through, then refuses as usual', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const now = fixedClock().now()
    const earlier = new Date(now.getTime() - 50_000)
    assert.equal(await refusal(queries, 'a', perMinute(1), now), undefined)
    assert.equal(await refusal(queries, 'a', perMinute(1), earlier), undefined)
    for (let call = 0; call < 3; call++) assert.equal(await refusal(queries, 'a', perMinute(1), earlier), 60)
  })

  test('only buckets that are full again are deleted', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const clock = fixedClock()
    await takeFromLimit(queries, 'short', perMinute(60), clock.now())
    await takeFromLimit(queries, 'long', perMinute(1), clock.now())
    clock.advance(30)
    await dropFullLimits(queries, clock.now())
    const kept = await queries.selectFrom('rate_limits').select('key').execute()
    assert.deepEqual(
      kept.map(({ key }) => key),
      ['long'],
    )
    assert.equal(await refusal(queries, 'long', perMinute(1), clock.now()), 30)
  })
})
