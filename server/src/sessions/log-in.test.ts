import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { mintToken } from '../platform/tokens.ts'

async function issue(service: TestService, body: object = {}): Promise<{ login_token: string; user_id: string }> {
  return (await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body })).body
}

function logIn(service: TestService, login_token: unknown) {
  return service.call('POST', '/v4/auth/login', { body: { login_token } })
}

function preview(service: TestService, login_token: unknown) {
  return service.call('POST', '/v4/auth/login/preview', { body: { login_token } })
}

onBothDatabases('login', (engine) => {
  test('a login token starts a session, as a token and as a cookie', async (t) => {
    const service = await startService(t, engine)
    const { login_token, user_id } = await issue(service, { email: 'ada@example.com', name: 'Ada' })
    const { status, body, headers } = await logIn(service, login_token)
    assert.equal(status, 200)
    assert.match(body.session_token, /^sp_session_[0-9A-Za-z]{49}$/)
    assert.deepEqual(body, {
      user: {
        user_id,
        name: 'Ada',
        email: 'ada@example.com',
        status: 'active',
        created_at: '2026-11-15T12:00:00.000Z',
        disabled_at: null,
        require_device_approval: false,
      },
      session_token: body.session_token,
      expires_at: '2026-11-22T12:00:00.000Z',
    })
    assert.equal(
      headers['set-cookie'],
      `svc_session=${body.session_token}; Max-Age=604800; Path=/; HttpOnly; SameSite=Lax`,
    )
    const byToken = await service.call('GET', '/v4/auth/me', { token: body.session_token })
    const byCookie = await service.call('GET', '/v4/auth/me', {
      headers: { cookie: `other=1; svc_session=${body.session_token}` },
    })
    assert.deepEqual(byCookie.body, byToken.body)
    assert.equal(byToken.body.user.user_id, user_id)
  })

  test('on an https base URL the cookie is Secure, also when it is cleared', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_BASE_URL: 'https://sallyport.example' })
    const { body, headers } = await logIn(service, (await issue(service)).login_token)
    assert.equal(
      headers['set-cookie'],
      `svc_session=${body.session_token}; Max-Age=604800; Path=/; HttpOnly; Secure; SameSite=Lax`,
    )
    const ended = await service.call('POST', '/v4/auth/logout', { token: body.session_token })
    assert.match(
      String(ended.headers['set-cookie']),
      /^svc_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 .*; HttpOnly; Secure; SameSite=Lax$/,
    )
  })

  test("unknown, used, expired, malformed and disabled users' tokens get the same error", async (t) => {
    const service = await startService(t, engine)
    const used = await issue(service)
    assert.equal((await logIn(service, used.login_token)).status, 200)
    const disabled = await issue(service)
    await service.call('POST', `/v4/users/${disabled.user_id}/disable`, { token: service.adminToken })
    const expired = await issue(service, { ttl_seconds: 1 })
    service.clock.advance(1)
    const { token: session } = await service.logIn()
    const refused = [
      used.login_token,
      disabled.login_token,
      expired.login_token,
      mintToken('login').reveal(),
      mintToken('login').reveal().slice(0, -1),
      session,
      'x',
      '',
    ]
    for (const attempt of [logIn, preview]) {
      for (const token of refused) {
        const { status, body, headers } = await attempt(service, token)
        const { request_id, ...error } = body.error
        assert.equal(request_id, headers['x-request-id'])
        assert.deepEqual([status, headers['www-authenticate'], headers['set-cookie']], [401, 'Bearer', undefined])
        assert.deepEqual(error, {
          code: 'unauthenticated',
          message: 'The login token is unknown, used or expired. Request a new one.',
          retryable: false,
          field: 'login_token',
        })
      }
    }
  })

  test('of twenty concurrent logins with one token exactly one succeeds', async (t) => {
    const service = await startService(t, engine)
    const { login_token } = await issue(service)
    const all = await Promise.all(Array.from({ length: 20 }, () => logIn(service, login_token)))
    const statuses = all.map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(statuses.filter((status) => status === 401).length, 19)
    assert.equal((await recorded(service, 'session.started')).length, 1)
  })

  test('a preview shows the user of a token and leaves it usable', async (t) => {
    const service = await startService(t, engine)
    const { login_token, user_id } = await issue(service, { name: 'Ada' })
    for (let count = 0; count < 2; count++) {
      const { status, body, headers } = await preview(service, login_token)
      assert.deepEqual([status, body.user.user_id, body.user.name], [200, user_id, 'Ada'])
      assert.equal(body.expires_at, '2026-11-15T12:15:00.000Z')
      assert.equal(headers['set-cookie'], undefined)
    }
    assert.equal((await logIn(service, login_token)).status, 200)
    assert.equal((await preview(service, login_token)).status, 401)
  })

  test('an invalid login is refused, naming the member', async (t) => {
    const service = await startService(t, engine)
    const cases: [unknown, string, string][] = [
      [{}, 'missing_field', 'login_token'],
      [{ login_token: 7 }, 'invalid_field', 'login_token'],
      [{ login_token: 'x'.repeat(201) }, 'invalid_field', 'login_token'],
      [{ login_token: 'x', remember: true }, 'invalid_field', 'remember'],
    ]
    for (const [body, code, field] of cases) {
      for (const path of ['/v4/auth/login', '/v4/auth/login/preview']) {
        const { error } = (await service.call('POST', path, { body })).body
        assert.deepEqual([error.code, error.field], [code, field])
      }
    }
  })

  test('a new session is recorded without its token, of which only the hash is stored', async (t) => {
    const service = await startService(t, engine)
    const { login_token, user_id } = await issue(service)
    const { body, headers } = await logIn(service, login_token)
    const me = await service.call('GET', '/v4/auth/me', { token: body.session_token })
    const [record] = await recorded(service, 'session.started')
    assert.deepEqual(
      [record?.user_id, record?.request_id, record?.detail],
      [user_id, headers['x-request-id'], { session_id: me.body.session.session_id }],
    )
    const { queries } = service.database
    const stored = [
      await queries.selectFrom('sessions').selectAll().execute(),
      await queries.selectFrom('login_tokens').selectAll().execute(),
      await recorded(service),
      service.log,
    ]
    const text = JSON.stringify(stored)
    assert.ok(!text.includes(body.session_token) && !text.includes(login_token))
  })
})
