import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { isForThisMachine } from './operator.ts'

const header = { 'x-sallyport-operator': '1' }

onBothDatabases('the session of a local start', (engine) => {
  const start = async (t: Parameters<typeof startService>[0], settings: Record<string, string> = {}) => {
    const service = await startService(t, engine, settings)
    const origin = service.config.baseUrl.origin
    const cookieOf = async (link: { reveal: () => string }) => {
      const login_token = link.reveal().split('login_token=')[1]
      const { body, status } = await service.call('POST', '/v4/auth/login', { body: { login_token } })
      assert.equal(status, 200)
      return `svc_session=${body.session_token}`
    }
    const call = (method: string, path: string, headers: Record<string, string>, body?: object) =>
      service.call(method, path, { headers: { origin, ...headers }, ...(body && { body }) })
    return { ...service, call, cookieOf, origin }
  }

  test('acts as the operator where the page asks for it, and as a user otherwise', async (t) => {
    const { app, call, cookieOf } = await start(t)
    const cookie = await cookieOf(await app.ownerLoginUrl({ isOperator: true }))
    assert.equal((await call('GET', '/v4/auth/me', { cookie })).body.operator, true)
    assert.equal((await call('GET', '/v4/users', { cookie })).status, 403)
    assert.equal((await call('GET', '/v4/users', { cookie, ...header })).status, 200)
    const made = await call('POST', '/v4/auth/login-tokens', { cookie, ...header }, { name: 'Ada' })
    assert.equal(made.status, 201)
    // What the operator issues is for users.
    const hers = `svc_session=${(await call('POST', '/v4/auth/login', {}, { login_token: made.body.login_token })).body.session_token}`
    assert.equal((await call('GET', '/v4/auth/me', { cookie: hers })).body.operator, false)
    assert.equal((await call('GET', '/v4/users', { cookie: hers, ...header })).status, 403)
    // As a user: these are the user's own.
    assert.equal((await call('GET', '/v4/auth/sessions', { cookie })).status, 200)
  })

  test('is refused from another site, after it ended, and as a bearer token', async (t) => {
    const { app, call, cookieOf, origin } = await start(t)
    const cookie = await cookieOf(await app.ownerLoginUrl({ isOperator: true }))
    const elsewhere = { cookie, ...header, origin: 'http://evil.example' }
    assert.equal((await call('GET', '/v4/users', elsewhere)).body.error.code, 'cross_site_request')
    assert.equal((await call('POST', '/v4/auth/login-tokens', elsewhere, {})).body.error.code, 'cross_site_request')
    // A name that was made to resolve to this machine.
    const rebound = { cookie, ...header, host: 'evil.example', 'sec-fetch-site': 'same-origin' }
    assert.equal((await call('GET', '/v4/users', rebound)).status, 421)
    const authorization = `Bearer ${cookie.split('=')[1]}`
    assert.equal((await call('GET', '/v4/users', { authorization, ...header })).status, 403)
    assert.equal((await call('POST', '/v4/auth/logout', { cookie, origin }, {})).status, 200)
    assert.equal((await call('GET', '/v4/users', { cookie, ...header })).status, 401)
  })

  test('any other link signs the owner in as a user', async (t) => {
    const { app, call, cookieOf } = await start(t)
    const cookie = await cookieOf(await app.ownerLoginUrl())
    assert.equal((await call('GET', '/v4/auth/me', { cookie })).body.operator, false)
    assert.equal((await call('GET', '/v4/users', { cookie, ...header })).status, 403)
  })

  test('is a user’s session once the service is shared', async (t) => {
    const { app, call, cookieOf } = await start(t, { SALLYPORT_BASE_URL: 'https://sallyport.example' })
    const cookie = await cookieOf(await app.ownerLoginUrl({ isOperator: true }))
    assert.equal((await call('GET', '/v4/auth/me', { cookie })).body.operator, false)
    assert.equal((await call('GET', '/v4/users', { cookie, ...header })).status, 403)
  })
})

test('a service is for its machine alone if nothing leads there from elsewhere', () => {
  const local = { host: '127.0.0.1', baseUrl: new URL('http://localhost:8787'), trustProxy: undefined }
  assert.equal(isForThisMachine(local), true)
  for (const change of [
    { host: '0.0.0.0' },
    { baseUrl: new URL('https://sallyport.example') },
    { baseUrl: new URL('http://192.168.1.2:8787') },
    { baseUrl: new URL('http://localhost.evil.example') },
    { trustProxy: ['127.0.0.1'] },
  ]) {
    assert.equal(isForThisMachine({ ...local, ...change }), false)
  }
})
