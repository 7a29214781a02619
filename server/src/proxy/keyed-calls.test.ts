import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

function keyed({ service, agent, grantId, upstream }: Calling, key: string, members: object = {}) {
  return service.call('POST', '/v4/proxy', {
    token: agent.token,
    headers: { 'idempotency-key': key },
    body: { grant_id: grantId, method: 'POST', url: upstream.url, ...members },
  })
}

onBothDatabases('a call with an Idempotency-Key', (engine) => {
  test('gets its response again even if it was the last call of its grant', async (t) => {
    const calling = await startCalling(t, engine, { terms: { maxCalls: 1 } })
    const first = await keyed(calling, 'a')
    assert.equal(first.status, 200)
    assert.deepEqual((await keyed(calling, 'a')).body, first.body)
    const other = await keyed(calling, 'b')
    assert.deepEqual([other.status, other.body.error.code], [403, 'grant_exhausted'])
    assert.ok(other.body.error.access_request)
    const again = await keyed(calling, 'b')
    assert.equal(again.body.error.code, 'grant_exhausted', 'a key that was refused is free')
    assert.deepEqual((await keyed(calling, 'a')).body, first.body)
    assert.equal(calling.upstream.received.length, 1)
    assert.equal((await calling.proxy()).body.error.code, 'grant_exhausted')
  })

  test('does not get its response again once its grant is expired or revoked', async (t) => {
    const calling = await startCalling(t, engine, { terms: { maxCalls: 1 } })
    assert.equal((await keyed(calling, 'a')).status, 200)
    const { queries } = calling.service.database
    await queries.updateTable('grants').set({ expires_at: 1 }).execute()
    assert.equal((await keyed(calling, 'a')).body.error.code, 'grant_expired')
    await queries.updateTable('grants').set({ revoked_at: 1 }).execute()
    assert.equal((await keyed(calling, 'a')).body.error.code, 'grant_revoked')
  })

  test('is a different call if it follows redirects or is streamed', async (t) => {
    const calling = await startCalling(t, engine)
    assert.equal((await keyed(calling, 'a')).status, 200)
    for (const members of [{ follow_redirects: true }, { stream: true }]) {
      assert.equal((await keyed(calling, 'a', members)).body.error.code, 'idempotency_conflict')
    }
    assert.equal((await keyed(calling, 'a', { follow_redirects: false, stream: false })).status, 200)
    assert.equal(calling.upstream.received.length, 1)
  })

  test('counts against the rate limit also when its response is repeated', async (t) => {
    const calling = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '1', SALLYPORT_PROXY_BURST_PER_AGENT: '2' },
    })
    const statuses = []
    for (let call = 0; call < 3; call++) statuses.push((await keyed(calling, 'a')).status)
    assert.deepEqual(statuses, [200, 200, 429])
  })
})
