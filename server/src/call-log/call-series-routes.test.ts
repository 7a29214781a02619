import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import { callSeriesStore } from './call-series-store.ts'
import { createStores } from '../stores.ts'
import { createCountCalls } from './count-calls.ts'

const noon = Date.parse('2026-11-15T12:00:00.000Z')

function after(seconds: number): string {
  return new Date(noon + seconds * 1000).toISOString()
}

async function startCounting(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { audit } = createStores({ ...service, clock: service.clock.now })
  const user = await service.logIn({ email: 'ada@example.com' })
  const { userId } = user
  const put = (seconds: number, record: Partial<AuditRecord> = {}, tx = service.database.queries) =>
    audit.append(tx, { event: 'proxy.attempt', at: new Date(noon + seconds * 1000), userId, ...record })
  const called = async (
    seconds: number,
    outcome: 'answered' | 'failed',
    record: Partial<AuditRecord> = {},
    result: AuditRecord['detail'] = {},
  ) => {
    const auditId = await put(seconds, record)
    await put(seconds + 30, { ...record, auditId, event: 'proxy.outcome', outcome, detail: result })
  }
  const series = async (query: string, token = user.token) =>
    (await service.call('GET', `/v4/audit/series?${query}`, { token })).body
  return { ...service, user, put, called, series }
}

onBothDatabases('calls over time', (engine) => {
  test('are counted by start time and outcome, and nothing else is counted', async (t) => {
    const { user, adminToken, put, called, series, call } = await startCounting(t, engine)
    await called(-0.001, 'answered')
    await called(0, 'answered', {}, { status: 204 })
    await called(59.999, 'failed')
    await called(60, 'answered', {}, { status: 404 })
    await put(119)
    await put(120, { event: 'proxy.refused', outcome: 'refused', detail: { code: 'host_not_allowed' } })
    await put(120, { event: 'session.started' })
    await called(180, 'answered')
    await called(61, 'answered', {
      userId: (await call('GET', '/v4/auth/me', { token: user.token })).body.session.session_id,
    })
    const query = `since=${after(0)}&until=${after(180)}&buckets=3`
    const expected = {
      ...{ grant_id: null, total: 5, last_call_at: after(120) },
      ...{ answered: [1, 1, 0], answered_errors: [0, 1, 0], failed: [1, 0, 0], refused: [0, 0, 1], unknown: [0, 1, 0] },
    }
    const counted = await series(query)
    assert.deepEqual(counted, {
      ...{ since: after(0), until: after(180), starts: [after(0), after(60), after(120)] },
      ...{ complete_since: null, series: [expected], omitted: 0 },
    })
    const inAnotherZone = encodeURIComponent('2026-11-15T17:45:00+05:45')
    assert.deepEqual(await series(query.replace(after(0), inAnotherZone)), counted, 'an instant is an instant')
    assert.equal((await series(query, adminToken)).series[0].total, 6, 'of everybody')
  })

  test('can be filtered by grant, agent, connection or provider, or grouped by grant', async (t) => {
    const { called, put, series, adminToken } = await startCounting(t, engine)
    const [one = '', other = ''] = ['one', 'other'].map(() => newId('grt', new Date(noon)))
    await called(1, 'answered', { grantId: one, provider: 'acme', connectionId: 'con_a' })
    await called(2, 'answered', { grantId: other, provider: 'acme', agentId: 'agt_b' })
    await called(61, 'failed', { grantId: other, agentId: 'agt_b' })
    await put(62, { event: 'proxy.refused', userId: undefined, agentId: 'agt_b', detail: { code: 'x', count: 40 } })
    const span = `since=${after(0)}&until=${after(120)}&buckets=2`
    const total = async (filter: string, token?: string) => (await series(`${span}&${filter}`, token)).series[0].total
    assert.equal(await total(`grant_id=${one}`), 1)
    assert.equal(await total('agent_id=agt_b'), 2)
    assert.equal(await total('agent_id=agt_b', adminToken), 42, 'what was only counted counts as many')
    assert.equal(await total('provider=acme'), 2)
    assert.equal(await total('connection_id=con_a'), 1)
    assert.equal(await total('provider=none'), 0)
    const byGrant = await series(`${span}&by=grant`)
    assert.deepEqual(
      byGrant.series.map((each: any) => [each.grant_id, each.answered, each.failed, each.last_call_at]),
      [
        [other, [1, 0], [0, 1], after(61)],
        [one, [1, 0], [0, 0], after(1)],
      ],
      'the busiest first',
    )
    assert.deepEqual((await series(`since=${after(-9)}&until=${after(-1)}&buckets=1&by=grant`)).series, [])
  })

  test('follow the search, the event and the outcome that filter the list', async (t) => {
    const { called, put, series } = await startCounting(t, engine)
    const items = { host: 'api.example.com', path: '/items' }
    await called(1, 'answered', { detail: { method: 'GET', ...items } }, { status: 503 })
    await called(2, 'failed', { detail: { method: 'POST', ...items } })
    await put(3, { event: 'proxy.refused', outcome: 'refused', detail: { method: 'POST', ...items } })
    await called(4, 'answered', { detail: { method: 'POST', host: 'api.example.com', path: '/others' } })
    const counted = async (filter: string) => {
      const reply = await series(`since=${after(0)}&until=${after(60)}&buckets=1&${filter}`)
      const [{ total, answered, answered_errors: errors, failed, refused }] = reply.series
      return [total, ...answered, ...errors, ...failed, ...refused]
    }
    assert.deepEqual(await counted('q=/items'), [3, 1, 1, 1, 1])
    assert.deepEqual(await counted('q=post%20/items'), [2, 0, 0, 1, 1])
    assert.deepEqual(await counted('q=/items&outcome=refused'), [1, 0, 0, 0, 1])
    assert.deepEqual(await counted('outcome=answered'), [2, 2, 1, 0, 0])
    assert.deepEqual(await counted('event=proxy.attempt&q=post'), [2, 1, 0, 1, 0])
    assert.equal((await series('event=session.started')).error.field, 'event')
  })

  test('beyond the limit are counted from a time that the response names', async (t) => {
    const { database, user, put } = await startCounting(t, engine)
    await database.transaction(async (tx) => {
      for (let seconds = 0; seconds < 2_100; seconds++) await put(seconds, {}, tx)
    })
    const bounds = { maxRecords: 2_000, batchSize: 100 }
    const countCalls = createCountCalls({ database, callSeries: callSeriesStore }, bounds)
    const count = async (since: number, until: number, buckets: number) => {
      const span = { since: new Date(noon + since * 1000), until: new Date(noon + until * 1000), buckets }
      const { series, completeSince } = await countCalls({ userId: user.userId }, {}, span, false)
      return { completeSince: completeSince?.toISOString(), total: series[0]?.total, counts: series[0]?.counts.unknown }
    }
    const counted = await count(0, 2_100, 21)
    assert.deepEqual([counted.completeSince, counted.total], [after(100 + 600), 2_000])
    assert.deepEqual(counted.counts, [0, ...Array.from({ length: 20 }, () => 100)])
    assert.deepEqual(await count(500, 900, 1), { completeSince: undefined, total: 400, counts: [400] })
  })

  test('default to the last day; an invalid time span is refused', async (t) => {
    const { called, clock, series, call, registerAgent } = await startCounting(t, engine)
    await called(-86_401, 'answered')
    await called(-86_399, 'answered')
    const counted = await series('')
    assert.deepEqual(
      [counted.since, counted.until, counted.starts.length, counted.series[0].total],
      [after(-86_400), clock.now().toISOString(), 24, 1],
    )
    for (const wrong of [
      `since=${after(1)}&until=${after(0)}`,
      `since=${after(0)}&until=${after(0)}`,
      `since=${after(0)}&until=${after(0.05)}&buckets=100`,
      'since=2000-01-01T00:00:00Z',
      'since=2016-12-31T23:59:60Z',
      'buckets=0',
      'buckets=101',
      'by=agent',
      'limit=5',
    ]) {
      assert.equal((await series(wrong)).error.code, 'invalid_field', wrong)
    }
    const { token } = await registerAgent()
    assert.equal((await call('GET', '/v4/audit/series', { token })).status, 403)
  })
})
