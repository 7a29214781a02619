import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine, Queries } from '../platform/database/database.ts'
import { recordColumns } from './audit-hash.ts'
import { candidatesOf, rangesOf, readInPieces } from './audit-range-store.ts'
import type { AuditScope } from './audit-range-store.ts'
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
      const rows = await callSeriesStore.read(database.queries, scope, {}, { limit, before })
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
    const both = made.filter(({ agentId, userId }) => agentId === 'agt_a' && userId === 'usr_a')
    assert.deepEqual(
      await all({ agentId: 'agt_a', userId: 'usr_a' }, 3),
      both.map(({ auditId }) => auditId),
    )
  })

  test('is complete also with more counterparts than one statement merges', async (t) => {
    const { database, put, all } = await startLists(t, engine)
    const expected = await database.transaction(async (tx) => {
      const ids: string[] = []
      for (let count = 0; count < 230; count++) {
        // Some often, some seldom, one long ago and never again.
        const userId = count === 0 ? 'usr_first' : `usr_${(count * count) % 101}`
        ids.unshift(await put(tx, { agentId: 'agt_a', userId }))
        await put(tx, { agentId: 'agt_b', userId })
      }
      return ids
    })
    assert.ok((await rangesOf(database.queries, { agentId: 'agt_a' })).ranges.length > 45)
    for (const limit of [9, 64, 200]) assert.deepEqual(await all({ agentId: 'agt_a' }, limit), expected)
  })

  test('queries only counterparts with records on the page', async (t) => {
    const { database, put } = await startLists(t, engine)
    await database.transaction(async (tx) => {
      for (let count = 0; count < 300; count++) await put(tx, { agentId: 'agt_a', userId: `usr_${count}` })
    })
    const { ranges } = await rangesOf(database.queries, { agentId: 'agt_a' })
    assert.deepEqual([ranges.length, ranges[1]?.userId, ranges[300]?.userId], [301, 'usr_299', 'usr_0'])
    let asked = 0
    const { rows } = await readInPieces(ranges, 50, String, (some) => {
      asked++
      const ids = some.flatMap(({ newest }) => newest ?? [])
      return Promise.resolve({ rows: ids, nextCursor: null })
    })
    assert.deepEqual([rows.length, asked], [50, 2])
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

  test('is read from indexes in order, without sorting or reading anything else', async (t) => {
    const { database, put } = await startLists(t, engine)
    await database.transaction(async (tx) => {
      for (let count = 0; count < 6_000; count++) {
        const [agentId, userId] = [`agt_${count % 3}`, `usr_${count % 4}`]
        await put(tx, [{ agentId, userId }, { agentId, userId }, { agentId }, { userId }][count % 5] ?? {})
      }
    })
    const { queries } = database
    if (engine === 'postgres') await sql`analyze`.execute(queries)
    for (const scope of [{ agentId: 'agt_2' }, { userId: 'usr_3' }]) {
      const { ranges } = await rangesOf(queries, scope)
      const part = { ranges, before: 'aud_z', from: undefined }
      assert.ok(part.ranges.length >= 4)
      const query = candidatesOf(queries, { ...part, since: undefined, until: undefined }, recordColumns, { limit: 50 })
      const compiled = query.compile()
      const explain = engine === 'sqlite' ? 'explain query plan ' : 'explain '
      const { rows } = await queries.executeQuery<object>({ ...compiled, sql: explain + compiled.sql })
      const plan = rows.map((row) => JSON.stringify(row)).join('\n')
      assert.doesNotMatch(plan, /Seq Scan|Bitmap|Sort {2}|SCAN|TEMP B-TREE/)
      assert.match(plan, /audit_records_by_pair/)
      assert.match(plan, /Merge Append|MERGE/)
    }
  })
})
