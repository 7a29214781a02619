import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { echo } from './echo.ts'

const path = '/v4/sandbox/echo'

async function send({ app, config }: TestService, payload: string | Buffer, type?: string) {
  const headers = { host: config.baseUrl.host, ...(type === undefined ? {} : { 'content-type': type }) }
  const reply = await app.http.inject({ method: 'POST', url: path, headers, payload })
  return { status: reply.statusCode, body: reply.json() }
}

onBothDatabases('the echo, called directly', (engine) => {
  test('returns what it was sent for each method, without a credential', async (t) => {
    const service = await startService(t, engine)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, body } = await service.call(method, `${path}?a=1`, { headers: { 'X-Mine': 'Yes' } })
      assert.equal(status, 200)
      assert.deepEqual(
        [body.method, body.path, body.query, body.headers['x-mine'], body.body],
        [method, path, { a: '1' }, 'Yes', null],
      )
    }
    const head = await service.call('HEAD', path)
    assert.deepEqual([head.status, head.text], [200, ''])
  })

  test('accepts any body: parsed if JSON, else as text', async (t) => {
    const service = await startService(t, engine)
    const cases: [string | Buffer, string | undefined, unknown][] = [
      ['{"a":[1]}', 'application/json', { a: [1] }],
      ['{"a":[1]}', 'text/plain', { a: [1] }],
      ['{"a":', 'application/json', '{"a":'],
      ['a=1&b=2', 'application/x-www-form-urlencoded', 'a=1&b=2'],
      ['<a/>', 'application/xml; charset=utf-8', '<a/>'],
      ['plain', undefined, 'plain'],
      ['', 'application/json', null],
      ['ünï', 'text/plain', 'ünï'],
      [Buffer.from([0xff, 0x41]), 'application/octet-stream', 'ÿA'],
      ['['.repeat(30_000) + ']'.repeat(30_000), 'application/json', '['.repeat(30_000) + ']'.repeat(30_000)],
    ]
    for (const [payload, type, expected] of cases) {
      const { status, body } = await send(service, payload, type)
      assert.deepEqual([status, body.body], [200, expected], `${type}`)
    }
  })

  test('a member named __proto__ is returned like any other, in body, query and header', async (t) => {
    const service = await startService(t, engine)
    const { app, config } = service
    const reply = await app.http.inject({
      method: 'POST',
      url: `${path}?__proto__=1&constructor=2`,
      headers: { host: config.baseUrl.host, 'content-type': 'application/json' },
      payload: '{"__proto__":{"admin":true}}',
    })
    assert.equal(reply.statusCode, 200)
    assert.match(reply.payload, /"query":\{"__proto__":"1","constructor":"2"\}/)
    assert.match(reply.payload, /"body":\{"__proto__":\{"admin":true\}\}/)
    const received = { method: 'GET', url: new URL(path, config.baseUrl), body: undefined }
    const { headers } = echo({ ...received, headers: [['__proto__', 'mine']] })
    assert.equal(JSON.stringify(headers), '{"__proto__":"mine"}')
  })

  test('a repeated name has several values', async (t) => {
    const service = await startService(t, engine)
    const { body } = await service.call('GET', `${path}?a=1&b=2&a=&a=3&c&%C3%A9%0A=x%2By+z`)
    assert.deepEqual(body.query, { a: ['1', '', '3'], b: '2', c: '', 'é\n': 'x+y z' })
  })

  test('leaves out credentials and forwarding headers', async (t) => {
    const service = await startService(t, engine)
    const hidden = {
      authorization: 'Bearer x',
      cookie: 'svc_session=x',
      'proxy-authorization': 'x',
      forwarded: 'for=x',
      'x-forwarded-for': 'x',
      'x-forwarded-host': 'x',
      'x-real-ip': 'x',
      via: 'x',
    }
    const { body } = await service.call('GET', path, { headers: { ...hidden, 'x-shown': 'y' } })
    assert.deepEqual(Object.keys(body.headers).sort(), ['host', 'user-agent', 'x-shown'])
  })

  test('a body of more than 64 KiB is body_too_large', async (t) => {
    const service = await startService(t, engine)
    assert.equal((await send(service, 'x'.repeat(65_536), 'text/plain')).status, 200)
    for (const type of ['text/plain', 'application/json', undefined]) {
      const { status, body } = await send(service, 'x'.repeat(65_537), type)
      assert.deepEqual([status, body.error.code], [413, 'body_too_large'])
    }
  })

  test('its response is never rendered as a page', async (t) => {
    const service = await startService(t, engine)
    const { headers } = await service.call('GET', `${path}?<script>alert(1)</script>`)
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
  })
})
