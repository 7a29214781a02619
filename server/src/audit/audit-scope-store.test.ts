import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine, Queries } from '../platform/database/database.ts'
import { recordColumns } from './audit-hash.ts'
import { recordsIn } from './audit-scope-store.ts'
import type { AuditScope } from './audit-scope-store.ts'
import { auditListStore } from '../call-log/audit-list-store.ts'
import type { AuditRecord } from './audit-record.ts'
import { callSeriesStore } from '../call-log/call-series-store.ts'
import { createStores } from '../stores.ts'

async function startLists(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { database, clock } = service
  const { audit } = createStores({ ...service, clock: clock.now })
  const put = (tx: Queries, record: Partial<AuditRecord>) => {
    clock.advance(0.001)
    return audit.append(tx, { event: 'proxy.attempt', at: clock.now(), ...record })
  }
  /** Page by page, and counted piece by piece: both hold the same. */
  const all = async (scope: AuditScope, limit: number) => {
    const ids: string[] = []
    for (let before: string | undefined; ;) {
      const { records, nextCursor } = await auditListStore.list(database.queries, scope, {}, { limit, before })
      ids.push(...records.map(({ audit_id }) => audit_id))
      if (nextCursor === null) break
      assert.equal(records.length, limit)
      before = nextCursor
    }
    const counted: string[] = []
    for (let before: string | undefined; ;) {
      const rows = await callSeriesStore.read(database.queries, scope, { before }, { limit, withCalls: false })
      counted.push(...rows.map(({ auditId }) => auditId))
      if (rows.length < limit) break
      before = rows.at(-1)?.auditId
    }
    assert.deepEqual(counted, ids)
    return ids
  }
  return { ...service, put, all }
}

onBothDatabases('the list of an agent or a user', (engine) => {
  test('has its own records and those shared with others, in order, with any page size', async (t) => {
    const { database, put, all } = await startLists(t, engine)
    const [agents, users] = [
      ['agt_a', 'agt_b', undefined],
      ['usr_a', 'usr_b', 'usr_c', undefined],
    ]
    const made: { auditId: string; agentId: string | undefined; userId: string | undefined }[] = []
    await database.transaction(async (tx) => {
      for (let count = 0; count < 60; count++) {
        const who = { agentId: agents[count % 3], userId: users[(count * 7) % 4] }
        const event = count % 5 === 0 ? 'grant.revoked' : 'proxy.attempt'
        const auditId = await put(tx, { ...who, event })
        await put(tx, { ...who, auditId, event: 'proxy.outcome', outcome: 'answered' })
        made.unshift({ auditId, ...who })
      }
    })
    for (const limit of [1, 3, 7, 200]) {
      for (const agentId of ['agt_a', 'agt_b', 'agt_none']) {
        const expected = made.filter((one) => one.agentId === agentId).map(({ auditId }) => auditId)
        assert.deepEqual(await all({ agentId }, limit), expected)
      }
      for (const userId of ['usr_a', 'usr_b', 'usr_c', 'usr_none']) {
        const expected = made.filter((one) => one.userId === userId).map(({ auditId }) => auditId)
        assert.deepEqual(await all({ userId }, limit), expected)
      }
    }
  })

  test('is complete with many counterparts, and a page reads no more records than it shows', async (t) => {
    const { database, put, all } = await startLists(t, engine)
    const agentId = 'agt_a'
    const expected = await database.transaction(async (tx) => {
      const ids: string[] = []
      for (let count = 0; count < 230; count++) {
        // Some often, some seldom, one long ago and never again.
        const userId = count === 0 ? 'usr_first' : `usr_${(count * count) % 101}`
        ids.unshift(await put(tx, { agentId, userId }))
        await put(tx, { agentId: 'agt_b', userId })
      }
      return ids
    })
    for (const limit of [9, 64, 200]) assert.deepEqual(await all({ agentId }, limit), expected)
    const page = await auditListStore.list(database.queries, { agentId }, {}, { limit: 9, before: expected[50] })
    assert.equal(page.looked, 9)
  })

  test('has a record that is committed late, below a cursor that was used before', async (t) => {
    const { database, put } = await startLists(t, engine)
    const agentId = 'agt_a'
    const page = async (before: string) => {
      const { records } = await auditListStore.list(database.queries, { agentId }, {}, { limit: 2, before })
      return records.map(({ audit_id }) => audit_id)
    }
    const below = await put(database.queries, { agentId, userId: 'usr_a' })
    const before = await put(database.queries, { agentId, userId: 'usr_b' })
    assert.deepEqual(await page(before), [below])
    const late = `${before.slice(0, 14)}${'0'.repeat(16)}`
    assert.ok(late < before && late > below)
    await put(database.queries, { auditId: late, agentId, userId: 'usr_c' })
    assert.deepEqual(await page(before), [late, below])
  })

  test('is filtered and searched over all of them, each page within its limit', async (t) => {
    const { database, put } = await startLists(t, engine)
    const agentId = 'agt_a'
    const detail = { method: 'GET', host: 'rare.example.com', path: '/' }
    const rare = await put(database.queries, { agentId, userId: 'usr_7', provider: 'rare', detail })
    await database.transaction(async (tx) => {
      for (let count = 0; count < 5_600; count++) await put(tx, { agentId, userId: `usr_${count % 40}` })
    })
    for (const filter of [{ provider: 'rare' }, { words: ['rare'] }]) {
      const found: string[] = []
      let pages = 0
      for (let before: string | undefined; ; pages++) {
        const wanted = { limit: 50, before }
        const { records, nextCursor } = await auditListStore.list(database.queries, { agentId }, filter, wanted)
        found.push(...records.map(({ audit_id }) => audit_id))
        if (nextCursor === null) break
        before = nextCursor
      }
      assert.deepEqual(found, [rare])
      assert.ok(pages >= 1 && pages <= 3, `${pages}`)
    }
  })

  test('is one range of an index, in order, also after a long idle time', async (t) => {
    const { database, put, clock } = await startLists(t, engine)
    await database.transaction(async (tx) => {
      for (let count = 0; count < 6_000; count++) {
        const isBusy = count < 3_000 && count % 2 === 0
        await put(tx, isBusy ? { agentId: 'agt_0', userId: 'usr_0' } : { agentId: `agt_${count}`, userId: 'usr_1' })
      }
    })
    const { queries } = database
    if (engine === 'postgres') await sql`analyze`.execute(queries)
    const scopes: [AuditScope, RegExp][] = [
      [{ agentId: 'agt_0' }, /audit_records_by_agent/],
      [{ userId: 'usr_0' }, /audit_records_by_user/],
      [{ userId: 'usr_1' }, /audit_records_by_user/],
      [{}, /audit_records_by_id/],
    ]
    for (const [scope, index] of scopes) {
      for (const span of [{}, { before: 'aud_06' }, { since: clock.now(), until: clock.now() }]) {
        const compiled = recordsIn(queries, scope, span, recordColumns).limit(50).compile()
        const explain = engine === 'sqlite' ? 'explain query plan ' : 'explain '
        const { rows } = await queries.executeQuery<object>({ ...compiled, sql: explain + compiled.sql })
        const plan = rows.map((row) => JSON.stringify(row)).join('\n')
        assert.doesNotMatch(plan, /Seq Scan|Bitmap|Sort|SCAN|TEMP B-TREE/)
        assert.match(plan, index)
        // Both ends of the range are found in the index, on SQLite by comparing rows.
        assert.match(plan, /Index Cond.*>=.*<|>.*<|\(agent_id,audit_id\)/)
      }
    }
  })
})
