import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { readEvents } from '../../testkit/event-reader.ts'
import { startInstances } from '../../testkit/instances.ts'
import type { Engine } from '../platform/database/database.ts'

async function startListening(t: TestContext, engine: Engine) {
  const service = await startAccessTest(t, engine)
  const reader = await readEvents(t, service, service.user)
  assert.equal((await reader.next())?.event, 'ready')
  return { service, reader }
}

async function pairedDevice({ call, user }: Pick<AccessTest, 'call' | 'user'>) {
  const { body: code } = await call('POST', '/v4/devices/pairing-codes', { token: user.token })
  const { body } = await call('POST', '/v4/devices/pair', { body: { pairing_code: code.pairing_code } })
  return { token: body.session_token as string, deviceId: body.device.device_id as string }
}

onBothDatabases('a stream of events', (engine) => {
  test('sends ready, then the kind of each change as soon as it is committed', async (t) => {
    const { service, reader } = await startListening(t, engine)
    assert.equal(reader.status, 200)
    assert.match(String(reader.headers['content-type']), /^text\/event-stream/)
    assert.deepEqual([reader.headers['cache-control'], reader.headers['x-accel-buffering']], ['no-store', 'no'])
    // Nobody looks for what others did: what is told was told at once.
    const id = await service.asked({ user_id: 'ada@example.com', reason: 'a secret of Ada' })
    const first = await reader.next()
    assert.deepEqual(first, { event: 'changed', data: { topics: ['access_requests', 'activity'] } })
    await service.approve(id)
    assert.deepEqual(await reader.topics('grants'), new Set(['access_requests', 'grants', 'activity']))
    const { body } = await service.call('GET', '/v4/grants', { token: service.user.token })
    await service.call('POST', `/v4/grants/${body.grants[0].grant_id}/revoke`, { token: service.user.token })
    assert.deepEqual(await reader.topics('grants'), new Set(['grants', 'activity']))
    await service.deny(await service.asked({ user_id: 'ada@example.com' }), { block: true })
    await reader.topics('muted_agents')
    await pairedDevice(service)
    await reader.topics('devices')
    await service.call('DELETE', `/v4/connections/${service.connectionId}`, { token: service.user.token })
    await reader.topics('connections', 'grants')
    await service.call('PATCH', '/v4/auth/me', { token: service.user.token, body: { require_device_approval: false } })
    await service.logIn({ email: 'ada@example.com' })
    await reader.topics('sessions')
  })

  test('accepts the cookie, and no agent, admin or anonymous caller', async (t) => {
    const service = await startAccessTest(t, engine)
    const { user, agent, adminToken, call } = service
    assert.equal((await (await readEvents(t, service, { cookie: user.cookie })).next())?.event, 'ready')
    assert.equal((await call('GET', '/v4/events', { token: agent.token })).status, 403)
    assert.equal((await call('GET', '/v4/events', { token: adminToken })).status, 403)
    assert.equal((await call('GET', '/v4/events')).status, 401)
    const head = await call('HEAD', '/v4/events', { token: user.token })
    assert.equal(head.status, 405, 'there is nothing to say about a stream but the stream')
  })

  test('sends changes of another instance at the next check, once', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { token } = await here.logIn({ email: 'ada@example.com' })
    const reader = await readEvents(t, here, { token })
    assert.equal((await reader.next())?.event, 'ready')
    await there.logIn({ email: 'ada@example.com' })
    await here.app.checkListeners()
    assert.deepEqual(await reader.next(), { event: 'changed', data: { topics: ['activity', 'sessions'] } })
    await here.logIn({ email: 'ada@example.com' })
    await reader.topics('sessions')
    await here.app.checkListeners()
    await here.app.http.close()
    assert.deepEqual(
      (await reader.rest()).map(({ event }) => event),
      ['ended'],
      'what was told at once is not told again',
    )
  })

  test('sends nothing about other users or about requests for no known user', async (t) => {
    const { service, reader } = await startListening(t, engine)
    const eve = await service.logIn({ email: 'eve@example.com' })
    await service.asked({ user_id: 'eve@example.com' })
    await service.asked({ user_id: 'nobody@example.com' })
    await service.asked()
    await service.connect(eve, 'eve')
    await service.registerAgent()
    await service.call('POST', '/v4/auth/logout-all', { token: eve.token })
    await service.app.checkListeners()
    await service.app.http.close()
    assert.deepEqual(
      (await reader.rest()).map(({ event }) => event),
      ['ended'],
    )
  })

  test('sends changes of providers and of ownerless agents to everyone', async (t) => {
    const { service, reader } = await startListening(t, engine)
    const { call, adminToken, providerId, agent } = service
    await call('POST', `/v4/providers/${providerId}/disable`, { token: adminToken })
    assert.deepEqual(await reader.next(), { event: 'changed', data: { topics: ['providers'] } })
    await call('POST', `/v4/agents/${agent.agentId}/disable`, { token: adminToken })
    assert.deepEqual(await reader.next(), { event: 'changed', data: { topics: ['access_requests', 'grants'] } })
  })

  test('sends a device only what it may read', async (t) => {
    const service = await startAccessTest(t, engine)
    const device = await pairedDevice(service)
    const reader = await readEvents(t, service, device)
    assert.equal((await reader.next())?.event, 'ready')
    const id = await service.asked({ user_id: 'ada@example.com' })
    assert.deepEqual(await reader.next(), { event: 'changed', data: { topics: ['access_requests'] } })
    await service.approve(id)
    assert.deepEqual(await reader.next(), { event: 'changed', data: { topics: ['access_requests'] } })
    await service.logIn({ email: 'ada@example.com' })
    await service.call('DELETE', `/v4/devices/${device.deviceId}`, { token: service.user.token })
    const rest = await reader.rest()
    assert.deepEqual(rest.at(-1), { event: 'ended', data: { reason: 'session_over' } })
    assert.ok(!JSON.stringify(rest).includes('sessions'))
  })

  test('ends with its session, on any instance', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { call, adminToken, clock } = there
    const endings: [string, (person: { token: string; userId: string }) => unknown][] = [
      ['logged out', ({ token }) => call('POST', '/v4/auth/logout', { token })],
      ['disabled', ({ userId }) => call('POST', `/v4/users/${userId}/disable`, { token: adminToken })],
      [
        'idle',
        () => {
          clock.advance(here.config.sessionIdleSeconds + 1)
        },
      ],
    ]
    for (const [name, end] of endings) {
      const person = await here.logIn({ email: `${name.replace(' ', '-')}@example.com` })
      const reader = await readEvents(t, here, person)
      assert.equal((await reader.next())?.event, 'ready', name)
      await end(person)
      await here.app.checkListeners()
      assert.deepEqual(await reader.rest(), [{ event: 'ended', data: { reason: 'session_over' } }], name)
    }
  })

  test('ends immediately if its session was revoked in the same process', async (t) => {
    const { service, reader } = await startListening(t, engine)
    await service.call('POST', '/v4/auth/logout-all', { token: service.user.token })
    const rest = await reader.rest()
    assert.deepEqual(rest.at(-1), { event: 'ended', data: { reason: 'session_over' } })
  })

  test('does not keep its session from becoming idle', async (t) => {
    const service = await startAccessTest(t, engine, { SALLYPORT_SESSION_IDLE_SECONDS: '120' })
    const reader = await readEvents(t, service, service.user)
    await reader.next()
    for (let seconds = 0; seconds < 110; seconds += 10) {
      service.clock.advance(10)
      await service.app.checkListeners()
    }
    service.clock.advance(10)
    await service.app.checkListeners()
    const rest = await reader.rest()
    assert.equal(rest.filter(({ event }) => event === 'comment').length, 5, 'a comment every 15 seconds, as it checks')
    assert.deepEqual(rest.at(-1), { event: 'ended', data: { reason: 'session_over' } })
  })

  test('is limited to twelve per user', async (t) => {
    const service = await startAccessTest(t, engine)
    const { user, logIn, call } = service
    const eve = await logIn({ email: 'eve@example.com' })
    const readers = await Promise.all(Array.from({ length: 14 }, () => readEvents(t, service, user)))
    const refused = readers.filter(({ status }) => status !== 200)
    assert.deepEqual(
      refused.map(({ status }) => status),
      [429, 429],
      'also of those that come at once',
    )
    const { body, headers } = await call('GET', '/v4/events', { token: user.token })
    assert.equal(body.error.code, 'too_many_streams')
    assert.equal(headers['retry-after'], '30')
    assert.equal((await readEvents(t, service, eve)).status, 200)
    const [open] = readers.filter(({ status }) => status === 200)
    open?.request.destroy()
    // The service learns of it a moment later.
    for (;;) {
      const again = await readEvents(t, service, user)
      if (again.status === 200) break
    }
  })

  test('ends when the service stops, which accepts no more', async (t) => {
    const { service, reader } = await startListening(t, engine)
    const closed = service.app.http.close()
    assert.deepEqual(await reader.rest(), [{ event: 'ended', data: { reason: 'stopping' } }])
    await closed
  })
})
