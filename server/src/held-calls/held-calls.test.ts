import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { recorded } from '../../testkit/audit.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import { stored } from '../../testkit/stored.ts'

onBothDatabases('a call that asks', (engine) => {
  test('waits for its person, is made once it is approved, and its agent reads the response', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { upstream, service, agent, user } = test
    const asked = await test.ask({
      body: { text: 'a-word-of-the-body' },
      headers: { 'x-note': 'a-header-value', cookie: 'a=b' },
      reason: 'Because.',
    })
    assert.equal(asked.status, 202, asked.text)
    const { call_id: id, status, approval_url, expires_at } = asked.body
    assert.equal(status, 'waiting')
    assert.match(id, /^cal_/)
    assert.equal(asked.headers['location'], `/v4/calls/${id}`)
    assert.equal(approval_url, `${service.config.baseUrl.origin}/approve-call/${id}`)
    assert.equal(Date.parse(expires_at), service.clock.now().getTime() + 3_600_000)
    assert.equal(upstream.received.length, 0)
    const [seen] = await test.waiting()
    assert.deepEqual(
      [seen.call_id, seen.status, seen.access, seen.term, seen.reason, seen.agent.agent_id],
      [id, 'waiting', 'write', 'mode', 'Because.', agent.agentId],
    )
    assert.match(seen.body.text, /a-word-of-the-body/)
    assert.deepEqual(seen.description.headers, [
      ['content-type', 'application/json'],
      ['x-note', 'a-header-value'],
    ])
    assert.deepEqual(seen.description.adds, ['header authorization'])
    const disk = await stored(service)
    for (const secret of ['a-word-of-the-body', 'a-header-value']) assert.ok(!disk.includes(secret), secret)

    const approved = await test.approve(id, { digest: seen.digest })
    assert.equal(approved.status, 200, approved.text)
    assert.deepEqual(
      [approved.body.status, approved.body.decided_by, approved.body.signed],
      ['approved', user.userId, false],
    )
    const done = await test.ended(id)
    assert.equal(done.status, 'done')
    assert.deepEqual([done.response.status, done.response.body], [200, { ok: true }])
    assert.equal(done.error, null)
    assert.deepEqual(done.response.dropped_headers, ['cookie'])
    assert.deepEqual(
      upstream.received.map(({ method, body }) => [method, body]),
      [['POST', '{"text":"a-word-of-the-body"}']],
    )
    assert.equal((await test.see(id)).body.upstream_status, 200)
    const events = (await recorded(service, 'proxy.')).map(({ event, detail }) => [event, detail.call_id])
    assert.deepEqual(events, [
      ['proxy.held', id],
      ['proxy.approved', id],
      ['proxy.attempt', id],
      ['proxy.outcome', undefined],
    ])
    assert.equal((await test.approve(id)).body.error.code, 'call_not_waiting')
    service.clock.advance(3601)
    await service.app.sweep()
    const late = await test.read(id)
    assert.deepEqual([late.body.status, late.body.response, late.body.error.code], ['done', null, 'outcome_unknown'])
    service.clock.advance(31 * 86_400)
    await service.app.sweep()
    assert.equal((await test.read(id)).status, 404)
  })

  test('does not ask if it only reads', async (t) => {
    const test = await startHeldCalls(t, engine)
    assert.equal((await test.ask({ method: 'GET', body: undefined })).status, 200)
    assert.deepEqual(await test.waiting(), [])
  })
})
