import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'

onBothDatabases('the requesting agent', (engine) => {
  test('is shown as self-registered, or with an unverified owner', async (t) => {
    const { call, asked, read, agent, user, clock } = await startAccessTest(t, engine)
    const shownTo = async (owner: string | undefined) => {
      clock.advance(60)
      const body = { name: 'An agent', ...(owner !== undefined && { owner_user_id: owner }) }
      const registered = await call('POST', '/v4/agents/register', { body })
      const token = registered.body.access_token as string
      const id = await asked({ user_id: 'ada@example.com' }, token)
      assert.equal((await read(id, token)).body.agent.registration, null, 'an agent is not told how it is seen')
      const { body: seen } = await read(id, user.token)
      assert.equal(seen.agent.registered_at, clock.now().toISOString())
      return seen.agent.registration
    }
    const claim = (claimed_owner: string | null, claims_you: boolean) => ({
      ...{ kind: 'claims_owner', claimed_owner, claims_you, verified: false },
    })
    const itself = { kind: 'self_registered', claimed_owner: null, claims_you: false, verified: false }
    assert.deepEqual(await shownTo(undefined), itself)
    assert.deepEqual(await shownTo('self-registered'), itself)
    assert.deepEqual(await shownTo('Eve'), claim('Eve', false))
    assert.deepEqual(await shownTo(user.userId), claim(user.userId, true))
    assert.deepEqual(await shownTo('ADA@example.com'), claim('ADA@example.com', true))
    assert.deepEqual(await shownTo('\u202eada\u2066\u0007'), claim('ada', false), 'nothing that misleads')
    assert.deepEqual(await shownTo('\u2800 \u200e'), claim(null, false))
    assert.deepEqual((await read(await asked(), user.token)).body.agent.agent_id, agent.agentId)
  })

  test("is shown with this user's earlier grants and calls, while pending", async (t) => {
    const service = await startAccessTest(t, engine)
    const { asked, approve, call, read, registerAgent, logIn, agent, user, database, clock } = service
    const eve = await logIn({ email: 'eve@example.com' })
    const other = await registerAgent()
    const historyOf = async (id: string, token = user.token) => (await read(id, token)).body.history
    const nothing = { grants: 0, active_grants: 0, calls: 0, last_call_at: null }
    const open = await asked()
    assert.deepEqual(await historyOf(open), nothing)
    const first = await approve(await asked())
    const second = await approve(await asked())
    await insertGrant(service, { agentId: agent.agentId, userId: eve.userId, connectionId: null })
    await insertGrant(service, { agentId: other.agentId, userId: user.userId, connectionId: null })
    const used = clock.now().getTime() + 5_000
    await database.queries.updateTable('grant_usage').set({ calls: 3, last_used_at: used }).execute()
    await call('POST', `/v4/grants/${second.body.grant_id}/revoke`, { token: user.token })
    const past = { grants: 2, active_grants: 1, calls: 6, last_call_at: new Date(used).toISOString() }
    assert.deepEqual(await historyOf(open), past)
    assert.deepEqual(await historyOf(open, eve.token), { ...past, grants: 1, active_grants: 1, calls: 3 }, 'their own')
    assert.equal(await historyOf(open, agent.token), null, 'the agent is told nothing of it')
    const hinted = await asked({ user_id: 'ada@example.com' })
    const { body } = await call('GET', '/v4/access-requests/pending', { token: user.token })
    assert.deepEqual(
      body.access_requests.map((one: any) => [one.access_request_id, one.history]),
      [[hinted, past]],
    )
    assert.equal(await historyOf(first.body.access_request_id), null, 'once it is decided it is a part of the past')
    assert.equal((await approve(open)).status, 201)
  })
})
