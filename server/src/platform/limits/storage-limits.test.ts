import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import { createStorageLimits } from './storage-limits.ts'

const kibibyte = 1024
const day = 86_400
const share = (key: string, kibibytes: number) => ({ key, maxBytes: kibibytes * kibibyte, refillMs: day * 1000 })
const one = share('one', 64)
const other = share('other', 64)
const all = share('all', 96)

onBothDatabases('storage limits', (engine) => {
  test('bytes count against every share, and a refusal takes from none', async (t) => {
    const service = await startService(t, engine)
    const { trySpend } = createStorageLimits({ ...service, clock: service.clock.now })
    assert.ok(await trySpend([one, all], 60 * kibibyte))
    assert.ok(!(await trySpend([one, all], 8 * kibibyte)), 'its own share is used up')
    assert.ok(!(await trySpend([other, all], 40 * kibibyte)), 'that of all has no room for so much')
    assert.ok(await trySpend([other, all], 30 * kibibyte), 'what was refused was not taken')
    assert.ok(await trySpend([one], 4 * kibibyte))
  })

  test('what is given back can be spent again', async (t) => {
    const service = await startService(t, engine)
    const { trySpend, giveBack } = createStorageLimits({ ...service, clock: service.clock.now })
    for (let time = 0; time < 50; time++) {
      assert.ok(await trySpend([one, all], 50 * kibibyte), `time ${time}`)
      giveBack([one, all], 50 * kibibyte)
    }
  })

  test('instances share them, and a day refills them', async (t) => {
    const service = await startService(t, engine)
    const clock = fixedClock()
    const instances = [1, 2].map(() => createStorageLimits({ database: service.database, clock: clock.now }))
    const spendAll = async () => {
      let spent = 0
      for (const { trySpend } of instances) while (await trySpend([one], kibibyte)) spent++
      return spent
    }
    assert.equal(await spendAll(), 64)
    clock.advance(day)
    assert.equal(await spendAll(), 64)
  })

  test('spending at the same time never exceeds a share', async (t) => {
    const service = await startService(t, engine)
    const { trySpend } = createStorageLimits({ ...service, clock: service.clock.now })
    const spent = await Promise.all(Array.from({ length: 300 }, () => trySpend([one, all], kibibyte)))
    const count = spent.filter(Boolean).length
    assert.ok(count > 32 && count <= 64, `${count}`)
  })
})
