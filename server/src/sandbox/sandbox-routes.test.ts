import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('the sandbox', (engine) => {
  test("starting one returns a grant, the echo's URL and a working example call", async (t) => {
    const service = await startService(t, engine)
    const { token, agentId } = await service.registerAgent()
    const { status, body, headers } = await service.call('POST', '/v4/sandbox/start', { token })
    assert.equal(status, 201)
    assert.match(body.grant_id, /^grt_[0-9a-z]{26}$/)
    const example = { grant_id: body.grant_id, method: 'GET', url: 'http://localhost:8787/v4/sandbox/echo' }
    assert.deepEqual(body, {
      grant_id: body.grant_id,
      echo_url: 'http://localhost:8787/v4/sandbox/echo',
      expires_at: '2026-11-15T13:00:00.000Z',
      example: {
        body: example,
        curl:
          'curl -s http://localhost:8787/v4/proxy -H "authorization: Bearer $SALLYPORT_AGENT_TOKEN" ' +
          `-H 'content-type: application/json' -d '${JSON.stringify(example)}'`,
      },
    })
    const called = await service.call('POST', '/v4/proxy', { token, body: body.example.body })
    assert.equal(called.body.body.headers.authorization, 'Bearer [REDACTED]')
    const [record] = await recorded(service, 'sandbox.')
    assert.deepEqual(
      [record?.event, record?.agent_id, record?.grant_id, record?.request_id],
      ['sandbox.started', agentId, body.grant_id, headers['x-request-id']],
    )
  })

  test('works the same with an https base URL', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_BASE_URL: 'https://sallyport.example' })
    const { proxy, echoUrl } = await agentInSandbox(service)
    assert.equal(echoUrl, 'https://sallyport.example/v4/sandbox/echo')
    assert.equal((await proxy()).status, 200)
    assert.equal((await proxy({ url: 'http://sallyport.example/v4/sandbox/echo' })).body.error.code, 'invalid_url')
  })

  test('a new one replaces the old one', async (t) => {
    const service = await startService(t, engine)
    const { proxy, token } = await agentInSandbox(service)
    const { body } = await service.call('POST', '/v4/sandbox/start', { token })
    assert.equal((await proxy()).body.error.code, 'grant_revoked')
    const events = (await recorded(service, 'proxy.')).map(({ event }) => event)
    assert.deepEqual(events, ['proxy.refused'], 'it was not even attempted')
    assert.equal((await proxy({ grant_id: body.grant_id })).status, 200)
  })

  test('of ten started concurrently exactly one is usable', async (t) => {
    const service = await startService(t, engine)
    const { token, proxy } = await agentInSandbox(service)
    const start = () => service.call('POST', '/v4/sandbox/start', { token })
    const started = await Promise.all(Array.from({ length: 10 }, start))
    assert.deepEqual(new Set(started.map(({ status }) => status)), new Set([201]))
    const codes: string[] = []
    for (const { body } of started) {
      const reply = await proxy({ grant_id: body.grant_id })
      codes.push(reply.body.error?.code ?? 'usable')
    }
    assert.deepEqual(codes.toSorted(), [...Array<string>(9).fill('grant_revoked'), 'usable'])
  })

  test("one agent's does not affect another's", async (t) => {
    const service = await startService(t, engine)
    const one = await agentInSandbox(service)
    await agentInSandbox(service)
    assert.equal((await one.proxy()).status, 200)
  })

  test('allows five calls a second with a burst of twenty, then gives Retry-After', async (t) => {
    const service = await startService(t, engine)
    const { proxy, token } = await agentInSandbox(service)
    const statuses = (await Promise.all(Array.from({ length: 25 }, () => proxy()))).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 20)
    assert.equal(statuses.filter((status) => status === 429).length, 5)
    const refused = await proxy()
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
    assert.equal(refused.headers['retry-after'], '1')
    const again = await service.call('POST', '/v4/sandbox/start', { token })
    assert.equal((await proxy({ grant_id: again.body.grant_id })).status, 429, 'a new sandbox does not lift it')
    assert.equal((await (await agentInSandbox(service)).proxy()).status, 200, 'another agent has its own')
    service.clock.advance(0.2)
    const members = { grant_id: again.body.grant_id }
    assert.equal((await proxy(members)).status, 200)
    assert.equal((await proxy(members)).status, 429)
    service.clock.advance(1)
    const later = []
    for (let count = 0; count < 6; count++) later.push((await proxy(members)).status)
    assert.deepEqual(later, [200, 200, 200, 200, 200, 429])
  })

  test('a call refused for another reason does not count', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_SANDBOX_BURST: '1' })
    const { proxy } = await agentInSandbox(service)
    assert.equal((await proxy({ url: 'https://api.example.com' })).status, 403)
    assert.equal((await proxy()).status, 200)
    assert.equal((await proxy()).status, 429)
  })

  test('can be started as often per hour as configured', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_SANDBOX_STARTS_PER_HOUR: '2' })
    const { token, proxy } = await agentInSandbox(service)
    const start = () => service.call('POST', '/v4/sandbox/start', { token })
    const second = await start()
    const third = await start()
    assert.deepEqual([third.status, third.headers['retry-after']], [429, '1800'])
    assert.equal((await proxy({ grant_id: second.body.grant_id })).status, 200, 'the refused start ended nothing')
    service.clock.advance(1800)
    assert.equal((await start()).status, 201)
  })

  test('its token is stored encrypted', async (t) => {
    const service = await startService(t, engine)
    await agentInSandbox(service)
    const [row] = await service.database.queries.selectFrom('sandboxes').selectAll().execute()
    assert.ok(row)
    assert.ok(!Buffer.from(row.token).toString('latin1').includes('sp_sandbox_'))
  })
})
