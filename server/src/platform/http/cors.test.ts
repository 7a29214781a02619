import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../../testkit/service.ts'

const listed = 'https://app.example.com'
const preflight = (origin: string) => ({
  headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
})

test('no origin is allowed unless it is listed', async (t) => {
  const service = await startService(t, 'sqlite')
  const { status, headers } = await service.call('OPTIONS', '/v4/agents/register', preflight(listed))
  assert.equal(status, 405)
  assert.equal(headers['access-control-allow-origin'], undefined)
})

test('a listed origin may call with a bearer token, never with cookies', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_CORS_ORIGINS: `${listed}, https://other.example.com` })
  const asked = await service.call('OPTIONS', '/v4/agents/me', preflight(listed))
  assert.equal(asked.status, 204)
  assert.equal(asked.headers['access-control-allow-origin'], listed)
  assert.match(String(asked.headers['access-control-allow-headers']), /authorization/)
  assert.equal(asked.headers['access-control-allow-credentials'], undefined)
  const { token } = await service.registerAgent()
  const called = await service.call('GET', '/v4/agents/me', { token, headers: { origin: listed } })
  assert.deepEqual([called.status, called.headers['access-control-allow-origin']], [200, listed])
  assert.equal(called.headers['vary'], 'Origin')
  const { cookie } = await service.logIn()
  const withCookie = await service.call('POST', '/v4/auth/logout', { headers: { cookie, origin: listed } })
  assert.equal(withCookie.body.error.code, 'cross_site_request')
})

test('an unlisted origin gets no CORS header, however similar it is', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_CORS_ORIGINS: listed })
  for (const origin of [
    'https://app.example.com.evil.example',
    'http://app.example.com',
    'null',
    'https://APP.example.com',
  ]) {
    const { headers } = await service.call('OPTIONS', '/v4/agents/me', preflight(origin))
    assert.equal(headers['access-control-allow-origin'], undefined, origin)
  }
})
