import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'
import type { Reply, TestService } from '../../testkit/service.ts'

function assertRefused({ status, body }: Reply, expected: [number, string, string?], what?: string): void {
  const { code, field } = body.error
  assert.deepEqual([status, code, field], [expected[0], expected[1], expected[2]], what)
}

async function alterGrant({ database }: TestService, grantId: string, values: object): Promise<void> {
  await database.queries.updateTable('grants').set(values).where('grant_id', '=', grantId).execute()
}

onBothDatabases('the proxy', (engine) => {
  test('register, start a sandbox, call: the injected token is [REDACTED]', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const { status, body } = await proxy({
      method: 'POST',
      url: 'http://localhost:8787/v4/sandbox/echo?q=1',
      headers: { 'X-Trace': 'abc' },
      body: { text: 'hé' },
    })
    assert.equal(status, 200)
    assert.match(body.audit_id, /^aud_[0-9a-z]{26}$/)
    assert.deepEqual(body, {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: {
        method: 'POST',
        path: '/v4/sandbox/echo',
        query: { q: '1' },
        headers: {
          host: 'localhost:8787',
          'x-trace': 'abc',
          'content-type': 'application/json',
          authorization: 'Bearer [REDACTED]',
        },
        body: { text: 'hé' },
      },
      body_encoding: 'json',
      redactions: 1,
      dropped_headers: [],
      audit_id: body.audit_id,
    })
  })

  test("an agent without a grant can call nothing, and cannot use another's grant", async (t) => {
    const service = await startService(t, engine)
    const other = await agentInSandbox(service)
    const { token } = await service.registerAgent()
    for (const grant_id of [other.grantId, 'grt_00000000000000000000000000', '', '*', other.grantId.toUpperCase()]) {
      const body = { grant_id, method: 'GET', url: other.echoUrl }
      assertRefused(await service.call('POST', '/v4/proxy', { token, body }), [404, 'grant_not_found', 'grant_id'])
    }
  })

  test('a revoked grant is refused', async (t) => {
    const service = await startService(t, engine)
    const { proxy, grantId } = await agentInSandbox(service)
    await alterGrant(service, grantId, { revoked_at: service.clock.now().getTime() })
    assertRefused(await proxy(), [403, 'grant_revoked'])
  })

  test('an expired grant is refused from the moment it ends', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    service.clock.advance(3599.999)
    assert.equal((await proxy()).status, 200)
    service.clock.advance(0.001)
    assertRefused(await proxy(), [403, 'grant_expired'])
  })

  test('a disabled agent is refused with its next call', async (t) => {
    const service = await startService(t, engine)
    const { proxy, agentId } = await agentInSandbox(service)
    for (let call = 0; call < 2; call++) assert.equal((await proxy()).status, 200)
    await service.call('POST', `/v4/agents/${agentId}/disable`, { token: service.adminToken })
    for (let call = 0; call < 2; call++) assertRefused(await proxy(), [401, 'unauthenticated'])
  })

  test('a replaced token is refused with the next call', async (t) => {
    const service = await startService(t, engine)
    const { proxy, token } = await agentInSandbox(service)
    for (let call = 0; call < 2; call++) assert.equal((await proxy()).status, 200)
    await service.call('POST', '/v4/agents/rotate-token', { token })
    for (let call = 0; call < 2; call++) assertRefused(await proxy(), [401, 'unauthenticated'])
  })

  test('a call whose body arrives slowly is checked against the state at its end', async (t) => {
    const service = await startService(t, engine)
    const { proxy, token, grantId, echoUrl } = await agentInSandbox(service)
    assert.equal((await proxy({ method: 'POST' })).status, 200)
    const { http } = service.app
    await http.listen({ host: '127.0.0.1', port: 0 })
    const { port } = http.server.address() as AddressInfo
    const body = JSON.stringify({ grant_id: grantId, method: 'POST', url: echoUrl })
    const request = httpRequest({ host: '127.0.0.1', port, path: '/v4/proxy', method: 'POST', agent: false })
    request.setHeaders(
      new Headers({
        host: service.config.baseUrl.host,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
      }),
    )
    request.write(body.slice(0, 20))
    // Who calls is known by then, and nobody asks anything else meanwhile.
    await sleep(200)
    await alterGrant(service, grantId, { allowed_methods: '["GET"]' })
    request.end(body.slice(20))
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    assert.deepEqual(
      [answer.statusCode, ((await json(answer)) as Reply['body']).error.code],
      [403, 'method_not_allowed'],
    )
  })

  test('hosts, methods and paths outside the grant are refused', async (t) => {
    const service = await startService(t, engine)
    const { proxy, grantId } = await agentInSandbox(service)
    for (const url of ['https://api.example.com/v4/sandbox/echo', 'https://localhost/v4/sandbox/echo']) {
      assertRefused(await proxy({ url }), [403, 'host_not_allowed', 'url'], url)
    }
    for (const path of ['/', '/v4/agents/me', '/v4/sandbox/echo/', '/v4/sandbox/echo/..', '/v4/sandbox/%65cho']) {
      assertRefused(await proxy({ url: `http://localhost:8787${path}` }), [403, 'path_not_allowed', 'url'], path)
    }
    assert.equal((await proxy({ url: 'http://localhost:8787/v4/x/../sandbox/echo' })).status, 200)
    await alterGrant(service, grantId, { allowed_methods: '["GET","HEAD"]' })
    assertRefused(await proxy({ method: 'POST' }), [403, 'method_not_allowed', 'method'])
    assert.equal((await proxy({ method: 'get' })).status, 200)
  })

  test('an unusable URL is invalid_url', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    for (const url of [
      'nonsense',
      'http://localhost:8788/v4/sandbox/echo',
      'ftp://localhost:8787/',
      'http://me@localhost:8787/v4/sandbox/echo',
      'http://localhost:8787/v4/sandbox/echo#part',
      'https://localhost:8788/v4/sandbox/echo',
      'https://localhost.:8787/v4/sandbox/echo',
      'https://127.0.0.1/',
      'https://[::1]/',
      'http://ⓛocalhost:8787/v4/sandbox/echo',
    ]) {
      assertRefused(await proxy({ url }), [400, 'invalid_url', 'url'], url)
    }
  })

  test('an invalid call is refused, naming the member', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const cases: [object, string, string][] = [
      [{ grant_id: undefined }, 'missing_field', 'grant_id'],
      [{ method: undefined }, 'missing_field', 'method'],
      [{ url: undefined }, 'missing_field', 'url'],
      [{ method: 'CONNECT' }, 'invalid_field', 'method'],
      [{ method: 'trace' }, 'invalid_field', 'method'],
      [{ method: 'GET /' }, 'invalid_field', 'method'],
      [{ url: `http://localhost:8787/${'x'.repeat(8192)}` }, 'invalid_field', 'url'],
      [{ headers: { 'x-a': 1 } }, 'invalid_field', 'headers.x-a'],
      [{ headers: { 'x-a': 'b\r\nx-b: c' } }, 'invalid_field', 'headers.x-a'],
      [{ headers: { 'x\r\nb': 'c' } }, 'invalid_field', 'headers.x\r\nb'],
      [{ headers: { '': 'c' } }, 'invalid_field', 'headers.'],
      [
        { headers: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, ''])) },
        'invalid_field',
        'headers',
      ],
      [{ headers: [] }, 'invalid_field', 'headers'],
      [{ dry_run: 'yes' }, 'invalid_field', 'dry_run'],
      [{ timeout_ms: 0 }, 'invalid_field', 'timeout_ms'],
      [{ timeout_ms: 300_001 }, 'invalid_field', 'timeout_ms'],
      [{ streamed: true }, 'invalid_field', 'streamed'],
    ]
    for (const [members, code, field] of cases) {
      assertRefused(await proxy(members), [400, code, field], JSON.stringify(members).slice(0, 100))
    }
  })

  test('the caller’s credentials, framing and origin are dropped and named', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const { body } = await proxy({
      headers: {
        Authorization: 'Bearer mine',
        Cookie: 'a=b',
        Host: 'evil.example',
        'X-Forwarded-For': '127.0.0.1',
        'Proxy-Authorization': 'x',
        'Accept-Encoding': 'br',
        Range: 'bytes=0-1',
        'Content-Length': '7',
        Accept: 'text/html',
      },
    })
    assert.deepEqual(body.dropped_headers, [
      'authorization',
      'cookie',
      'host',
      'x-forwarded-for',
      'proxy-authorization',
      'accept-encoding',
      'range',
      'content-length',
    ])
    assert.deepEqual(body.body.headers, {
      host: 'localhost:8787',
      accept: 'text/html',
      authorization: 'Bearer [REDACTED]',
    })
  })

  test('any JSON can be a body, and is returned unchanged', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const bodies = [
      { a: { b: [] } },
      [1, [2]],
      'text',
      'ünï 漢 🙂',
      '{"json": "as text"}',
      7,
      -1.5e-7,
      true,
      false,
      null,
      {},
    ]
    for (const body of bodies) {
      const answer = await proxy({ method: 'POST', body })
      const expected = body === '{"json": "as text"}' ? { json: 'as text' } : body
      assert.deepEqual(answer.body.body.body, expected, JSON.stringify(body))
      const isText = body === 'text' || body === 'ünï 漢 🙂'
      const type = isText ? 'text/plain;charset=UTF-8' : 'application/json'
      assert.equal(answer.body.body.headers['content-type'], type)
    }
    for (const body of [undefined, '']) assert.equal((await proxy({ method: 'POST', body })).body.body.body, null)
  })

  test('a member named __proto__ is never part of a body', async (t) => {
    const service = await startService(t, engine)
    const { token, grantId, echoUrl } = await agentInSandbox(service)
    const body = `{"grant_id":"${grantId}","method":"POST","url":"${echoUrl}","body":{"__proto__":{"a":1}}}`
    assertRefused(await service.call('POST', '/v4/proxy', { token, body }), [400, 'invalid_json'])
  })

  test('a body for the sandbox is limited to 64 KiB', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    assert.equal((await proxy({ method: 'POST', body: 'x'.repeat(65_536) })).status, 200)
    for (const body of ['x'.repeat(65_537), 'é'.repeat(32_769), ['x'.repeat(65_533)]]) {
      assertRefused(await proxy({ method: 'POST', body }), [413, 'body_too_large', 'body'])
    }
  })

  test('a body is limited as configured', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_PROXY_BODY_BYTES: '300000' })
    const { proxy } = await agentInSandbox(service)
    assertRefused(await proxy({ method: 'POST', body: 'x'.repeat(299_000) }), [413, 'body_too_large', 'body'])
    assertRefused(await proxy({ method: 'POST', body: 'x'.repeat(300_000) }), [413, 'body_too_large'])
  })

  test('deeply nested text is echoed unchanged', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const body = '['.repeat(30_000) + ']'.repeat(30_000)
    const answer = await proxy({ method: 'POST', body })
    assert.deepEqual([answer.status, answer.body.body.body], [200, body])
  })

  test('a HEAD gets no body', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const { body } = await proxy({ method: 'HEAD' })
    assert.deepEqual([body.status, body.body, body.body_encoding, body.redactions], [200, '', 'text', 0])
  })
})
