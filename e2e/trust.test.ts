/** Access control of every operation in the service's own reference. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { roomy, sharedService } from './running-service.ts'

interface Operation {
  method: string
  path: string
  /** The kinds of callers that it accepts; empty if it needs no credential. */
  admits: string[]
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`trust (${engine})`, () => {
    const shared = sharedService(engine, { ...roomy, SALLYPORT_SANDBOX_SECONDS: '4' })
    const credentials: Record<string, string> = {}
    let operations: Operation[] = []

    const error = async (...call: Parameters<ReturnType<typeof shared>['call']>) => {
      const { status, body } = await shared().call(...call)
      return [status, body?.error?.code]
    }
    const logIn = async (whom: object = {}) => {
      const issued = await shared().call('POST', '/v4/auth/login-tokens', { token: shared().adminToken, body: whom })
      const { login_token, user_id } = issued.body
      const { body } = await shared().call('POST', '/v4/auth/login', { body: { login_token } })
      return { login_token, user_id, token: body.session_token as string }
    }

    before(async () => {
      const { paths, info } = (await shared().call('GET', '/openapi.json')).body
      assert.equal(info.version, '4.0.0')
      operations = Object.entries<Record<string, any>>(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { security = [] }]) => ({
          method: method.toUpperCase(),
          path: path.replace(/\{\w+\}/g, 'agt_00000000000000000000000000'),
          admits: (security as object[]).flatMap((scheme) => Object.keys(scheme)),
        })),
      )
      credentials['agent'] = (await shared().register()).token
      credentials['user'] = (await logIn()).token
      credentials['admin'] = shared().adminToken
    })

    test('every operation that needs a credential refuses a missing or invalid one', async () => {
      const guarded = operations.filter(({ admits }) => admits.length > 0)
      assert.ok(guarded.length > 10)
      const worthless = [undefined, 'x'.repeat(40), `${credentials['agent']}0`, 'sp_agent_', 'sp_session_']
      for (const { method, path } of guarded) {
        for (const token of worthless) {
          assert.deepEqual(await error(method, path, { token }), [401, 'unauthenticated'], `${method} ${path}`)
        }
      }
    })

    test('every operation refuses valid credentials of the wrong kind', async () => {
      let refused = 0
      for (const { method, path, admits } of operations.filter(({ admits }) => admits.length > 0)) {
        for (const [actor, token] of Object.entries(credentials)) {
          if (admits.includes(actor)) continue
          assert.deepEqual(await error(method, path, { token }), [403, 'forbidden'], `${actor}: ${method} ${path}`)
          refused++
        }
      }
      assert.ok(refused > 20)
    })

    test('an agent token grants nothing by itself', async () => {
      const { token } = await shared().register()
      const body = { grant_id: 'grt_00000000000000000000000000', method: 'GET', url: 'https://api.example.com/' }
      assert.deepEqual(await error('POST', '/v4/proxy', { token, body }), [404, 'grant_not_found'])
    })

    test("another agent's grant is not found, and a sandbox grant reaches only the echo", async () => {
      const { token } = await shared().register()
      const { body: started } = await shared().call('POST', '/v4/sandbox/start', { token })
      const call = { ...started.example.body }
      const other = (await shared().register()).token
      const refusal = (change: object, as = token) =>
        error('POST', '/v4/proxy', { token: as, body: { ...call, ...change } })
      assert.deepEqual(await refusal({}, other), [404, 'grant_not_found'])
      assert.deepEqual(await refusal({ url: 'https://api.example.com/' }), [403, 'host_not_allowed'])
      assert.deepEqual(await refusal({ url: `${started.echo_url}/../agents/me` }), [403, 'path_not_allowed'])
      assert.deepEqual(await refusal({ url: 'http://api.example.com/' }), [400, 'invalid_url'])
      assert.deepEqual(await refusal({ url: 'https://127.0.0.1/' }), [400, 'invalid_url'])
      assert.deepEqual(await refusal({ method: 'TRACE' }), [400, 'invalid_field'])
    })

    test('a new sandbox replaces the old one, whose grant is revoked', async () => {
      const { token } = await shared().register()
      const first = (await shared().call('POST', '/v4/sandbox/start', { token })).body.example.body
      const second = (await shared().call('POST', '/v4/sandbox/start', { token })).body.example.body
      assert.deepEqual(await error('POST', '/v4/proxy', { token, body: first }), [403, 'grant_revoked'])
      const { status, body } = await shared().call('POST', '/v4/proxy', { token, body: second })
      assert.deepEqual([status, body.body.headers.authorization], [200, 'Bearer [REDACTED]'])
    })

    test('a sandbox grant expires', async () => {
      const { token } = await shared().register()
      const { expires_at, example } = (await shared().call('POST', '/v4/sandbox/start', { token })).body
      await sleep(Math.max(0, Date.parse(expires_at) - Date.now()) + 20)
      assert.deepEqual(await error('POST', '/v4/proxy', { token, body: example.body }), [403, 'grant_expired'])
    })

    test('a disabled agent or user is unauthenticated with the next call', async () => {
      const admin = shared().adminToken
      const { token, agentId } = await shared().register()
      const { body: started } = await shared().call('POST', '/v4/sandbox/start', { token })
      assert.equal((await shared().call('POST', `/v4/agents/${agentId}/disable`, { token: admin })).status, 200)
      assert.deepEqual(await error('POST', '/v4/proxy', { token, body: started.example.body }), [
        401,
        'unauthenticated',
      ])
      const { user_id, token: session } = await logIn({ email: 'eve@example.com' })
      assert.equal((await shared().call('POST', `/v4/users/${user_id}/disable`, { token: admin })).status, 200)
      assert.deepEqual(await error('GET', '/v4/auth/me', { token: session }), [401, 'unauthenticated'])
      const anew = { token: admin, body: { user_id } }
      assert.deepEqual(await error('POST', '/v4/auth/login-tokens', anew), [409, 'conflict'])
      const listed = await shared().call('GET', '/v4/users?status=disabled', { token: admin })
      assert.ok(listed.body.users.some((user: { user_id: string }) => user.user_id === user_id))
    })

    test('of many logins with one token exactly one starts a session', async () => {
      const { body } = await shared().call('POST', '/v4/auth/login-tokens', { token: shared().adminToken, body: {} })
      const attempt = () => shared().call('POST', '/v4/auth/login', { body: { login_token: body.login_token } })
      const preview = await shared().call('POST', '/v4/auth/login/preview', { body: { login_token: body.login_token } })
      assert.equal(preview.body.user.user_id, body.user_id)
      const replies = await Promise.all(Array.from({ length: 20 }, attempt))
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, ...Array<number>(19).fill(401)])
    })

    test('a session works as cookie and as bearer token until it is ended', async () => {
      const { token } = await logIn({ name: 'Ada' })
      const headers = { cookie: `svc_session=${token}`, origin: `http://localhost:${shared().port}` }
      assert.equal((await shared().call('GET', '/v4/auth/me', { headers })).body.user.name, 'Ada')
      const { body } = await shared().call('GET', '/v4/auth/me', { token })
      const listed = await shared().call('GET', '/v4/auth/sessions', { token })
      assert.equal(listed.body.sessions[0].session_id, body.session.session_id)
      const stranger = await logIn()
      const path = `/v4/auth/sessions/${body.session.session_id}`
      assert.deepEqual(await error('DELETE', path, { token: stranger.token }), [404, 'not_found'])
      const ended = await shared().call('POST', '/v4/auth/logout', { headers })
      assert.deepEqual([ended.status, ended.body.status], [200, 'revoked'])
      assert.match(ended.headers['set-cookie']?.[0] ?? '', /^svc_session=;/)
      assert.deepEqual(await error('GET', '/v4/auth/me', { token }), [401, 'unauthenticated'])
    })

    test('a session is ended by its user, alone or with all others', async () => {
      const first = await logIn({ email: 'grace@example.com' })
      const second = await logIn({ email: 'grace@example.com' })
      const { session } = (await shared().call('GET', '/v4/auth/me', { token: first.token })).body
      const ended = await shared().call('DELETE', `/v4/auth/sessions/${session.session_id}`, { token: second.token })
      assert.deepEqual([ended.status, ended.body.status], [200, 'revoked'])
      assert.equal((await shared().call('POST', '/v4/auth/logout-all', { token: second.token })).body.revoked, 1)
      assert.deepEqual(await error('GET', '/v4/auth/me', { token: second.token }), [401, 'unauthenticated'])
    })

    test('another site can neither use a session nor start one', async () => {
      const { token, login_token } = await logIn()
      const cookie = `svc_session=${token}`
      const foreign = [
        { cookie },
        { cookie, origin: 'https://evil.example' },
        { cookie, 'sec-fetch-site': 'same-site' },
      ]
      for (const headers of foreign) {
        assert.deepEqual(await error('POST', '/v4/auth/logout', { headers }), [403, 'cross_site_request'])
      }
      const headers = { origin: 'https://evil.example' }
      assert.deepEqual(await error('POST', '/v4/auth/login', { headers, body: { login_token } }), [
        403,
        'cross_site_request',
      ])
      assert.equal((await shared().call('GET', '/v4/auth/me', { token })).status, 200)
    })

    test('the echo responds to anyone directly, and shows no credential', async () => {
      const headers = {
        cookie: 'svc_session=x',
        authorization: 'Bearer y',
        'x-forwarded-for': '192.0.2.1',
        'x-own': '1',
      }
      const { status, body } = await shared().call('GET', '/v4/sandbox/echo?a=1&a=2', { headers })
      assert.equal(status, 200)
      assert.deepEqual(
        [body.method, body.path, body.query, body.body],
        ['GET', '/v4/sandbox/echo', { a: ['1', '2'] }, null],
      )
      assert.equal(body.headers['x-own'], '1')
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const echoed = await shared().call(method, '/v4/sandbox/echo', { body: { said: method } })
        assert.deepEqual([echoed.status, echoed.body.method, echoed.body.body], [200, method, { said: method }])
      }
      for (const name of ['cookie', 'authorization', 'x-forwarded-for']) assert.ok(!(name in body.headers), name)
    })

    test('the error for a wrong method lists the allowed ones', async () => {
      const { status, headers, body } = await shared().call('PUT', '/v4/agents/register')
      assert.deepEqual([status, body.error.code, headers.allow], [405, 'http_method_not_supported', 'POST'])
    })
  })
}
