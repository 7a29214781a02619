/** A key that an agent makes for its tools: what it is bound to, when it ends, and where it is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { assertInPlainNowhere } from '../../testkit/stored.ts'
import { Secret } from '../platform/secret.ts'
import { createToolIdentifier } from './identify.ts'
import { toolKeyStore } from './tool-key-store.ts'

const hour = 3600

function keysOf({ service, agent, grantId }: Calling) {
  const { call } = service
  const create = (body: object = {}, token = agent.token) =>
    call('POST', '/v4/agents/keys', { token, body: { grant_ids: [grantId], ...body } })
  const identify = createToolIdentifier({ ...service, toolKeys: toolKeyStore, clock: service.clock.now })
  return {
    create,
    made: async (body?: object) => {
      const { status, body: reply, text } = await create(body)
      assert.equal(status, 201, text)
      return reply as { key_id: string; key: string; grant_ids: string[]; created_at: string; expires_at: string }
    },
    refused: async (body?: object, token?: string) => {
      const { status, body: reply } = await create(body, token)
      const { code, field } = reply.error as { code: string; field?: string }
      return [status, code, field]
    },
    list: async (token = agent.token) =>
      (await call('GET', '/v4/agents/keys', { token })).body.keys as { key_id: string; last_used_at: string | null }[],
    revoke: (keyId: string, token = agent.token) => call('DELETE', `/v4/agents/keys/${keyId}`, { token }),
    opens: async (key: string) => (await identify(new Secret(key), undefined)) !== undefined,
  }
}

onBothDatabases('a key for tools', (engine) => {
  test('is made for active grants of the agent, for hours, and shown once', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent, userId, connectionId, grantId } = calling
    const keys = keysOf(calling)
    const made = await keys.made()
    assert.match(made.key, /^sp_key_[0-9A-Za-z]{49}$/)
    assert.deepEqual(made.grant_ids, [grantId])
    assert.equal(Date.parse(made.expires_at) - Date.parse(made.created_at), hour * 1000)
    const long = await keys.made({ expires_in_seconds: 24 * hour })
    assert.equal(Date.parse(long.expires_at) - Date.parse(long.created_at), 24 * hour * 1000)
    assert.deepEqual(await keys.refused({ expires_in_seconds: 24 * hour + 1 }), [
      ...[400, 'invalid_field', 'expires_in_seconds'],
    ])
    const other = await service.registerAgent()
    assert.deepEqual(await keys.refused({}, other.token), [404, 'grant_not_found', 'grant_ids.0'])
    const terms = { agentId: agent.agentId, userId, connectionId }
    const ended = [
      [{ expiresAt: service.clock.now() }, 'grant_expired'],
      [{ maxCalls: 0 }, 'grant_exhausted'],
    ] as const
    for (const [members, code] of ended) {
      const { grantId: past } = await insertGrant(service, { ...terms, ...members })
      assert.deepEqual(await keys.refused({ grant_ids: [grantId, past] }), [403, code, 'grant_ids.1'])
    }
    const { grantId: revoked } = await insertGrant(service, terms)
    await service.call('POST', `/v4/grants/${revoked}/revoke`, { token: agent.token })
    assert.deepEqual(await keys.refused({ grant_ids: [revoked] }), [403, 'grant_revoked', 'grant_ids.0'])
    const records = await recorded(service, 'tool_key.')
    assert.deepEqual(
      records.map(({ event, grant_id, user_id, detail }) => [event, grant_id, user_id, detail.key_id]),
      [made, long].map(({ key_id }) => ['tool_key.created', grantId, userId, key_id]),
    )
    await assertInPlainNowhere(service, [made.key, long.key])
  })

  test('of an agent with nothing but a sandbox is refused', async (t) => {
    const { call, registerAgent } = (await startCalling(t, engine)).service
    const { token } = await registerAgent()
    const { grant_id } = (await call('POST', '/v4/sandbox/start', { token })).body.example.body
    const { status, body } = await call('POST', '/v4/agents/keys', { token, body: { grant_ids: [grant_id] } })
    assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'grant_ids.0'])
  })

  test('is listed until it has ended, without the key itself', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent, userId, connectionId } = calling
    const keys = keysOf(calling)
    const short = await keys.made({ expires_in_seconds: 60 })
    const { grantId } = await insertGrant(service, { agentId: agent.agentId, userId, connectionId })
    service.clock.advance(1)
    const two = await keys.made({ grant_ids: [calling.grantId, grantId].sort() })
    const { key, ...shown } = two
    assert.deepEqual((await keys.list())[0], { ...shown, last_used_at: null })
    assert.equal(await keys.opens(key), true)
    assert.equal((await keys.list())[0]?.last_used_at, service.clock.now().toISOString())
    assert.deepEqual(await keys.list((await service.registerAgent()).token), [])
    const ids = async () => (await keys.list()).map(({ key_id }) => key_id)
    assert.deepEqual(await ids(), [two.key_id, short.key_id])
    service.clock.advance(60)
    assert.deepEqual([await keys.opens(short.key), await keys.opens(two.key)], [false, true])
    assert.deepEqual(await ids(), [two.key_id])
    await service.app.sweep()
    const left = await service.database.queries.selectFrom('tool_keys').select('key_id').execute()
    assert.deepEqual(
      left.map(({ key_id }) => key_id),
      [two.key_id],
    )
    await service.call('POST', `/v4/grants/${calling.grantId}/revoke`, { token: agent.token })
    assert.deepEqual(await ids(), [two.key_id])
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token })
    assert.deepEqual(await ids(), [])
  })

  test("ends when its agent revokes it, and nobody else's agent can", async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent } = calling
    const keys = keysOf(calling)
    const { key, key_id: keyId } = await keys.made()
    assert.equal(await keys.opens(key), true)
    const other = await service.registerAgent()
    assert.equal((await keys.revoke(keyId, other.token)).status, 404)
    assert.equal(await keys.opens(key), true)
    const revoked = await keys.revoke(keyId)
    assert.deepEqual([revoked.status, revoked.body.key_id], [200, keyId])
    assert.equal(await keys.opens(key), false)
    assert.equal((await keys.revoke(keyId)).status, 404)
    const [record] = (await recorded(service, 'tool_key.revoked')).map(({ agent_id, detail }) => ({ agent_id, detail }))
    assert.deepEqual(record, { agent_id: agent.agentId, detail: { key_id: keyId } })
  })

  test('ends with the token of its agent, and with the agent', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent } = calling
    const { call, adminToken } = service
    const first = await keysOf(calling).made()
    const { access_token: token } = (await call('POST', '/v4/agents/rotate-token', { token: agent.token })).body
    const keys = keysOf({ ...calling, agent: { ...agent, token } })
    assert.equal(await keys.opens(first.key), false)
    assert.deepEqual(await keys.list(), [])
    const second = await keys.made()
    assert.equal(await keys.opens(second.key), true)
    assert.equal((await call('POST', `/v4/agents/${agent.agentId}/disable`, { token: adminToken })).status, 200)
    assert.equal(await keys.opens(second.key), false)
  })

  test('is one of 100 at most', async (t) => {
    const calling = await startCalling(t, engine)
    const keys = keysOf(calling)
    const { key_id: first } = await keys.made()
    for (let more = 1; more < 100; more++) await keys.made()
    assert.deepEqual(await keys.refused(), [429, 'rate_limited', undefined])
    await keys.revoke(first)
    await keys.made()
  })

  test('is refused by every route of agents, people and admins', async (t) => {
    const calling = await startCalling(t, engine)
    const { call } = calling.service
    const { key: token } = await keysOf(calling).made()
    const { paths } = (await call('GET', '/openapi.json')).body as {
      paths: Record<string, Record<string, { security?: object[] }>>
    }
    const closed = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { security = [] }]) => security.length > 0 && !security.some((one) => 'tool' in one))
        .map(([method]) => [method.toUpperCase(), path] as const),
    )
    assert.ok(closed.length > 50)
    assert.ok(closed.some(([method, path]) => method === 'POST' && path === '/v4/proxy'))
    for (const [method, path] of closed) {
      const { status, body } = await call(method, path.replaceAll(/\{\w+\}/g, 'x'), { token })
      assert.deepEqual([status, body.error.code], [403, 'forbidden'], `${method} ${path}`)
      assert.match(body.error.message as string, /^This call requires .+, not a key for tools\.$/)
    }
    // Nor anywhere else: as a cookie, or in the query.
    for (const headers of [{ cookie: `svc_session=${token}` }, {}]) {
      assert.equal((await call('GET', `/v4/grants?key=${token}`, { headers })).status, 401)
    }
  })
})
