import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { grantStore } from './grant-store.ts'

async function callsOf({ database }: TestService, grantId: string): Promise<unknown> {
  const query = database.queries.selectFrom('grants').select(['calls', 'last_used_at'])
  return { ...(await query.where('grant_id', '=', grantId).executeTakeFirst()) }
}

onBothDatabases('grants', (engine) => {
  test('what is stored of a grant is what is read, and only by its agent', async (t) => {
    const service = await startService(t, engine)
    const { agentId, grantId, echoUrl } = await agentInSandbox(service)
    const { queries } = service.database
    assert.deepEqual(await grantStore.findOfAgent(queries, agentId, grantId), {
      grantId,
      agentId,
      kind: 'sandbox',
      userId: null,
      connectionId: null,
      accessRequestId: null,
      allowedHosts: [new URL(echoUrl).host],
      allowedMethods: null,
      allowedPaths: ['/v4/sandbox/echo'],
      maxCalls: null,
      calls: 0,
      lastUsedAt: null,
      createdAt: new Date('2026-11-15T12:00:00.000Z'),
      expiresAt: new Date('2026-11-15T13:00:00.000Z'),
      revokedAt: null,
      revokedBy: null,
      isCutOff: false,
    })
    const stranger = await service.registerAgent()
    assert.equal(await grantStore.findOfAgent(queries, stranger.agentId, grantId), undefined)
    assert.equal(await grantStore.findOfAgent(queries, agentId, 'grt_none'), undefined)
  })

  test('of calls counted at once none is lost', async (t) => {
    const service = await startService(t, engine)
    const { grantId } = await agentInSandbox(service)
    const now = service.clock.now()
    const count = () => service.database.transaction((tx) => grantStore.countCall(tx, grantId, now))
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 12 }, count))), new Set([true]))
    assert.deepEqual(await callsOf(service, grantId), { calls: 12, last_used_at: now.getTime() })
  })

  test('no call is counted on a grant that expired or was revoked, or of an agent that was disabled', async (t) => {
    const service = await startService(t, engine)
    const { queries } = service.database
    const count = (grantId: string, now = service.clock.now()) => grantStore.countCall(queries, grantId, now)

    const expired = await agentInSandbox(service)
    assert.equal(await count(expired.grantId, new Date('2026-11-15T12:59:59.999Z')), true)
    assert.equal(await count(expired.grantId, new Date('2026-11-15T13:00:00.000Z')), false)

    const revoked = await agentInSandbox(service)
    await grantStore.revokeOtherSandboxes(queries, revoked.agentId, 'grt_other', service.clock.now())
    assert.equal(await count(revoked.grantId), false)

    const disabled = await agentInSandbox(service)
    await service.call('POST', `/v4/agents/${disabled.agentId}/disable`, { token: service.adminToken })
    assert.equal(await count(disabled.grantId), false)
    assert.deepEqual(await callsOf(service, disabled.grantId), { calls: 0, last_used_at: null })

    assert.equal(await count('grt_none'), false)
  })
})
