import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { Reply } from '../../testkit/service.ts'

const idsIn = ({ body }: Reply) =>
  (body.connections as { connection_id: string }[]).map(({ connection_id }) => connection_id)

/** Newest first, as they are listed. */
async function connectAll({ connect, user, clock }: ConnectionTest, ...accounts: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const account of accounts) {
    ids.unshift(await connect(user, account))
    clock.advance(1)
  }
  return ids
}

onBothDatabases('connections', (engine) => {
  test('a connection has exactly these members, and no token', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, clock, connect, providerId } = test
    const at = clock.now()
    const id = await connect()
    const { body, text } = await call('GET', '/v4/connections', { token: user.token })
    assert.deepEqual(body, {
      connections: [
        {
          connection_id: id,
          provider_id: providerId,
          provider: slug,
          provider_name: 'Acme',
          auth_method: 'oauth2',
          verified: true,
          account_label: 'ada@example.com',
          api_host: null,
          scopes: ['openid', 'offline_access', 'email', 'read'],
          status: 'active',
          created_at: at.toISOString(),
          last_used_at: null,
          expires_at: new Date(at.getTime() + 3_600_000).toISOString(),
          renewable: true,
          revoked_at: null,
          remote_revocation: null,
        },
      ],
      next_cursor: null,
    })
    for (const secret of oauth.secrets) assert.ok(!text.includes(secret))
  })

  test('the list is paginated and can be filtered by status', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, user, database } = test
    const ids = await connectAll(test, 'one', 'two', 'three')
    const get = (query: string) => call('GET', `/v4/connections${query}`, { token: user.token })
    const first = await get('?limit=2')
    assert.deepEqual(idsIn(first), ids.slice(0, 2))
    const second = await get(`?limit=2&cursor=${first.body.next_cursor}`)
    assert.deepEqual([idsIn(second), second.body.next_cursor], [ids.slice(2), null])
    await call('DELETE', `/v4/connections/${ids[0]}`, { token: user.token })
    const set = (members: object, id = '') =>
      database.queries.updateTable('connections').set(members).where('connection_id', '=', id).execute()
    await set({ status: 'needs_reauth' }, ids[1])
    assert.deepEqual(idsIn(await get('?status=revoked')), [ids[0]])
    assert.deepEqual(idsIn(await get('?status=needs_reauth')), [ids[1]])
    assert.deepEqual(idsIn(await get('?status=active')), [ids[2]])
    // A refresh that nobody ever ended: the filter and the record say the same.
    await set({ refresh_lease: 'x', refresh_lease_until: 1 }, ids[2])
    assert.deepEqual(idsIn(await get('?status=active')), [])
    const found = await get('?status=needs_reauth')
    assert.deepEqual(idsIn(found), [ids[1], ids[2]])
    assert.ok((found.body.connections as { status: string }[]).every(({ status }) => status === 'needs_reauth'))
    for (const query of ['?limit=0', '?status=gone', '?owner=x']) {
      assert.equal((await get(query)).status, 400, query)
    }
  })

  test("another user's connections are not found: list, check and delete", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, connect, logIn, adminToken, registerAgent } = test
    const id = await connect()
    const bob = await logIn({ email: 'bob@example.com' })
    assert.deepEqual(idsIn(await call('GET', '/v4/connections', { token: bob.token })), [])
    const calls: [string, string][] = [
      ['DELETE', `/v4/connections/${id}`],
      ['POST', `/v4/connections/${id}/check`],
      ['DELETE', '/v4/connections/con_00000000000000000000000000'],
      ['POST', '/v4/connections/%00/check'],
    ]
    for (const [method, path] of calls) {
      assert.equal((await call(method, path, { token: bob.token })).body.error.code, 'not_found', path)
    }
    const agent = await registerAgent()
    const ofUser = `/v4/connections?user_id=${test.user.userId}`
    assert.equal((await call('GET', ofUser, { token: bob.token })).body.error.code, 'forbidden')
    assert.deepEqual(idsIn(await call('GET', ofUser, { token: adminToken })), [id])
    assert.equal((await call('GET', '/v4/connections', { token: adminToken })).body.error.field, 'user_id')
    assert.equal((await call('GET', ofUser, { token: agent.token })).body.error.code, 'forbidden')
    for (const [method, path] of calls.slice(0, 2)) {
      assert.equal((await call(method, path)).status, 401)
      for (const token of [adminToken, agent.token]) {
        assert.equal((await call(method, path, { token })).body.error.code, 'forbidden', path)
      }
    }
    assert.equal((await test.connection(id)).status, 'active')
  })

  test('another site cannot disconnect: the cookie alone is not enough', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, connect, user } = test
    const id = await connect()
    for (const headers of [{ cookie: user.cookie }, { cookie: user.cookie, origin: 'https://evil.example' }]) {
      const reply = await call('DELETE', `/v4/connections/${id}`, { headers })
      assert.equal(reply.body.error.code, 'cross_site_request')
      const started = await call('POST', '/v4/oauth/connect/start', { headers, body: { provider_slug: slug } })
      assert.equal(started.body.error.code, 'cross_site_request')
    }
    assert.equal((await test.connection(id)).status, 'active')
  })

  test('disconnecting twice changes nothing, and the account can be connected again', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, connect, user, clock } = test
    const id = await connect()
    const remove = () => call('DELETE', `/v4/connections/${id}`, { token: user.token })
    const ends = await Promise.all([remove(), remove(), remove()])
    assert.deepEqual(
      ends.map(({ status, body }) => [status, body.status]),
      Array(3).fill([200, 'revoked']),
    )
    const first = await remove()
    clock.advance(60)
    assert.deepEqual((await remove()).body, first.body)
    assert.equal((await call('POST', `/v4/connections/${id}/check`, { token: user.token })).body.status, 'revoked')
    const events = (await recorded(test, 'connection.revoked')).map(({ event }) => event)
    assert.deepEqual(events, ['connection.revoked', 'connection.revoked_remotely'])
    const renewed = await call('POST', '/v4/oauth/connect/start', { token: user.token, body: { connection_id: id } })
    assert.equal(renewed.body.error.code, 'not_found', 'what has ended is not renewed')
    assert.notEqual(await connect(), id)
  })
})
