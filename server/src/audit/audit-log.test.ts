import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { createStores } from '../stores.ts'

const at = new Date('2026-11-15T12:00:00.000Z')

onBothDatabases('the record', (engine) => {
  test('keeps records in order, each with its own audit_id unless it belongs to another', async (t) => {
    const service = await startService(t, engine)
    const { queries } = service.database
    const { audit } = createStores({ ...service, clock: service.clock.now })
    const first = await audit.append(queries, { event: 'keys.rotated', at })
    const detail = { names: ['é', '"', '\u0000', '\u2028'], count: 2 ** 53 - 1, none: null }
    const second = await audit.append(queries, {
      auditId: first,
      event: 'proxy.outcome',
      at,
      requestId: 'req_1',
      agentId: 'agt_1',
      userId: 'usr_1',
      grantId: 'grt_1',
      detail,
    })
    const third = await audit.append(queries, { event: 'keys.rotated', at })
    assert.equal(second, first)
    assert.notEqual(third, first)
    assert.match(first, /^aud_[0-9a-z]{26}$/)
    const nobody = { request_id: null, agent_id: null, user_id: null, grant_id: null, detail: {} }
    assert.deepEqual(await recorded(service), [
      { audit_id: first, event: 'keys.rotated', at: at.getTime(), ...nobody },
      {
        audit_id: first,
        event: 'proxy.outcome',
        at: at.getTime(),
        request_id: 'req_1',
        agent_id: 'agt_1',
        user_id: 'usr_1',
        grant_id: 'grt_1',
        detail,
      },
      { audit_id: third, event: 'keys.rotated', at: at.getTime(), ...nobody },
    ])
  })

  test('is rolled back with its transaction', async (t) => {
    const service = await startService(t, engine)
    const { audit } = createStores({ ...service, clock: service.clock.now })
    const undone = service.database.transaction(async (tx) => {
      await audit.append(tx, { event: 'keys.rotated', at })
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    assert.deepEqual(await recorded(service), [])
  })

  test('names the caller and the call of every action', async (t) => {
    const service = await startService(t, engine)
    const { agentId, token } = await service.registerAgent()
    const { userId, token: session } = await service.logIn()
    await service.call('POST', '/v4/agents/rotate-token', { token })
    await service.call('POST', `/v4/agents/${agentId}/disable`, { token: service.adminToken })
    await service.call('POST', '/v4/auth/logout', { token: session })
    await service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
    const records = await recorded(service)
    assert.deepEqual(
      records.map(({ event, agent_id, user_id }) => [event, agent_id, user_id]),
      [
        ['agent.registered', agentId, null],
        ['login_token.issued', null, userId],
        ['session.started', null, userId],
        ['agent.token_rotated', agentId, null],
        ['agent.disabled', agentId, null],
        ['session.revoked', null, userId],
        ['user.disabled', null, userId],
      ],
    )
    assert.equal(new Set(records.map(({ request_id }) => request_id)).size, records.length)
    assert.ok(records.every(({ request_id }) => request_id?.startsWith('req_')))
  })
})
