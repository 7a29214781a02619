import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../testkit/audit.ts'
import { slug, startConnectionTest } from '../testkit/connections.ts'
import { onBothDatabases } from '../testkit/databases.ts'
import { insertGrant } from '../testkit/grants.ts'
import { agentInSandbox } from '../testkit/sandbox.ts'
import { startService } from '../testkit/service.ts'
import type { TestService } from '../testkit/service.ts'

const day = 86_400

async function rowsIn(
  { database }: TestService,
  table:
    | 'sessions'
    | 'login_tokens'
    | 'grants'
    | 'sandboxes'
    | 'rate_limits'
    | 'connections'
    | 'connect_flows'
    | 'device_flows'
    | 'former_tokens',
) {
  return (await database.queries.selectFrom(table).selectAll().execute()).length
}

onBothDatabases('the sweep', (engine) => {
  test('deletes login tokens once they have expired, used or not', async (t) => {
    const service = await startService(t, engine)
    await service.logIn()
    await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken })
    service.clock.advance(900)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'login_tokens'), 2)
    service.clock.advance(0.001)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'login_tokens'), 0)
  })

  test('deletes sessions 30 days after their end', async (t) => {
    const service = await startService(t, engine)
    await service.logIn()
    service.clock.advance(37 * day)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'sessions'), 1)
    await service.logIn()
    service.clock.advance(0.001)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'sessions'), 1, 'the one that still lives')
  })

  test('keeps grants on connections, however they ended', async (t) => {
    const service = await startConnectionTest(t, engine)
    const connectionId = await service.connect()
    const { agentId } = await service.registerAgent()
    const common = { agentId, userId: service.user.userId, connectionId }
    await insertGrant(service, { ...common, expiresAt: service.clock.now() })
    const { grantId } = await insertGrant(service, common)
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: service.user.token })
    service.clock.advance(1000 * day)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'grants'), 2)
  })

  test('deletes sandboxes a day after their end, and keeps their records', async (t) => {
    const service = await startService(t, engine)
    const { token, proxy } = await agentInSandbox(service)
    await proxy()
    await service.call('POST', '/v4/sandbox/start', { token })
    const before = await recorded(service)
    service.clock.advance(3600 + day)
    await service.app.sweep()
    assert.deepEqual([await rowsIn(service, 'grants'), await rowsIn(service, 'sandboxes')], [2, 1])
    service.clock.advance(0.001)
    await service.app.sweep()
    assert.deepEqual([await rowsIn(service, 'grants'), await rowsIn(service, 'sandboxes')], [0, 0])
    assert.equal((await proxy()).body.error.code, 'grant_not_found')
    assert.deepEqual((await recorded(service)).slice(0, before.length), before)
    assert.equal((await service.call('POST', '/v4/sandbox/start', { token })).status, 201)
  })

  test('deletes flows and old tokens when they expire, device flows a day later', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { app, call, clock, user, start, connect } = service
    const count = () =>
      Promise.all((['connect_flows', 'device_flows', 'former_tokens'] as const).map((table) => rowsIn(service, table)))
    await connect()
    await connect()
    await start(user)
    await call('POST', '/v4/oauth/device/start', { token: user.token, body: { provider_slug: slug } })
    clock.advance(600)
    await app.sweep()
    assert.deepEqual(await count(), [3, 1, 1])
    clock.advance(0.001)
    await app.sweep()
    assert.deepEqual(await count(), [0, 1, 1])
    clock.advance(3000 - 0.001)
    await app.sweep()
    assert.deepEqual(await count(), [0, 1, 1], 'a token may be valid to the very end')
    clock.advance(0.001)
    await app.sweep()
    assert.deepEqual(await count(), [0, 1, 0])
    clock.advance(day - 3000 - 0.001)
    await app.sweep()
    assert.deepEqual(await count(), [0, 1, 0])
    clock.advance(0.001)
    await app.sweep()
    assert.deepEqual(await count(), [0, 0, 0])
    assert.equal(await rowsIn(service, 'connections'), 1)
  })

  test('keeps a rate limit that is still in force', async (t) => {
    const service = await startService(t, engine, {
      SALLYPORT_REGISTRATIONS_PER_MINUTE: '1',
      SALLYPORT_REGISTRATIONS_PER_DAY: '10',
    })
    await service.registerAgent()
    await service.app.sweep()
    const register = () => service.call('POST', '/v4/agents/register', { body: { name: 'a' } })
    assert.equal((await register()).status, 429)
    service.clock.advance(day)
    await service.app.sweep()
    assert.equal(await rowsIn(service, 'rate_limits'), 0)
    assert.equal((await register()).status, 201)
  })
})
