/** Whatever a held call stands on ends before it starts: it never goes out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { recorded } from '../../testkit/audit.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'

interface Ending {
  end: (test: HeldCallTest) => Promise<unknown>
  /** What the agent reads then. Default: that it was cancelled. */
  status?: string
  code?: string
  /** It can still be decided, once that has been put right. */
  isWaiting?: true
}

const asAdmin = ({ service }: HeldCallTest, method: string, path: string, body?: object) =>
  service.call(method, path, { token: service.adminToken, ...(body && { body }) })
const setConnection = ({ service: { database }, connectionId }: HeldCallTest, status: 'needs_reauth') =>
  database.queries.updateTable('connections').set({ status }).where('connection_id', '=', connectionId).execute()

const endings: Record<string, Ending> = {
  'its grant is revoked by the user': {
    end: ({ service, grantId, user }) => service.call('POST', `/v4/grants/${grantId}/revoke`, { token: user.token }),
  },
  'its grant is given up by the agent': {
    end: ({ service, grantId, agent }) => service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token }),
  },
  'its grant expires': {
    end: ({ service: { database, clock } }) =>
      database.queries.updateTable('grants').set({ expires_at: clock.now().getTime() }).execute(),
  },
  'its grant has no call left': {
    end: async ({ service: { database } }) => {
      await database.queries.updateTable('grants').set({ max_calls: 1 }).execute()
      await database.queries.updateTable('grant_usage').set({ calls: 1 }).execute()
    },
  },
  'its agent is disabled': { end: (test) => asAdmin(test, 'POST', `/v4/agents/${test.agent.agentId}/disable`) },
  "its agent's token is replaced": {
    end: ({ service, agent }) => service.call('POST', '/v4/agents/rotate-token', { token: agent.token }),
  },
  'its connection is removed': {
    end: ({ service, user, connectionId }) =>
      service.call('DELETE', `/v4/connections/${connectionId}`, { token: user.token }),
  },
  'its provider is disabled': {
    end: (test) => asAdmin(test, 'POST', `/v4/providers/${test.providerId}/disable`),
  },
  'its user is disabled': { end: (test) => asAdmin(test, 'POST', `/v4/users/${test.userId}/disable`) },
  'its host is removed from the provider': {
    end: (test) => asAdmin(test, 'PATCH', `/v4/providers/${test.providerId}`, { api_hosts: ['api.example.com'] }),
    status: 'done',
    code: 'host_not_allowed',
    isWaiting: true,
  },
  'its user pauses all agents': {
    end: ({ service, user }) => service.call('PUT', '/v4/pause', { token: user.token, body: {} }),
    status: 'done',
    code: 'paused',
    isWaiting: true,
  },
  'its connection needs a new sign-in': {
    end: (test) => setConnection(test, 'needs_reauth'),
    status: 'done',
    code: 'connection_needs_reauth',
    isWaiting: true,
  },
}

/** As its agent would read it, with whatever token it has by now. */
async function statusOf({ service: { database, app } }: HeldCallTest, callId: string) {
  await app.catchUp()
  const row = database.queries
    .selectFrom('held_calls')
    .select(['status', 'error', 'request'])
    .where('call_id', '=', callId)
  const { status, error, request } = await row.executeTakeFirstOrThrow()
  return { status, request, code: error === null ? undefined : (JSON.parse(error) as { code: string }).code }
}

onBothDatabases('a held call is not made if', (engine) => {
  for (const [name, { end, status = 'cancelled', code, isWaiting }] of Object.entries(endings)) {
    test(name, async (t) => {
      const test = await startHeldCalls(t, engine)
      const { service, upstream, user } = test
      const approvedId = await test.held({ body: { text: 'approved' } })
      const waitingId = await test.held({ body: { text: 'waiting' } })
      // As an instance leaves it that crashes right after the decision.
      const now = service.clock.now().getTime()
      const approved = { status: 'approved' as const, decided_at: now, decided_by: user.userId }
      await service.database.queries.updateTable('held_calls').set(approved).where('call_id', '=', approvedId).execute()
      const { digest } = (await test.see(waitingId)).body
      await end(test)

      const listed = await test.waiting().catch(() => [])
      assert.equal((listed as unknown[] | undefined)?.length ?? 0, isWaiting ? 1 : 0)
      const decision = await test.approve(waitingId, { digest })
      assert.ok(decision.status >= 400, decision.text)
      service.clock.advance(3)
      await service.app.catchUp()
      await service.app.heldCallsMade()
      assert.equal(upstream.received.length, 0)
      const ended = await statusOf(test, approvedId)
      assert.deepEqual([ended.status, ended.request], [status, null])
      if (status === 'done') assert.equal(ended.code, code)
      const waiting = await statusOf(test, waitingId)
      assert.equal(waiting.status, isWaiting ? 'waiting' : 'cancelled')
      const events = (await recorded(service, 'proxy.')).filter(({ event }) => event === 'proxy.attempt')
      assert.deepEqual(events, [])
      if (!isWaiting) {
        const cancelled = (await recorded(service, 'proxy.cancelled')).map(({ detail }) => detail.call_id)
        assert.ok(cancelled.includes(waitingId))
      }
    })
  }

  test('its agent or user was disabled, also once they are enabled again', async (t) => {
    for (const noun of ['agents', 'users']) {
      const test = await startHeldCalls(t, engine)
      const { service, upstream, user } = test
      const approvedId = await test.held({ body: { text: 'approved' } })
      const waitingId = await test.held({ body: { text: 'waiting' } })
      const now = service.clock.now().getTime()
      const approved = { status: 'approved' as const, decided_at: now, decided_by: user.userId }
      await service.database.queries.updateTable('held_calls').set(approved).where('call_id', '=', approvedId).execute()
      const id = noun === 'agents' ? test.agent.agentId : test.userId
      await asAdmin(test, 'POST', `/v4/${noun}/${id}/disable`)
      service.clock.advance(2)
      assert.equal((await asAdmin(test, 'POST', `/v4/${noun}/${id}/enable`)).status, 200)
      await service.app.heldCallsMade()
      assert.equal((await statusOf(test, approvedId)).status, 'cancelled')
      assert.equal((await statusOf(test, waitingId)).status, 'cancelled')
      assert.equal(upstream.received.length, 0)
    }
  })

  test('a call that cannot be settled does not keep the others', async (t) => {
    const test = await startHeldCalls(t, engine)
    const broken = await test.held()
    const other = await test.held({ body: { text: 'other' } })
    await test.service.database.queries
      .updateTable('held_calls')
      .set({ shown: Buffer.from('not sealed') })
      .where('call_id', '=', broken)
      .execute()
    test.service.clock.advance(3600)
    await test.service.app.catchUp()
    const [record, ...more] = await recorded(test.service, 'proxy.expired')
    assert.deepEqual([record?.detail.call_id, more.length], [other, 0])
  })

  test('nobody decides in time, which is not a denial', async (t) => {
    const test = await startHeldCalls(t, engine, { settings: { SALLYPORT_HELD_CALL_SECONDS: '60' } })
    const id = await test.held()
    test.service.clock.advance(60)
    assert.deepEqual(await test.waiting(), [])
    assert.equal((await test.read(id)).body.status, 'expired')
    assert.equal((await test.approve(id)).body.error.code, 'call_not_waiting')
    await test.service.app.catchUp()
    assert.equal((await recorded(test.service, 'proxy.expired'))[0]?.detail.call_id, id)
    assert.equal((await test.ask()).status, 202, 'it may be asked again')
    await test.service.app.catchUp()
    assert.equal((await recorded(test.service, 'proxy.expired')).length, 1)
    test.service.clock.advance(86_400)
    await test.service.app.sweep()
    assert.equal((await test.read(id)).status, 404, 'a call that nobody decided is kept for a day')
  })

  test('no instance starts it within 30 seconds of the approval', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { service } = test
    const id = await test.held()
    const approved = { status: 'approved' as const, decided_at: service.clock.now().getTime(), decided_by: test.userId }
    await service.database.queries.updateTable('held_calls').set(approved).execute()
    service.clock.advance(30)
    await service.app.catchUp()
    assert.equal((await test.read(id)).body.status, 'expired')
    assert.equal(test.upstream.received.length, 0)
  })

  test('an instance that crashed left it running, and its outcome is unknown', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { service } = test
    const id = await test.held({})
    const running = { status: 'running' as const, deadline: service.clock.now().getTime() + 70_000 }
    await service.database.queries.updateTable('held_calls').set(running).execute()
    assert.equal((await test.read(id)).body.status, 'running')
    assert.equal((await test.cancel(id)).body.error.code, 'call_not_waiting')
    service.clock.advance(71)
    assert.equal((await test.read(id)).body.status, 'unknown')
    await service.app.catchUp()
    assert.equal((await statusOf(test, id)).status, 'unknown')
    assert.equal(test.upstream.received.length, 0)
  })

  test('another instance starts what one left approved', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { service } = test
    const id = await test.held()
    const approved = { status: 'approved' as const, decided_at: service.clock.now().getTime(), decided_by: test.userId }
    await service.database.queries.updateTable('held_calls').set(approved).execute()
    await service.app.catchUp()
    assert.equal((await test.read(id)).body.status, 'approved', 'the instance that decided has the precedence')
    service.clock.advance(3)
    await Promise.all([service.app.catchUp(), service.app.catchUp()])
    assert.equal((await test.ended(id)).response.status, 200)
    assert.equal(test.upstream.received.length, 1)
  })
})
