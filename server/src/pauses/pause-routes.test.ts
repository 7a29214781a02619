import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { soon, startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

onBothDatabases('a pause', (engine) => {
  test("ends a person's calls in progress and refuses others, until it is lifted", async (t) => {
    const closed = Promise.withResolvers<undefined>()
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => {
        if (path !== '/stream') return response.end('answered')
        response.on('close', () => {
          closed.resolve(undefined)
        })
        return response.writeHead(200).write('begun')
      },
    })
    const { service, upstream, agent } = calling
    const ada = await service.logIn({ email: 'ada@example.com' })
    const bob = await service.logIn({ email: 'bob@example.com' })
    const as = ({ token }: { token: string }, method: string) =>
      service.call(method, '/v4/pause', { token, ...(method === 'PUT' && { body: {} }) })
    assert.deepEqual((await as(ada, 'GET')).body, { paused_at: null, service_paused_at: null })
    await as(bob, 'PUT')
    assert.equal((await calling.proxy()).status, 200, 'of another person')
    await calling.stream({ url: `https://${upstream.host}/stream` })

    const at = service.clock.now().toISOString()
    for (let again = 0; again < 2; again++) {
      assert.deepEqual((await as(ada, 'PUT')).body, { paused_at: at, service_paused_at: null })
    }
    await service.app.checkCallsInFlight()
    await soon(closed.promise)
    const before = upstream.received.length
    const refused = await calling.proxy()
    assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.retryable], [403, 'paused', false])
    assert.deepEqual((await calling.proxy({ dry_run: true })).body.reason, 'paused')
    assert.equal(upstream.received.length, before)
    const grants = await service.call('GET', '/v4/grants', { token: agent.token })
    assert.equal(grants.body.grants[0].status, 'active', 'it is not revoked')

    for (let again = 0; again < 2; again++) {
      assert.deepEqual((await as(ada, 'DELETE')).body, { paused_at: null, service_paused_at: null })
    }
    assert.equal((await calling.proxy()).status, 200)
    const outcomes = (await calling.records()).filter(({ event }) => event === 'proxy.outcome')
    assert.ok(outcomes.some(({ detail }) => detail.code === 'paused'))
    for (const event of ['agents.paused', 'agents.resumed'] as const) {
      const records = (await recorded(service, event)).filter(({ user_id }) => user_id === ada.userId)
      assert.equal(records.length, 1, event)
    }
  })

  test('of the service stops everybody, the sandbox too, and only the operator lifts it', async (t) => {
    const { service, ...calling } = await startCalling(t, engine)
    const { adminToken: token } = service
    const ada = await service.logIn({ email: 'ada@example.com' })
    const { body: sandbox } = await service.call('POST', '/v4/sandbox/start', { token: calling.agent.token })
    const inSandbox = () =>
      service.call('POST', '/v4/proxy', {
        token: calling.agent.token,
        body: { grant_id: sandbox.grant_id, method: 'GET', url: sandbox.echo_url },
      })
    assert.equal((await inSandbox()).status, 200)
    const at = service.clock.now().toISOString()
    const paused = await service.call('PUT', '/v4/pause', { token, body: {} })
    assert.deepEqual(paused.body, { paused_at: at, service_paused_at: at })
    assert.equal((await calling.proxy()).body.error.code, 'paused')
    assert.equal((await inSandbox()).body.error.code, 'paused')
    const lifted = await service.call('DELETE', '/v4/pause', { token: ada.token })
    assert.deepEqual(lifted.body, { paused_at: null, service_paused_at: at })
    assert.equal((await calling.proxy()).status, 403)
    const resumed = await service.call('DELETE', '/v4/pause', { token })
    assert.deepEqual(resumed.body, { paused_at: null, service_paused_at: null })
    assert.equal((await calling.proxy()).status, 200)
    const events = (await recorded(service, 'service.')).map(({ event, user_id }) => [event, user_id])
    assert.deepEqual(events, [
      ['service.paused', null],
      ['service.resumed', null],
    ])
  })

  test('is no matter of agents', async (t) => {
    const { service, agent } = await startCalling(t, engine)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const reply = await service.call(method, '/v4/pause', {
        token: agent.token,
        ...(method === 'PUT' && { body: {} }),
      })
      assert.equal(reply.body.error.code, 'forbidden', method)
    }
  })
})
