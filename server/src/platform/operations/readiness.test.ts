import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import { migrations } from '../../migrations/migrations.ts'
import { createReadiness } from './readiness.ts'

onBothDatabases('readiness', (engine) => {
  test('frequent readyz requests write to the database at most ten times a second', async (t) => {
    const { database } = await startService(t, engine)
    const probedAt: number[] = []
    const probe = () => {
      probedAt.push(performance.now())
      return database.probe()
    }
    const { assertReady } = createReadiness({
      database: { ...database, probe },
      diskSpace: () => 'ok',
      newestMigration: migrations.length,
    })
    for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 50 }, assertReady))
    const pauses = probedAt.slice(1).map((at, index) => at - (probedAt[index] ?? 0))
    assert.equal(pauses.length, 3, 'each round shares one probe')
    // Timers are exact to the millisecond only.
    assert.ok(
      pauses.every((ms) => ms >= 98),
      pauses.join(),
    )
  })
})
