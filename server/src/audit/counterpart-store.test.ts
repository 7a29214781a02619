import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { countTurns } from '../../testkit/turns.ts'
import type { Engine } from '../platform/database/database.ts'
import { auditListStore } from '../call-log/audit-list-store.ts'
import { createStores } from '../stores.ts'

/** An agent with so many users, a minute between two of its records. */
async function startWithUsers(t: TestContext, engine: Engine, users: number) {
  const service = await startService(t, engine)
  const { database, clock } = service
  const { queries } = database
  const { audit } = createStores({ ...service, clock: clock.now })
  const agentId = 'agt_a'
  /** Newest first. */
  const made: string[] = []
  const record = async (count: number) => {
    await database.transaction(async (tx) => {
      for (let index = 0; index < count; index++) {
        clock.advance(60)
        const userId = `usr_${(index * 7) % users}`
        made.unshift(await audit.append(tx, { event: 'proxy.attempt', at: clock.now(), agentId, userId }))
      }
    })
  }
  const page = async (before: string | undefined, limit = 100) => {
    const { records, nextCursor, looked } = await auditListStore.list(queries, { agentId }, {}, { limit, before })
    return { ids: records.map(({ audit_id }) => audit_id), nextCursor, looked }
  }
  return { ...service, queries, audit, agentId, made, record, page }
}

onBothDatabases('the list of a caller with many counterparts', (engine) => {
  test('is complete, and looks each of them up only for the first pages', async (t) => {
    const { made, record, page } = await startWithUsers(t, engine, 300)
    await record(1_000)
    const ids: string[] = []
    const looked: number[] = []
    for (let before: string | undefined; ;) {
      const read = await page(before)
      ids.push(...read.ids)
      looked.push(read.looked)
      if (read.nextCursor === null) break
      before = read.nextCursor
    }
    assert.deepEqual(ids, made)
    assert.ok((looked[1] ?? 0) >= 400, looked.join(' '))
    for (const rows of looked.slice(2, -1)) assert.ok(rows < (looked[1] ?? 0) - 100, looked.join(' '))
  })

  test('has new records even if another page was read before', async (t) => {
    const { made, record, page } = await startWithUsers(t, engine, 300)
    await record(600)
    const old = made[100]
    for (const before of [old, made[200], made[300]]) await page(before)
    await record(50)
    assert.deepEqual((await page(undefined)).ids, made.slice(0, 100))
    assert.deepEqual((await page(made[10])).ids, made.slice(11, 111))
    const from = made.indexOf(old ?? '')
    assert.deepEqual((await page(old)).ids, made.slice(from + 1, from + 101))
  })

  test('has a record that is committed late, before a position already read', async (t) => {
    const { made, record, page, audit, queries, agentId, clock } = await startWithUsers(t, engine, 300)
    await record(600)
    const [newest, before, below] = [made[0], made[2], made[3]]
    assert.ok(newest && before && below)
    for (let repeat = 0; repeat < 3; repeat++) assert.equal((await page(before)).ids[0], below)
    const late = `${before.slice(0, 14)}${'0'.repeat(16)}`
    assert.ok(late < before && late > below)
    const userId = 'usr_299'
    await audit.append(queries, { auditId: late, event: 'proxy.attempt', at: clock.now(), agentId, userId })
    assert.deepEqual((await page(before)).ids.slice(0, 2), [late, below])
  })

  test('does not block the event loop while they are looked up', async (t) => {
    const { record, page } = await startWithUsers(t, engine, 2_600)
    await record(2_600)
    const turns = countTurns()
    assert.equal((await page(undefined, 10)).ids.length, 10)
    assert.ok(turns.end() >= 5)
  })
})
