import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import { perMinute, perSecond, takeFromLimit } from './rate-limits.ts'

onBothDatabases('rate limits', (engine) => {
  test('a clock that was briefly years ahead locks nobody out', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const limit = perMinute(3)
    const now = fixedClock().now()
    const ahead = new Date(now.getTime() + 5 * 365 * 86_400_000)
    await takeFromLimit(queries, 'a', limit, ahead)
    await takeFromLimit(queries, 'a', limit, now)
    // The bucket is as good as empty, and fills as ever.
    await assert.rejects(takeFromLimit(queries, 'a', limit, now), { code: 'rate_limited', retryAfterSeconds: 20 })
    await takeFromLimit(queries, 'a', limit, new Date(now.getTime() + 20_000))
  })

  test('a clock that is set back by an hour locks nobody out', async (t) => {
    const { queries } = (await migratedDatabase(t, engine))()
    const limit = perMinute(3)
    const now = fixedClock().now()
    const before = new Date(now.getTime() + 3_600_000)
    for (let call = 0; call < 3; call++) await takeFromLimit(queries, 'a', limit, before)
    await takeFromLimit(queries, 'a', limit, now)
    await assert.rejects(takeFromLimit(queries, 'a', limit, now), { code: 'rate_limited', retryAfterSeconds: 20 })
  })

  for (const seconds of [15, 45, 3_600]) {
    test(`a clock that is set back by ${seconds} seconds does not refuse calls within the limit`, async (t) => {
      const { queries } = (await migratedDatabase(t, engine))()
      const limit = perSecond(10, 100)
      const now = fixedClock().now()
      await takeFromLimit(queries, 'a', limit, new Date(now.getTime() + seconds * 1000))
      await takeFromLimit(queries, 'a', limit, now)
    })
  }
})
