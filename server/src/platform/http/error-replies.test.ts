import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { newDeviceKey } from '../../../testkit/device.ts'
import { startPostgres } from '../../../testkit/postgres-server.ts'
import { startService } from '../../../testkit/service.ts'
import type { Reply } from '../../../testkit/service.ts'
import { ServiceError } from '../errors.ts'
import { databaseFile } from '../operations/instance.ts'

function assertIsError(reply: Reply, status: number, code: string): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(reply.headers['x-sallyport-error'], '1')
  assert.match(String(reply.headers['x-request-id']), /^req_[0-9a-z]{26}$/)
  const { error, ...others } = reply.body
  assert.deepEqual(others, {})
  const { field = '', ...required } = error
  assert.deepEqual(Object.keys(required).sort(), ['code', 'message', 'request_id', 'retryable'])
  assert.equal(error.code, code)
  assert.equal(error.request_id, reply.headers['x-request-id'])
  assert.equal(typeof field, 'string')
  assert.match(error.message, /^[A-Z"].*[.!]$/)
  assert.equal(error.retryable, [408, 429, 503].includes(status))
  assert.doesNotMatch(reply.text, /node_modules|\.ts:|\bat /)
}

onBothDatabases('errors', (engine) => {
  test('a string error is explained in words, not as a regular expression', async (t) => {
    const service = await startService(t, engine)
    for (const name of ['a\u0000b', ' ', 'a\u202eb']) {
      const { body } = await service.call('POST', '/v4/agents/register', { body: { name } })
      assert.match(body.error.message, /^"name" is blank, or contains a control character/)
    }
  })

  test('other validation errors are sentences, with an example for unusual formats', async (t) => {
    const { call, adminToken } = await startService(t, engine)
    const { publicKey } = newDeviceKey()
    const said = async (...what: Parameters<typeof call>) => {
      const { status, body } = await call(...what)
      assert.equal(status, 400)
      return body.error.message as string
    }
    const agent = (body: unknown) => said('POST', '/v4/agents/register', { body })
    assert.equal(await agent({ name: 1 }), '"name" must be a string.')
    assert.equal(await agent({ name: '' }), '"name" must not be empty.')
    assert.equal(await agent({ name: 'a', metadata: [] }), '"metadata" must be an object.')
    assert.equal(await agent([]), '"body" must be an object.')
    const list = (query: string) => said('GET', `/v4/agents?${query}`, { token: adminToken })
    assert.equal(await list('limit=x'), '"limit" must be a whole number.')
    assert.equal(await list('limit=0'), '"limit" must be at least 1.')
    assert.equal(await list('limit=201'), '"limit" must be at most 200.')
    const pair = (jwk: object) =>
      said('POST', '/v4/devices/pair', { body: { pairing_code: 'ABCD-EFGH', public_key_jwk: jwk } })
    const form = /^"public_key_jwk\.x" does not have the expected format, such as [\w-]{43}\.$/
    assert.match(await pair({ ...publicKey, x: 'AAAA' }), form)
  })

  test('a cursor that no list returned is refused', async (t) => {
    const { call, adminToken } = await startService(t, engine)
    for (const cursor of ['', 'zzz', 'agt_1', 'AGT_01k9x3v7qmf5v8t2w4y6z8abcd']) {
      const { status, body } = await call('GET', `/v4/agents?cursor=${cursor}`, { token: adminToken })
      assert.deepEqual([status, body.error?.code, body.error?.field], [400, 'invalid_field', 'cursor'], cursor)
      assert.match(body.error.message, /such as agt_[0-9a-z]{26}\.$/)
    }
    const { body } = await call('GET', '/v4/audit?cursor=1', { token: adminToken })
    assert.match(body.error.message, /such as aud_/)
  })

  test('a credential of the wrong kind is told which kinds the endpoint accepts', async (t) => {
    const { call, adminToken, registerAgent } = await startService(t, engine)
    const { token } = await registerAgent()
    const devices = await call('GET', '/v4/access-requests/pending', { token })
    const expected = "This call requires a user's session or a device's session, not an agent token."
    assert.deepEqual([devices.status, devices.body.error.message], [403, expected])
    const ask = await call('POST', '/v4/access-requests', { token: adminToken, body: {} })
    assert.equal(ask.body.error.message, 'This call requires an agent token, not the admin token.')
  })

  test('the error for an enum member lists its values', async (t) => {
    const { call, adminToken } = await startService(t, engine)
    const list = await call('GET', '/v4/agents?status=gone', { token: adminToken })
    assert.equal(list.body.error.message, '"status" must be one of active, disabled.')
    const body = { preset: 'github', injection: { in: 'query', name: 'key', prefix: '' } }
    const provider = await call('POST', '/v4/providers', { token: adminToken, body })
    assert.equal(provider.body.error.message, '"injection.in" must be header.')
  })

  test('every error has the same shape and a request id', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_REGISTRATIONS_PER_MINUTE: '1' })
    const { token } = await service.registerAgent()
    const json = (body: unknown) => ({ body })
    const cases: [string, string, Parameters<typeof service.call>[2], number, string][] = [
      ['GET', '/nothing', {}, 404, 'not_found'],
      ['GET', '/%zz', {}, 404, 'not_found'],
      ['DELETE', '/v4/agents', {}, 405, 'http_method_not_supported'],
      ['GET', '/v4/agents', {}, 401, 'unauthenticated'],
      ['GET', '/v4/agents', { token }, 403, 'forbidden'],
      ['POST', '/v4/auth/login', { headers: { origin: 'https://evil.example' } }, 403, 'cross_site_request'],
      ['POST', '/v4/auth/login', {}, 400, 'missing_field'],
      ['POST', '/v4/auth/login', json({ login_token: 1 }), 400, 'invalid_field'],
      ['POST', '/v4/auth/login', json('{'), 400, 'invalid_json'],
      ['POST', '/v4/auth/login', json(`"${'x'.repeat(262_144)}"`), 413, 'body_too_large'],
      [
        'POST',
        '/v4/auth/login',
        { body: 'a', headers: { 'content-type': 'text/plain' } },
        415,
        'unsupported_media_type',
      ],
      ['POST', '/v4/auth/login', { body: 'a', headers: { 'content-type': ';' } }, 415, 'unsupported_media_type'],
      ['GET', '/v4/agents', { headers: { host: 'evil.example' } }, 421, 'wrong_host'],
      ['POST', '/v4/agents/register', json({ name: 'a' }), 429, 'rate_limited'],
    ]
    for (const [method, path, call, status, code] of cases) {
      assertIsError(await service.call(method, path, call), status, code)
    }
  })

  test("a caller's X-Request-Id is not used", async (t) => {
    const service = await startService(t, engine)
    const { headers } = await service.call('GET', '/healthz', { headers: { 'x-request-id': 'chosen-by-me' } })
    assert.match(String(headers['x-request-id']), /^req_/)
  })

  test('an error may have extra members, which never replace the standard ones', async (t) => {
    const service = await startService(t, engine)
    const extra = { access_request: { provider: 'a' }, code: 'evil', request_id: 'evil', message: 'evil' }
    service.app.http.get('/v4/refused', { config: { allow: 'anyone' } }, async () => {
      throw new ServiceError('host_not_allowed', { field: 'url', extra })
    })
    const reply = await service.call('GET', '/v4/refused')
    const { access_request, ...error } = reply.body.error
    assert.deepEqual(access_request, { provider: 'a' })
    assertIsError({ ...reply, body: { error } }, 403, 'host_not_allowed')
    assert.doesNotMatch(reply.text, /evil/)
  })

  test('an unexpected error is just internal to the caller; the log has the stack', async (t) => {
    const service = await startService(t, engine)
    const failures: [string, unknown][] = [
      ['/v4/an-error', new Error('the innermost secret')],
      ['/v4/a-text', 'the innermost secret'],
      ['/v4/nothing-at-all', undefined],
      ['/v4/a-status', Object.assign(new Error('the innermost secret'), { statusCode: 418 })],
    ]
    for (const [path, failure] of failures) {
      service.app.http.get(path, { config: { allow: 'anyone' } }, async () => {
        throw failure
      })
    }
    for (const [path] of failures) {
      const reply = await service.call('GET', path)
      assertIsError(reply, 500, 'internal')
      assert.doesNotMatch(reply.text, /innermost/)
      const line = service.log.map((text) => JSON.parse(text)).find((one) => one.route === path)
      assert.deepEqual([line.level, line.request_id, line.code], ['error', reply.body.error.request_id, 'internal'])
      if (path === '/v4/an-error') assert.match(line.err.stack, /innermost secret\n\s+at .*error-replies\.test/)
    }
  })

  test('calls behind too many others for a database connection are busy, not not_ready, and the others are served', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_DATABASE_CONNECTIONS: '1' })
    const { token } = await service.registerAgent()
    const call = () => service.call('POST', '/v4/access-requests/unknown/cancel', { token })
    assert.equal((await call()).status, 404)
    const held = Promise.withResolvers<undefined>()
    const holding = service.database.transaction(async (tx) => {
      await tx.selectFrom('agents').select('agent_id').execute()
      await held.promise
    })
    const early: Reply[] = []
    const replies = Array.from({ length: 1_100 }, async () => {
      const reply = await call()
      early.push(reply)
      return reply
    })
    for (let look = 0; look < 5_000 && early.length < 100; look++) await sleep(10)
    assert.ok(early.length >= 100, 'they are refused while the connection is taken')
    for (const reply of early) {
      assertIsError(reply, 503, 'busy')
      assert.equal(reply.headers['retry-after'], '2')
    }
    assert.equal((await service.call('GET', '/healthz')).status, 200)
    held.resolve(undefined)
    await holding
    // On a slow machine some of those that wait are refused as well, for having waited too long.
    const all = await Promise.all(replies)
    for (const reply of all) assert.ok(reply.status === 404 || reply.body.error.code === 'busy', reply.text)
    const served = all.filter(({ status }) => status === 404).length
    assert.ok(served > 0 && served <= 1_000, `${served} were served`)
    assert.equal((await call()).status, 404)
  })

  test('a closed database is not_ready', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    await service.database.close()
    for (const reply of [
      await service.call('GET', '/readyz'),
      await service.call('GET', '/v4/agents/me', { token }),
      await service.call('POST', '/v4/agents/register', { body: { name: 'a' } }),
    ]) {
      assertIsError(reply, 503, 'not_ready')
      assert.equal(reply.headers['retry-after'], '1')
    }
    assert.equal((await service.call('GET', '/healthz')).status, 200, 'the process itself is well')
  })
})

test('a lost database file is not_ready until it is back', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token } = await service.registerAgent()
  const file = databaseFile(service.config)
  renameSync(file, `${file}.away`)
  assertIsError(await service.call('GET', '/readyz'), 503, 'not_ready')
  assertIsError(await service.call('GET', '/v4/agents/me', { token }), 503, 'not_ready')
  renameSync(`${file}.away`, file)
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)
})

test('a lost database server is not_ready until it is back', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const service = await startService(t, 'postgres', { DATABASE_URL: server.url })
  const { token } = await service.registerAgent()
  await server.halt()
  assertIsError(await service.call('GET', '/readyz'), 503, 'not_ready')
  assertIsError(await service.call('GET', '/v4/agents/me', { token }), 503, 'not_ready')
  await server.resume()
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)
})
