/** A person opens a request again that ended, and calls agents by names of their own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiHosts, startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

const dayAndMore = 86_401

function renew({ call, user }: AccessTest, id: string, token = user.token) {
  return call('POST', `/v4/access-requests/${id}/renew`, { token })
}

async function refusal(test: AccessTest, id: string, token?: string): Promise<string> {
  const { status, body } = await renew(test, id, token)
  return `${status} ${body.error?.code}`
}

onBothDatabases('renewing', (engine) => {
  test('an expired request is opened again on the same terms, for this user, and can be approved', async (t) => {
    const access = await startAccessTest(t, engine)
    const wish = { hosts: [apiHosts[0]], methods: ['GET'], paths: ['/mail'], max_calls: 7, reason: 'To read mail' }
    const id = await access.asked({ ...wish, user_id: 'ada@example.com' })
    assert.equal(await refusal(access, id), '409 conflict', 'pending')
    access.clock.advance(dayAndMore)
    const other = await access.logIn({ email: 'mallory@example.com' })
    assert.equal(await refusal(access, id, other.token), '404 not_found')
    assert.equal(await refusal(access, id, access.agent.token), '403 forbidden')

    const replies = await Promise.all([1, 2, 3].map(() => renew(access, id)))
    const ids = new Set(replies.map(({ body }) => body.access_request_id))
    assert.equal(ids.size, 1, 'of several at once one creates it')
    const [reply] = replies
    assert.ok(reply)
    assert.equal(reply.status, 201, reply.text)
    const { hosts, methods, paths, max_calls, reason, status } = reply.body
    assert.deepEqual({ hosts, methods, paths, max_calls, reason, status }, { ...wish, status: 'pending' })
    const [renewed = ''] = [...ids]
    assert.deepEqual(await access.pending(), [renewed])
    assert.equal((await access.read(id)).body.status, 'expired')
    assert.equal((await access.approve(renewed)).status, 201)
    assert.deepEqual((await access.read(renewed)).body.approved_by, access.user.userId)
    const created = await recorded(access, 'access_request.created')
    assert.deepEqual(
      created.map(({ detail }) => detail['by']),
      [undefined, 'user'],
    )
  })

  test('one whose grant has ended gets the terms of the grant, not of the request', async (t) => {
    const access = await startAccessTest(t, engine)
    const id = await access.asked({ user_id: 'ada@example.com' })
    const narrow = { allowed_hosts: [apiHosts[0]], allowed_methods: ['GET'], max_calls: 3 }
    const grant = (await access.approve(id, narrow)).body
    assert.equal(await refusal(access, id), '409 conflict', 'its grant is active')
    await access.call('POST', `/v4/grants/${grant.grant_id}/revoke`, { token: access.user.token })
    const { body } = await renew(access, id)
    assert.deepEqual([body.hosts, body.methods, body.max_calls], [[apiHosts[0]], ['GET'], 3])
    const wider = await access.approve(body.access_request_id, { allowed_methods: ['POST'] })
    assert.equal(wider.body.error.field, 'allowed_methods.0')
    assert.equal((await access.read(id)).body.status, 'approved')
  })

  test('a denied request stays denied, and its renewal can be approved', async (t) => {
    const access = await startAccessTest(t, engine)
    const id = await access.asked({ user_id: 'ada@example.com' })
    await access.deny(id)
    const { body } = await renew(access, id)
    assert.equal((await access.approve(body.access_request_id)).status, 201)
    assert.equal((await access.read(id)).body.status, 'denied')
  })

  test('what the agent cancelled, another approved, or nothing stands behind any more is not renewed', async (t) => {
    const access = await startAccessTest(t, engine)
    const { call, adminToken, providerId, agent } = access
    const cancelled = await access.asked()
    await access.cancel(cancelled)
    assert.equal(await refusal(access, cancelled), '409 conflict')
    const theirs = await access.asked()
    const other = await access.logIn({ email: 'grace@example.com' })
    await access.approve(theirs, { connection_id: await access.connect(other, 'grace') }, other.token)
    assert.equal(await refusal(access, theirs), '409 conflict')
    const denied = await access.asked({ hosts: [apiHosts[0]] })
    await access.deny(denied)
    const as = { token: adminToken }
    await call('PATCH', `/v4/providers/${providerId}`, { ...as, body: { api_hosts: ['other.acme.example'] } })
    assert.equal(await refusal(access, denied), '409 conflict')
    await call('PATCH', `/v4/providers/${providerId}`, { ...as, body: { api_hosts: apiHosts } })
    await call('POST', `/v4/agents/${agent.agentId}/disable`, as)
    assert.equal(await refusal(access, denied), '409 conflict')
    await call('POST', `/v4/agents/${agent.agentId}/enable`, as)
    assert.equal((await renew(access, denied)).status, 201)
  })

  test('renewals are limited, as each leaves a row', async (t) => {
    const access = await startAccessTest(t, engine)
    const ids: string[] = []
    for (const name of ['One', 'Two', 'Three']) {
      const { token } = await access.registerAgent(name)
      for (let calls = 1; calls <= 11; calls++) ids.push(await access.asked({ max_calls: calls }, token))
    }
    access.clock.advance(dayAndMore)
    const codes = []
    for (const id of ids.slice(0, 31)) codes.push((await renew(access, id)).status)
    assert.deepEqual(codes, [...Array.from({ length: 30 }, () => 201), 429])
  })
})

onBothDatabases('names for agents', (engine) => {
  test('a user names an agent that asked them; nobody else is told', async (t) => {
    const access = await startAccessTest(t, engine)
    const { call, user, agent } = access
    const put = (name: unknown, token = user.token, id = agent.agentId) =>
      call('PUT', `/v4/agent-names/${id}`, { token, body: { name } })
    const names = async (token = user.token) => (await call('GET', '/v4/agent-names', { token })).body.agent_names
    assert.equal((await put('Laptop')).body.error.code, 'not_found', 'it has not asked yet')
    await access.asked({ user_id: 'ada@example.com' })
    assert.deepEqual((await put(' Laptop ')).body, { agent_id: agent.agentId, name: 'Laptop' })
    await put('Laptop at work')
    assert.deepEqual(await names(), [{ agent_id: agent.agentId, name: 'Laptop at work' }])
    for (const odd of ['', ' ', 'a\u202eb', 'x'.repeat(101), 7]) assert.equal((await put(odd)).status, 400)

    const other = await access.logIn({ email: 'mallory@example.com' })
    assert.equal((await put('Mine', other.token)).body.error.code, 'not_found')
    assert.deepEqual(await names(other.token), [])
    assert.equal((await put('Me', agent.token)).status, 403)
    for (const path of ['/v4/agents/me', '/v4/audit', '/v4/grants']) {
      assert.doesNotMatch((await call('GET', path, { token: agent.token })).text, /Laptop/)
    }
    assert.deepEqual((await call('DELETE', `/v4/agent-names/${agent.agentId}`, { token: user.token })).body, {})
    assert.deepEqual(await names(), [])
  })
})
