import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../testkit/databases.ts'
import { startService } from '../testkit/service.ts'

const own = 'http://localhost:8787'

const fromOurPage: Record<string, string>[] = [
  { origin: own },
  { 'sec-fetch-site': 'same-origin' },
  { origin: own, 'sec-fetch-site': 'same-origin' },
]

const fromElsewhere: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  { origin: 'null' },
  { origin: '' },
  { origin: 'https://localhost:8787' },
  { origin: 'http://localhost' },
  { origin: 'http://localhost:8787.evil.example' },
  { origin: `${own}/` },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { origin: `${own}, https://evil.example` },
]

onBothDatabases('a page of another site', (engine) => {
  test('may not change anything with the cookie', async (t) => {
    const service = await startService(t, engine)
    const { cookie } = await service.logIn()
    const logoutAll = (headers: Record<string, string>) =>
      service.call('POST', '/v4/auth/logout-all', { headers: { cookie, ...headers } })
    for (const headers of [...fromElsewhere, {}]) {
      const reply = await logoutAll(headers)
      assert.deepEqual([reply.status, reply.body.error.code], [403, 'cross_site_request'], JSON.stringify(headers))
    }
    const remove = await service.call('DELETE', '/v4/auth/sessions/ses_1', { headers: { cookie } })
    assert.equal(remove.body.error.code, 'cross_site_request')
    assert.equal((await service.call('GET', '/v4/auth/me', { headers: { cookie } })).status, 200, 'nothing ended')
    assert.equal((await logoutAll({ origin: own })).status, 200)
  })

  test('is distinguished from our own', async (t) => {
    const service = await startService(t, engine)
    for (const headers of fromOurPage) {
      const { cookie } = await service.logIn()
      const reply = await service.call('POST', '/v4/auth/logout', { headers: { cookie, ...headers } })
      assert.equal(reply.status, 200, JSON.stringify(headers))
    }
  })

  test('learns nothing about an invalid cookie', async (t) => {
    const service = await startService(t, engine)
    const headers = { cookie: 'svc_session=x', origin: 'https://evil.example' }
    assert.equal((await service.call('POST', '/v4/auth/logout', { headers })).status, 401)
  })

  test('may call with a bearer token, which no browser adds by itself', async (t) => {
    const service = await startService(t, engine)
    for (const headers of fromElsewhere) {
      const { token } = await service.logIn()
      const reply = await service.call('POST', '/v4/auth/logout', { token, headers })
      assert.equal(reply.status, 200, JSON.stringify(headers))
    }
  })

  test('may send reads, as the browser hides the response from it', async (t) => {
    const service = await startService(t, engine)
    const { cookie } = await service.logIn()
    for (const headers of [...fromElsewhere, {}]) {
      const reply = await service.call('GET', '/v4/auth/me', { headers: { cookie, ...headers } })
      assert.equal(reply.status, 200)
      assert.equal(reply.headers['access-control-allow-origin'], undefined)
    }
  })

  test('may neither sign a visitor in nor preview a login token', async (t) => {
    const service = await startService(t, engine)
    const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken })
    const body = { login_token: issued.body.login_token }
    for (const path of ['/v4/auth/login', '/v4/auth/login/preview']) {
      for (const headers of fromElsewhere) {
        const reply = await service.call('POST', path, { body, headers })
        assert.deepEqual([reply.status, reply.body.error.code], [403, 'cross_site_request'], JSON.stringify(headers))
        assert.equal(reply.headers['set-cookie'], undefined)
      }
    }
    assert.equal((await service.call('POST', '/v4/auth/login', { body })).status, 200, 'the token is still unused')
  })

  test('is not assumed for our own page or non-browser clients, for login and preview', async (t) => {
    const service = await startService(t, engine)
    for (const headers of [...fromOurPage, {}]) {
      const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken })
      const body = { login_token: issued.body.login_token }
      for (const path of ['/v4/auth/login/preview', '/v4/auth/login']) {
        assert.equal((await service.call('POST', path, { body, headers })).status, 200, JSON.stringify(headers))
      }
    }
  })

  test('is assumed for a login that has the cookie but no origin', async (t) => {
    const service = await startService(t, engine)
    const { cookie } = await service.logIn()
    const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body: {} })
    const body = { login_token: issued.body.login_token }
    const logIn = (headers: Record<string, string>) => service.call('POST', '/v4/auth/login', { body, headers })
    assert.equal((await logIn({ cookie })).body.error.code, 'cross_site_request')
    assert.equal((await logIn({ cookie, origin: own })).status, 200)
  })
})
