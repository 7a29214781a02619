import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

function issue(service: TestService, body?: object) {
  return service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body })
}

async function userOf(service: TestService, login_token: string) {
  return (await service.call('POST', '/v4/auth/login/preview', { body: { login_token } })).body.user
}

onBothDatabases('login tokens', (engine) => {
  test('an admin gets a token, a link with it in the fragment, its expiry and its user', async (t) => {
    const service = await startService(t, engine)
    const { status, body } = await issue(service)
    assert.equal(status, 201)
    assert.match(body.login_token, /^sp_login_[0-9A-Za-z]{49}$/)
    assert.deepEqual(body, {
      login_token: body.login_token,
      login_url: `http://localhost:8787/#login_token=${body.login_token}`,
      expires_at: '2026-11-15T12:15:00.000Z',
      user_id: body.user_id,
    })
    assert.match(body.user_id, /^usr_[0-9a-z]{26}$/)
  })

  test('without user and e-mail each token creates a new user', async (t) => {
    const service = await startService(t, engine)
    const [first, second] = [await issue(service, {}), await issue(service, { name: 'Ada' })]
    assert.notEqual(first.body.user_id, second.body.user_id)
    assert.equal((await userOf(service, first.body.login_token)).name, null)
    assert.equal((await userOf(service, second.body.login_token)).name, 'Ada')
  })

  test('an unknown e-mail creates a user, who is then found case-insensitively', async (t) => {
    const service = await startService(t, engine)
    const first = await issue(service, { email: 'Ada@Example.com', name: 'Ada' })
    const again = await issue(service, { email: 'aDA@eXAMPLE.COM', name: 'Not Ada' })
    assert.equal(again.body.user_id, first.body.user_id)
    const { email, name } = await userOf(service, again.body.login_token)
    assert.deepEqual([email, name], ['ada@example.com', 'Ada'])
    const other = await issue(service, { email: 'ada@example.org' })
    assert.notEqual(other.body.user_id, first.body.user_id)
  })

  test('concurrent tokens for one new e-mail are for one user', async (t) => {
    const service = await startService(t, engine)
    const all = await Promise.all(Array.from({ length: 10 }, () => issue(service, { email: 'ada@example.com' })))
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([201]))
    assert.equal(new Set(all.map(({ body }) => body.user_id)).size, 1)
  })

  test('an unknown user_id is not_found, naming the member', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn({ name: 'Ada' })
    const known = await issue(service, { user_id: userId })
    assert.deepEqual([known.status, known.body.user_id], [201, userId])
    for (const user_id of ['usr_00000000000000000000000000', '', 'ada', userId.toUpperCase()]) {
      const { status, body } = await issue(service, { user_id })
      assert.deepEqual([status, body.error.code, body.error.field], [404, 'not_found', 'user_id'], user_id)
    }
  })

  test('a disabled user gets no token: conflict', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn({ email: 'ada@example.com' })
    await service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
    for (const body of [{ user_id: userId }, { email: 'ADA@example.com' }]) {
      const reply = await issue(service, body)
      assert.deepEqual([reply.status, reply.body.error.code], [409, 'conflict'])
    }
  })

  test('ttl_seconds sets the expiry of the token', async (t) => {
    const service = await startService(t, engine)
    const { body } = await issue(service, { ttl_seconds: 60 })
    assert.equal(body.expires_at, '2026-11-15T12:01:00.000Z')
    service.clock.advance(59.999)
    assert.ok(await userOf(service, body.login_token))
    service.clock.advance(0.001)
    assert.equal(await userOf(service, body.login_token), undefined)
    assert.equal((await issue(service, { ttl_seconds: 86_400 })).status, 201)
  })

  test('an invalid body is refused, naming the member', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn()
    const cases: [object, string][] = [
      [{ user_id: userId, email: 'ada@example.com' }, 'email'],
      [{ user_id: userId, name: 'Ada' }, 'name'],
      [{ email: 'ada' }, 'email'],
      [{ email: 'ada@' }, 'email'],
      [{ email: `${'a'.repeat(250)}@example.com` }, 'email'],
      [{ name: '' }, 'name'],
      [{ name: 'a\u202eb' }, 'name'],
      [{ ttl_seconds: 0 }, 'ttl_seconds'],
      [{ ttl_seconds: 86_401 }, 'ttl_seconds'],
      [{ ttl_secs: 60 }, 'ttl_secs'],
    ]
    for (const [body, field] of cases) {
      const reply = await issue(service, body)
      const { code, field: named } = reply.body.error
      assert.deepEqual([reply.status, code, named], [400, 'invalid_field', field], JSON.stringify(body))
    }
  })

  test('issuing is recorded without the token, of which only the hash is stored', async (t) => {
    const service = await startService(t, engine)
    const { body, headers } = await issue(service)
    const [record] = await recorded(service, 'login_token.')
    assert.deepEqual(record, {
      audit_id: record?.audit_id,
      event: 'login_token.issued',
      at: service.clock.now().getTime(),
      request_id: headers['x-request-id'],
      agent_id: null,
      user_id: body.user_id,
      grant_id: null,
      detail: {},
    })
    const rows = await service.database.queries.selectFrom('login_tokens').selectAll().execute()
    assert.equal(rows.length, 1)
    assert.equal(rows[0]?.token_hash.length, 32)
    assert.ok(!JSON.stringify([rows, service.log]).includes(body.login_token))
  })

  test("the owner's link always signs in the same local owner", async (t) => {
    const service = await startService(t, engine)
    const users = new Set<string>()
    for (const link of [await service.app.ownerLoginUrl(), await service.app.ownerLoginUrl()]) {
      const login_token = new URL(link.reveal()).hash.replace('#login_token=', '')
      const { status, body } = await service.call('POST', '/v4/auth/login', { body: { login_token } })
      assert.deepEqual([status, body.user.name], [200, 'owner'])
      users.add(body.user.user_id)
    }
    assert.equal(users.size, 1)
  })
})
