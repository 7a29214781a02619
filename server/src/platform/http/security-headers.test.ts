import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import type { Reply, TestService } from '../../../testkit/service.ts'

/** One response of each kind: page, reference, API, error. */
async function answersOf(service: TestService): Promise<[string, Reply][]> {
  const calls: [string, string, string?][] = [
    ['GET', '/'],
    ['GET', '/docs'],
    ['GET', '/openapi.json'],
    ['GET', '/healthz'],
    ['GET', '/v4/users', service.adminToken],
    ['GET', '/v4/users'],
    ['GET', '/nothing'],
    ['GET', '/%zz'],
    ['POST', `/v4/agents/${'a'.repeat(8000)}/disable`],
    ['DELETE', '/v4/users'],
    ['POST', '/v4/auth/login'],
    ['GET', '/metrics', service.adminToken],
  ]
  const answers: [string, Reply][] = []
  for (const [method, path, token] of calls) {
    answers.push([`${method} ${path.slice(0, 30)}`, await service.call(method, path, { token })])
  }
  return answers
}

onBothDatabases('every response', (engine) => {
  test('allows pages to load only our own files', async (t) => {
    const service = await startService(t, engine)
    for (const [name, { headers }] of await answersOf(service)) {
      const policy = String(headers['content-security-policy'])
        .split(';')
        .map((part) => part.trim())
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ]) {
        assert.ok(policy.includes(directive), `${name}: ${directive}`)
      }
      // The reference sets its colors in elements of its own.
      const inline = name === 'GET /docs' ? "style-src 'self' 'unsafe-inline'" : undefined
      assert.ok(!policy.some((part) => part !== inline && /unsafe-|\*|https?:/.test(part)), name)
      assert.deepEqual(
        [headers['x-content-type-options'], headers['x-frame-options'], headers['referrer-policy']],
        ['nosniff', 'DENY', 'no-referrer'],
        name,
      )
      assert.equal(headers['x-powered-by'], undefined)
      assert.equal(headers['server'], undefined)
    }
  })

  test('has a request id, and is cacheable only if it is the same for everyone', async (t) => {
    const service = await startService(t, engine)
    for (const [name, { headers }] of await answersOf(service)) {
      assert.match(String(headers['x-request-id']), /^req_[0-9a-z]{26}$/, name)
      if (!['GET /docs', 'GET /openapi.json'].includes(name)) assert.equal(headers['cache-control'], 'no-store', name)
    }
  })

  test('has HSTS only if the base URL is https', async (t) => {
    const plain = await startService(t, engine)
    for (const [name, { headers }] of await answersOf(plain)) {
      assert.equal(headers['strict-transport-security'], undefined, name)
    }
    const secure = await startService(t, engine, { SALLYPORT_BASE_URL: 'https://sallyport.example' })
    for (const [name, { headers }] of await answersOf(secure)) {
      assert.match(String(headers['strict-transport-security']), /^max-age=31536000/, name)
    }
  })
})
