/** What no user has approved is deleted after a while; what a user has approved stays, and the audit log verifies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccessTest } from '../testkit/access-requests.ts'
import type { AccessTest } from '../testkit/access-requests.ts'
import { recorded } from '../testkit/audit.ts'
import { onBothDatabases } from '../testkit/databases.ts'
import { refresh, register, save } from '../testkit/legacy-v1.ts'
import { auditChainStore } from './audit/audit-chain-store.ts'
import { createAuditKeyStore } from './audit/audit-key-store.ts'
import { verifyAudit } from './audit/verify-audit.ts'
import type { Tables } from './platform/database/tables.ts'

const day = 86_400

async function findings({ database, vault }: AccessTest) {
  const key = await createAuditKeyStore(vault).find(database.queries)
  assert.ok(key)
  return (await verifyAudit({ database, chains: auditChainStore, key, onProgress: () => undefined })).findings
}

async function rowsIn({ database }: AccessTest, ...tables: (keyof Tables)[]): Promise<number> {
  let sum = 0
  for (const table of tables) {
    sum += (
      await database.queries
        .selectFrom(table as 'agents')
        .selectAll()
        .execute()
    ).length
  }
  return sum
}

/** Everything that an agent can do without a user. */
async function doAll(service: AccessTest, token: string): Promise<string> {
  const { call, asked, cancel } = service
  await asked({ user_id: 'ada@example.com', callback_url: 'https://receiver.example/' }, token)
  await cancel(await asked({}, token), token)
  await asked({ provider: 'sandbox' }, token)
  const started = await call('POST', '/v4/sandbox/start', { token })
  await call('POST', `/v4/grants/${started.body.grant_id}/revoke`, { token })
  await call('POST', '/v4/proxy', { token, body: { ...started.body.example.body, url: 'https://other.example/' } })
  const rotated = await call('POST', '/v4/agents/rotate-token', { token })
  return rotated.body.access_token as string
}

onBothDatabases('what no user has approved', (engine) => {
  test('is deleted after a week, an agent without use after a month', async (t) => {
    const service = await startAccessTest(t, engine)
    const { app, clock, call, registerAgent } = service
    const stranger = await registerAgent()
    const token = await doAll(service, stranger.token)
    await app.settle()
    await app.signRecord()
    const own = async () => (await recorded(service)).filter(({ agent_id }) => agent_id === stranger.agentId)
    assert.ok((await own()).length >= 10)
    clock.advance(6 * day)
    await app.sweep()
    assert.ok((await own()).length >= 10)
    clock.advance(2 * day + 1)
    await app.sweep()
    assert.deepEqual(await own(), [])
    assert.equal(await rowsIn(service, 'access_requests', 'callbacks', 'grants', 'sandboxes', 'keyed_calls'), 0)
    assert.equal((await call('GET', '/v4/agents/me', { token })).status, 200)
    assert.deepEqual(await findings(service), [])
    clock.advance(22 * day)
    await app.sweep()
    assert.equal((await call('GET', '/v4/agents/me', { token })).status, 401)
    assert.equal(await rowsIn(service, 'agents', 'rate_limits'), 0)
  })

  test('stays as long as there is something to decide or to use', async (t) => {
    const service = await startAccessTest(t, engine)
    const { app, clock, call, registerAgent, asked } = service
    const waiting = await registerAgent()
    const testing = await registerAgent()
    clock.advance(31 * day)
    await asked({}, waiting.token)
    await call('POST', '/v4/sandbox/start', { token: testing.token })
    await app.sweep()
    for (const { token } of [waiting, testing]) {
      assert.equal((await call('GET', '/v4/agents/me', { token })).status, 200)
    }
    assert.equal(await rowsIn(service, 'agents'), 2)
  })

  test('an agent that a user has approved stays with all that it did since, also when it is disabled', async (t) => {
    const service = await startAccessTest(t, engine)
    const { agent, app, clock, call, asked, approve, adminToken } = service
    const { status } = await approve(await asked())
    assert.equal(status, 201)
    await doAll(service, agent.token)
    const unapproved = await service.registerAgent()
    await call('POST', `/v4/agents/${unapproved.agentId}/disable`, { token: adminToken })
    clock.advance(400 * day)
    await app.sweep()
    const events = (await recorded(service)).filter(({ agent_id }) => agent_id === agent.agentId)
    assert.deepEqual(
      [...new Set(events.map(({ event }) => event))].sort(),
      [
        ...['access_request.approved', 'access_request.cancelled', 'access_request.created'],
        ...['agent.token_rotated', 'grant.revoked', 'sandbox.started'],
      ],
      'before the approval it was a stranger',
    )
    assert.equal(await rowsIn(service, 'agents'), 2, 'who was disabled stays disabled')
    assert.deepEqual(await findings(service), [])
  })

  test('a denial stays on record: a user decided it', async (t) => {
    const service = await startAccessTest(t, engine)
    await service.deny(await service.asked())
    service.clock.advance(400 * day)
    await service.app.sweep()
    const events = (await recorded(service, 'access_request.')).map(({ event }) => event)
    assert.deepEqual(events, ['access_request.denied'])
  })

  for (const [registration, kept] of [
    ['open', []],
    ['closed', ['v1.registered', 'v1.refreshed', 'v1.saved']],
  ] as const) {
    test(`records of the legacy protocol, while registration is ${registration}`, async (t) => {
      const service = await startAccessTest(t, engine)
      const client = await register(service)
      Object.assign(service.config, { v1Registration: registration })
      await register(service)
      await refresh(service, client)
      await save(service, await register(service), [{ key: 'a', value: 'b' }])
      service.clock.advance(8 * day)
      await service.app.sweep()
      const events = (await recorded(service, 'v1.')).map(({ event }) => event)
      assert.deepEqual([...new Set(events)].sort(), [...kept].sort())
      assert.deepEqual(await findings(service), [])
    })
  }
})
