/** A filter that matches nothing reads a limited number of records and yields to other work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { countTurns } from '../../testkit/turns.ts'
import type { Engine } from '../platform/database/database.ts'
import { auditListStore } from './audit-list-store.ts'
import { createStores } from '../stores.ts'

/** 5 600 records, of which only the oldest matches anything. */
async function startSearching(t: TestContext, engine: Engine, settings = {}) {
  const service = await startService(t, engine, settings)
  const { audit } = createStores({ ...service, clock: service.clock.now })
  const { agentId, token } = await service.registerAgent()
  const at = () => {
    service.clock.advance(1)
    return service.clock.now()
  }
  const detail = { method: 'GET', host: 'api.example.com', path: '/needle' }
  const wanted = { event: 'proxy.attempt' as const, at: at(), agentId, grantId: 'grt_1', provider: 'acme', detail }
  const oldest = await audit.append(service.database.queries, wanted)
  await service.database.transaction(async (tx) => {
    for (let index = 0; index < 5_600; index++) {
      await audit.append(tx, { event: 'proxy.refused', at: at(), agentId, outcome: 'refused' })
    }
  })
  return { ...service, agentId, token, oldest }
}

const filters = ['grant_id=grt_1', 'provider=acme', 'event=proxy.attempt', 'outcome=unknown', 'q=needle']

onBothDatabases('a filter that matches very few records', (engine) => {
  test('ends its page after 5,000 records and continues from there', async (t) => {
    const { call, token, adminToken, oldest } = await startSearching(t, engine)
    for (const filter of filters) {
      for (const reader of [token, adminToken]) {
        const first = await call('GET', `/v4/audit?${filter}`, { token: reader })
        assert.deepEqual(first.body.records, [], filter)
        const next = await call('GET', `/v4/audit?${filter}&cursor=${first.body.next_cursor}`, { token: reader })
        const ids = next.body.records.map((record: { audit_id: string }) => record.audit_id)
        assert.deepEqual([ids.at(0), next.body.next_cursor], [oldest, null], filter)
      }
    }
  })

  test('reads 500 at a time and yields to the event loop in between', async (t) => {
    const { database, agentId } = await startSearching(t, engine)
    for (const filter of [{ grantId: 'grt_2' }, { outcome: 'failed' as const }, { words: ['nothing'] }]) {
      const turns = countTurns()
      const { queries } = database
      const { looked } = await auditListStore.list(queries, { agentId }, filter, { limit: 200, before: undefined })
      const counted = turns.end()
      assert.equal(looked, 5_000)
      assert.ok(counted >= 9, `${JSON.stringify(filter)}: ${counted} turns`)
    }
  })

  test('counts the records it read: past the limit callers are refused and exports slowed down', async (t) => {
    const { call, token, clock, registerAgent } = await startSearching(t, engine, {
      SALLYPORT_ROWS_READ_PER_SECOND: '1000',
    })
    const search = async (path = '/v4/audit?grant_id=grt_2', reader = token) => call('GET', path, { token: reader })
    for (let page = 0; page < 3; page++) assert.equal((await search()).status, 200)
    const refused = await search()
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '5'])
    for (const path of ['/v4/audit', '/v4/audit?format=csv', '/v4/grants']) {
      assert.equal((await search(path)).status, 429, path)
    }
    assert.equal((await search(undefined, (await registerAgent()).token)).status, 200)
    clock.advance(15)
    assert.equal((await search('/v4/audit?format=ndjson&grant_id=grt_2')).text, '')
    assert.equal((await search()).status, 200)
    assert.equal((await search()).status, 429, 'the export counted too')
  })
})
