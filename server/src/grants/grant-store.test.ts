import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { startInstances } from '../../testkit/instances.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { agentStore } from '../agents/agent-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { defaultTerms } from './grant.ts'
import { grantStore } from './grant-store.ts'

async function callsOf({ database }: TestService, grantId: string): Promise<unknown> {
  const query = database.queries.selectFrom('grant_usage').select(['calls', 'last_used_at'])
  return { ...(await query.where('grant_id', '=', grantId).executeTakeFirst()) }
}

async function countCall({ database }: TestService, grantId: string, now: Date): Promise<boolean | undefined> {
  return (await database.transaction((tx) => grantStore.countCalls(tx, [{ grantId, termsVersion: 1 }], now)))[0]
}

onBothDatabases('grants', (engine) => {
  test('a grant is read as it was stored, and only by its agent', async (t) => {
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
      isPaused: false,
      termsVersion: 1,
      ...defaultTerms,
    })
    const stranger = await service.registerAgent()
    assert.equal(await grantStore.findOfAgent(queries, stranger.agentId, grantId), undefined)
    assert.equal(await grantStore.findOfAgent(queries, agentId, 'grt_none'), undefined)
  })

  test('concurrent calls are all counted', async (t) => {
    const service = await startService(t, engine)
    const { grantId } = await agentInSandbox(service)
    const now = service.clock.now()
    const count = () => countCall(service, grantId, now)
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 12 }, count))), new Set([true]))
    assert.deepEqual(await callsOf(service, grantId), { calls: 12, last_used_at: now.getTime() })
  })

  test('calls of one batch on a grant are counted one by one, up to its limit', async (t) => {
    const service = await startService(t, engine)
    const [few, many] = [await agentInSandbox(service), await agentInSandbox(service)]
    const { queries } = service.database
    await queries.updateTable('grants').set({ max_calls: 2 }).where('grant_id', '=', few.grantId).execute()
    const judged = [few, many, few, few, many].map(({ grantId }) => ({ grantId, termsVersion: 1 }))
    const now = service.clock.now()
    const counted = await service.database.transaction((tx) => grantStore.countCalls(tx, judged, now))
    assert.deepEqual(counted, [true, true, true, false, true])
    assert.deepEqual(await callsOf(service, few.grantId), { calls: 2, last_used_at: now.getTime() })
  })

  test('of concurrent calls on two instances exactly max_calls are counted', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { grantId } = await agentInSandbox(here)
    await here.database.queries.updateTable('grants').set({ max_calls: 5 }).where('grant_id', '=', grantId).execute()
    const now = here.clock.now()
    const count = (_: unknown, index: number) => countCall(index % 2 ? here : there, grantId, now)
    const counted = await Promise.all(Array.from({ length: 32 }, count))
    assert.equal(counted.filter(Boolean).length, 5)
    assert.deepEqual(await callsOf(here, grantId), { calls: 5, last_used_at: now.getTime() })
  })

  test('a call during the revocation of its grant waits and is not counted', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { agentId, grantId } = await agentInSandbox(here)
    const now = here.clock.now()
    for (const revoke of [
      (tx: Queries) => grantStore.revoke(tx, grantId, 'user', now),
      (tx: Queries) => grantStore.revokeOtherSandboxes(tx, agentId, 'grt_other', now),
    ]) {
      let counting: Promise<unknown> = Promise.resolve()
      await here.database.transaction(async (tx) => {
        await revoke(tx)
        counting = countCall(there, grantId, now)
        assert.equal(await Promise.race([counting, sleep(100, 'waits')]), 'waits')
      })
      assert.equal(await counting, false)
      const again = here.database.queries.updateTable('grants').set({ revoked_at: null, revoked_by: null })
      await again.where('grant_id', '=', grantId).execute()
      await here.database.queries.updateTable('grant_usage').set({ is_open: 1 }).execute()
    }
    assert.equal(await countCall(there, grantId, now), true)
  })

  test('a call that waited for another is checked against the new state', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { agentId, grantId } = await agentInSandbox(here)
    const now = here.clock.now()
    let counting: Promise<unknown> = Promise.resolve()
    await here.database.transaction(async (tx) => {
      assert.deepEqual(await grantStore.countCalls(tx, [{ grantId, termsVersion: 1 }], now), [true])
      counting = countCall(there, grantId, now)
      assert.equal(await Promise.race([counting, sleep(100, 'waits')]), 'waits')
      // SQLite has one writer: there it is part of what the call waits for.
      await agentStore.disable(engine === 'sqlite' ? tx : there.database.queries, agentId, now)
    })
    assert.equal(await counting, false)
    assert.deepEqual(await callsOf(here, grantId), { calls: 1, last_used_at: now.getTime() })
  })

  test('a revocation waits for the call that is being counted', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { grantId } = await agentInSandbox(here)
    const now = here.clock.now()
    let revoking: Promise<unknown> = Promise.resolve()
    await here.database.transaction(async (tx) => {
      assert.deepEqual(await grantStore.countCalls(tx, [{ grantId, termsVersion: 1 }], now), [true])
      revoking = there.database.transaction((other) => grantStore.revoke(other, grantId, 'user', now))
      assert.equal(await Promise.race([revoking, sleep(100, 'waits')]), 'waits')
    })
    assert.equal(await revoking, true)
    assert.equal(await countCall(here, grantId, now), false)
    assert.deepEqual(await callsOf(here, grantId), { calls: 1, last_used_at: now.getTime() })
  })

  test('the counts are deleted with the grant', async (t) => {
    const service = await startService(t, engine)
    const { agentId, grantId } = await agentInSandbox(service)
    const { queries } = service.database
    await queries.deleteFrom('sandboxes').where('agent_id', '=', agentId).execute()
    await grantStore.dropSandboxesEndedBefore(queries, new Date('2026-11-15T13:00:00.001Z'))
    assert.deepEqual(await callsOf(service, grantId), {})
  })

  test('no call is counted on a grant whose connection was revoked or whose user was disabled', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { agentId } = await service.registerAgent()
    const { userId, token } = service.user
    const [ended, live] = [await service.connect(), await service.connect(service.user, 'bob')]
    const cut = await insertGrant(service, { agentId, userId, connectionId: ended })
    const other = await insertGrant(service, { agentId, userId, connectionId: live })
    const count = ({ grantId }: { grantId: string }) => countCall(service, grantId, service.clock.now())
    assert.deepEqual([await count(cut), await count(other)], [true, true])
    await service.call('DELETE', `/v4/connections/${ended}`, { token })
    assert.deepEqual([await count(cut), await count(other)], [false, true])
    await service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
    assert.equal(await count(other), false)
    assert.deepEqual(await callsOf(service, other.grantId), { calls: 2, last_used_at: service.clock.now().getTime() })
  })

  test('no call is counted on a grant that expired or was revoked, or of an agent that was disabled', async (t) => {
    const service = await startService(t, engine)
    const { queries } = service.database
    const count = (grantId: string, now = service.clock.now()) => countCall(service, grantId, now)

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
