import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import type { TestService } from '../../../testkit/service.ts'
import type { Http } from './http.ts'
import { readJsonBodies } from './json-bodies.ts'

const deep = '['.repeat(100_000) + ']'.repeat(100_000)

async function post({ app, config }: TestService, path: string, payload: string | Buffer, headers: object = {}) {
  const reply = await app.http.inject({
    method: 'POST',
    url: path,
    headers: { host: config.baseUrl.host, 'content-type': 'application/json', ...headers },
    payload,
  })
  return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
}

onBothDatabases('bodies', (engine) => {
  test('a body that is not JSON in UTF-8 is invalid_json', async (t) => {
    const service = await startService(t, engine)
    const cases: (string | Buffer)[] = [
      '{',
      '{"name": }',
      "{'name': 'a'}",
      '{"name":"a"} x',
      '{"name":NaN}',
      '{"name":"a",}',
      'name=a',
      '"\u0000"',
      ' ',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
      Buffer.from([0x22, 0xc3, 0x28, 0x22]),
      Buffer.from('\ufeff{"name":"a"}', 'utf16le'),
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ]
    for (const body of cases) {
      const reply = await post(service, '/v4/agents/register', body)
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_json'], String(body))
    }
  })

  test('a member named __proto__ or constructor.prototype is refused', async (t) => {
    const service = await startService(t, engine)
    for (const body of [
      '{"name":"a","__proto__":{"admin":true}}',
      '{"name":"a","metadata":{"__proto__":1}}',
      '{"name":"a","metadata":{"\\u005f_proto__":1}}',
      '{"name":"a","metadata":{"constructor":{"prototype":1}}}',
    ]) {
      const reply = await post(service, '/v4/agents/register', body)
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_json'], body)
      assert.match(reply.body.error.message, /__proto__/)
    }
  })

  test('a body nested a hundred thousand levels deep is refused', async (t) => {
    const service = await startService(t, engine)
    for (const body of [
      deep,
      '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000),
      `{"name":"a","metadata":{"a":${deep}}}`,
      '['.repeat(100_000),
    ]) {
      const reply = await post(service, '/v4/agents/register', body)
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_json'])
      assert.match(reply.body.error.message, /nested/)
    }
  })

  test('brackets inside strings do not count as nesting', async (t) => {
    const service = await startService(t, engine)
    const metadata = { quoted: `${'['.repeat(1000)}"\\${'{'.repeat(1000)}`, nested: { 'a"[': [[[1]]] } }
    const reply = await post(service, '/v4/agents/register', JSON.stringify({ name: 'a', metadata }))
    assert.deepEqual([reply.status, reply.body.agent.metadata], [201, metadata])
  })

  test('a byte order mark is skipped, and the last of duplicate members counts', async (t) => {
    const service = await startService(t, engine)
    const reply = await post(service, '/v4/agents/register', '\ufeff{"name":"a","name":"b"}')
    assert.deepEqual([reply.status, reply.body.agent.name], [201, 'b'])
  })

  test('a number that is too large for its member is refused', async (t) => {
    const service = await startService(t, engine)
    for (const number of [
      '1e999',
      '-1e999',
      '1e30',
      '9007199254740993',
      '0',
      '-1',
      '1.5',
      '86401',
      `1${'0'.repeat(5000)}`,
    ]) {
      const reply = await post(service, '/v4/auth/login-tokens', `{"ttl_seconds":${number}}`, {
        authorization: `Bearer ${service.adminToken}`,
      })
      const { code, field } = reply.body.error
      assert.deepEqual([reply.status, code, field], [400, 'invalid_field', 'ttl_seconds'], number)
    }
  })

  test('types are not coerced: a number in quotes is a string', async (t) => {
    const service = await startService(t, engine)
    for (const body of [{ ttl_seconds: '60' }, { ttl_seconds: [60] }, { name: 7 }, { name: [null] }]) {
      const reply = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body })
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_field'], JSON.stringify(body))
    }
  })

  test('an empty body with a JSON content type counts as no body', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const headers = { 'content-type': 'application/json', 'content-length': '0' }
    const started = await service.call('POST', '/v4/sandbox/start', { token, headers })
    assert.equal(started.status, 201)
    const missing = await service.call('POST', '/v4/auth/login', { headers })
    assert.deepEqual([missing.body.error.code, missing.body.error.field], ['missing_field', 'login_token'])
  })

  test('a call without a body accepts an empty object and nothing else', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const start = (body: unknown) => service.call('POST', '/v4/sandbox/start', { token, body })
    assert.equal((await start({})).status, 201)
    const cases: [unknown, string][] = [
      [{ hosts: ['a'] }, 'hosts'],
      [[], 'body'],
      ['null', 'body'],
      ['"text"', 'body'],
      ['7', 'body'],
    ]
    for (const [body, field] of cases) {
      const { error } = (await start(body)).body
      assert.deepEqual([error.code, error.field], ['invalid_field', field], JSON.stringify(body))
    }
  })

  test('an unknown member is refused by name, and the name is not logged', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const name = 'hunter2-the-password'
    const calls: [string, unknown, string][] = [
      ['/v4/agents/register', { name: 'a', [name]: 1 }, name],
      [
        '/v4/proxy',
        { grant_id: 'a', method: 'GET', url: 'https://a.example', headers: { [name]: 1 } },
        `headers.${name}`,
      ],
    ]
    for (const [path, body, field] of calls) {
      const reply = await service.call('POST', path, { token, body })
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, 'invalid_field', field])
      assert.ok(reply.body.error.message.includes(field))
    }
    const unknown = await service.call('POST', '/v4/agents/register', { body: { name: 'a', nmae: 'b' } })
    assert.equal(unknown.body.error.message, '"nmae" is not a known member of this request.')
    assert.equal((await service.call('GET', `/v4/users?${name}=1`, { token: service.adminToken })).status, 400)
    assert.ok(service.log.length >= 4)
    assert.ok(!service.log.join('').includes('hunter2'), service.log.join(''))
  })

  test('a member name with a line break is kept', async (t) => {
    const service = await startService(t, engine)
    const metadata = { 'two\nlines': 1 }
    const { body } = await service.call('POST', '/v4/agents/register', { body: { name: 'a', metadata } })
    assert.deepEqual(body.agent.metadata, metadata)
  })

  test('NUL characters are refused wherever text is looked up', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const { token: session } = await service.logIn()
    const grant = { grant_id: 'grt_\u0000', method: 'GET', url: 'https://a.example' }
    const calls: [string, string, string, unknown, string][] = [
      ['GET', '/v4/agents?cursor=%00', service.adminToken, undefined, 'cursor'],
      ['GET', '/v4/users?cursor=a%00', service.adminToken, undefined, 'cursor'],
      ['GET', '/v4/auth/sessions?cursor=%00', session, undefined, 'cursor'],
      ['POST', '/v4/proxy', token, grant, 'grant_id'],
      ['POST', '/v4/auth/login-tokens', service.adminToken, { user_id: '\u0000' }, 'user_id'],
      ['POST', '/v4/auth/login-tokens', service.adminToken, { name: 'a\u0000' }, 'name'],
      ['POST', '/v4/auth/login-tokens', service.adminToken, { email: 'a\u0000@b.example' }, 'email'],
    ]
    for (const [method, path, credential, body, field] of calls) {
      const reply = await service.call(method, path, { token: credential, body })
      const { code, field: named } = reply.body.error
      assert.deepEqual([reply.status, code, named], [400, 'invalid_field', field], `${method} ${path}`)
    }
    const login = await service.call('POST', '/v4/auth/login', { body: { login_token: '\u0000' } })
    assert.equal(login.status, 401)
  })
})

test('one large body is parsed per tick of the event loop', async () => {
  const http = fastify() as unknown as Http
  readJsonBodies(http)
  let read = 0
  http.post('/', () => ({ read: (read += 1) }))
  await http.ready()
  const payload = JSON.stringify({ text: 'x'.repeat(40_000) })
  const send = () => http.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, payload })
  const replies = Promise.all(Array.from({ length: 10 }, send))
  while (read < 10) {
    const before = read
    await new Promise(setImmediate)
    assert.ok(read <= before + 1, `${read - before} in one turn`)
  }
  await replies
})
