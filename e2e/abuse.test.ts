/** Hostile input: each case gets an error in the standard shape, and the service keeps running. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { openSocket } from './raw-socket.ts'
import type { RawAnswer } from './raw-socket.ts'
import { eventually, roomy, sharedService } from './running-service.ts'

const mebibyte = 1024 * 1024

/** Every error looks like this, whether a route, the framework or the bare socket sent it. */
function assertRefused(answer: RawAnswer | undefined, status: number, code: string): void {
  assert.ok(answer, 'there was no answer')
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('x-sallyport-error'), '1')
  const { error, ...rest } = JSON.parse(answer.text)
  assert.deepEqual(rest, {})
  assert.equal(error.code, code)
  assert.match(error.message, /\.$/)
  assert.equal(typeof error.retryable, 'boolean')
  assert.equal(error.request_id, answer.headers.get('x-request-id'))
  assert.match(error.request_id, /^req_[0-9a-z]{26}$/)
  const known = ['code', 'message', 'retryable', 'field', 'request_id']
  assert.deepEqual(
    Object.keys(error).filter((name) => !known.includes(name)),
    [],
  )
}

describe('a hostile client', () => {
  const shared = sharedService('sqlite', {
    ...roomy,
    SALLYPORT_HEADERS_TIMEOUT_SECONDS: '1',
    SALLYPORT_REQUEST_TIMEOUT_SECONDS: '2',
  })
  const host = () => `localhost:${shared().port}`

  const exchange = async (bytes: string | Uint8Array, count = 1) => {
    const socket = await openSocket(shared().port)
    socket.send(bytes)
    const answers = await socket.answers(count)
    socket.destroy()
    return answers
  }
  const head = (line: string, ...headers: string[]) =>
    [`${line} HTTP/1.1`, `Host: ${host()}`, ...headers].join('\r\n') + '\r\n\r\n'
  const post = (path: string, body: string, ...headers: string[]) =>
    head(`POST ${path}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...headers) +
    body

  afterEach(async () => {
    assert.equal((await shared().call('GET', '/healthz')).status, 200)
    await shared().register('still served')
  })

  test('a body over the limit is refused: 10 MiB for proxy calls, 256 KiB for others', async () => {
    const { token } = await shared().register()
    const bearer = `Authorization: Bearer ${token}`
    const large = JSON.stringify({ grant_id: 'x'.repeat(11 * mebibyte) })
    const small = JSON.stringify({ name: 'x'.repeat(257 * 1024) })
    assertRefused((await exchange(post('/v4/proxy', large, bearer)))[0], 413, 'body_too_large')
    assertRefused((await exchange(post('/v4/agents/register', large)))[0], 413, 'body_too_large')
    assertRefused((await exchange(post('/v4/agents/register', small)))[0], 413, 'body_too_large')
    const fits = await exchange(post('/v4/proxy', JSON.stringify({ grant_id: 'x'.repeat(9 * mebibyte) }), bearer))
    assertRefused(fits[0], 400, 'missing_field')
  })

  test('a chunked body over the limit is refused too', async () => {
    const { token } = await shared().register()
    for (const [path, ...headers] of [['/v4/proxy', `Authorization: Bearer ${token}`], ['/v4/agents/register']]) {
      const socket = await openSocket(shared().port)
      socket.send(
        head(`POST ${path ?? ''}`, 'Content-Type: application/json', 'Transfer-Encoding: chunked', ...headers),
      )
      const chunk = `${mebibyte.toString(16)}\r\n${' '.repeat(mebibyte)}\r\n`
      for (let count = 0; count < 11; count++) socket.send(chunk)
      socket.send('0\r\n\r\n')
      assertRefused((await socket.answers(1))[0], 413, 'body_too_large')
      await socket.closed()
    }
  })

  test('a connection is closed after its body was refused', async () => {
    const socket = await openSocket(shared().port)
    socket.send(post('/v4/agents/register', ' '.repeat(300 * 1024)) + head('GET /healthz'))
    const answers = await socket.answers(2)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413],
    )
    await socket.closed()
  })

  test('without a credential the response comes before the body is read', async () => {
    const socket = await openSocket(shared().port)
    socket.send(head('POST /v4/proxy', 'Content-Type: application/json', `Content-Length: ${11 * mebibyte}`))
    assertRefused((await socket.answers(1))[0], 401, 'unauthenticated')
    socket.destroy()
  })

  test('headers over 16 KiB are refused', async () => {
    assertRefused((await exchange(head('GET /healthz', `X-Large: ${'x'.repeat(65_536)}`)))[0], 431, 'headers_too_large')
    const thousand = Array.from({ length: 1000 }, (_, index) => `X-Header-${index}: ${'x'.repeat(20)}`)
    assertRefused((await exchange(head('GET /healthz', ...thousand)))[0], 431, 'headers_too_large')
    assertRefused((await exchange(head(`GET /${'x'.repeat(65_536)}`)))[0], 431, 'headers_too_large')
  })

  test('headers that trickle in run into a timeout', async () => {
    const socket = await openSocket(shared().port)
    socket.send(`GET /healthz HTTP/1.1\r\nHost: ${host()}\r\nX-Slow: `)
    assertRefused((await socket.answers(1))[0], 408, 'request_timeout')
    await socket.closed()
  })

  test('a body that trickles in runs into a timeout', async () => {
    const { token } = await shared().register()
    const begin = async (path: string, ...headers: string[]) => {
      const socket = await openSocket(shared().port)
      socket.send(head(`POST ${path}`, 'Content-Type: application/json', 'Content-Length: 100', ...headers))
      socket.send('{"name"')
      return socket
    }
    const sockets = [await begin('/v4/agents/register'), await begin('/v4/proxy', `Authorization: Bearer ${token}`)]
    for (const socket of sockets) {
      assertRefused((await socket.answers(1))[0], 408, 'request_timeout')
      await socket.closed()
    }
  })

  test('two hundred idle connections do not block others', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(shared().port)))
    assert.equal((await shared().call('GET', '/readyz')).status, 200)
    for (const socket of sockets) socket.send('GET /healthz HTTP/1.1\r\n')
    assert.equal((await shared().call('GET', '/readyz')).status, 200)
    for (const socket of sockets) await socket.closed()
  })

  test('invalid HTTP gets a 400', async () => {
    const cases: [string, string | Uint8Array][] = [
      ['random bytes', Uint8Array.from({ length: 512 }, (_, index) => (index * 167 + 13) % 256)],
      ['a TLS hello', Buffer.from('16030100c8010000c40303', 'hex')],
      ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['CONNECT', head('CONNECT example.com:443')],
      ['a made-up method', head('BREW /coffee')],
      ['a header without a colon', head('GET /healthz', 'nonsense')],
      ['NUL in a header', head('GET /healthz', 'X-Null: a\0b')],
      ['NUL in the path', head('GET /health\0z')],
      ['a space before the colon', head('GET /healthz', 'X-Space : 1')],
      ['a folded header', head('GET /healthz', 'X-Fold: a\r\n b')],
      ['a bare carriage return', `GET /healthz HTTP/1.1\rHost: ${host()}\r\r`],
      ['a negative length', head('POST /v4/agents/register', 'Content-Length: -1')],
    ]
    for (const [what, bytes] of cases) {
      await test(what, async () => {
        assertRefused((await exchange(bytes))[0], 400, 'invalid_http')
      })
    }
  })

  test('request smuggling is refused', async () => {
    const hidden = head('GET /v4/agents/me')
    const register = (...headers: string[]) =>
      head('POST /v4/agents/register', 'Content-Type: application/json', ...headers)
    const cases: [string, string][] = [
      ['length and chunks', `${register('Content-Length: 4', 'Transfer-Encoding: chunked')}0\r\n\r\n${hidden}`],
      ['chunks and length', `${register('Transfer-Encoding: chunked', 'Content-Length: 4')}0\r\n\r\n${hidden}`],
      ['two lengths', `${register('Content-Length: 0', `Content-Length: ${hidden.length}`)}${hidden}`],
      ['a list of lengths', `${register(`Content-Length: 0, ${hidden.length}`)}${hidden}`],
      ['chunked that is not last', `${register('Transfer-Encoding: chunked, identity')}0\r\n\r\n${hidden}`],
      ['a misspelt coding', `${register('Transfer-Encoding: xchunked')}0\r\n\r\n${hidden}`],
      ['a chunk size with a sign', `${register('Transfer-Encoding: chunked')}+0\r\n\r\n${hidden}`],
      ['a chunk size too large', `${register('Transfer-Encoding: chunked')}fffffffffffffffff\r\n${hidden}`],
      ['a line feed as line end', `${register('Transfer-Encoding: chunked')}0\n\n${hidden}`],
    ]
    for (const [what, bytes] of cases) {
      await test(what, async () => {
        const socket = await openSocket(shared().port)
        socket.send(bytes)
        const answers = await socket.answers(2)
        assert.equal(answers.length, 1, JSON.stringify(answers))
        assertRefused(answers[0], 400, 'invalid_http')
        await socket.closed()
      })
    }
  })

  test('pipelined requests are answered in order', async () => {
    const { token } = await shared().register('in order')
    const me = head('GET /v4/agents/me', `Authorization: Bearer ${token}`)
    const bytes = head('GET /healthz') + me + head('GET /v4/nothing') + me + post('/v4/agents/register', '{"name":"p"}')
    const answers = await exchange(bytes, 5)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 404, 200, 201],
    )
    assert.equal(JSON.parse(answers[3]?.text ?? '').name, 'in order')
  })

  test('unusual paths are not found', async () => {
    const { token } = await shared().register()
    const bearer = `Authorization: Bearer ${token}`
    const cases: [string, number, string][] = [
      ['/v4/%zz', 404, 'not_found'],
      ['//v4/agents/me', 404, 'not_found'],
      ['/v4//agents/me', 404, 'not_found'],
      ['/v4/agents/../agents/me', 404, 'not_found'],
      ['/v4/agents/%2e%2e/agents/me', 404, 'not_found'],
      ['/v4/agents/me/', 404, 'not_found'],
      ['/V4/agents/me', 404, 'not_found'],
      ['/v4/agents/me%00', 404, 'not_found'],
      ['/%00', 404, 'not_found'],
      ['/..%2f..%2fpackage.json', 404, 'not_found'],
      ['/%2e%2e/%2e%2e/package.json', 404, 'not_found'],
      ['/docs/%2e%2e%2f%2e%2e%2fpackage.json', 404, 'not_found'],
      [`/v4/${'x'.repeat(12_000)}`, 404, 'not_found'],
      ['http://other.example/v4/agents/me', 421, 'wrong_host'],
      [`http://${host()}@other.example/v4/agents/me`, 421, 'wrong_host'],
    ]
    for (const [path, status, code] of cases) {
      await test(path.slice(0, 60), async () => {
        assertRefused((await exchange(head(`GET ${path}`, bearer)))[0], status, code)
      })
    }
  })

  test('an invalid id is not found', async () => {
    const bearer = `Authorization: Bearer ${shared().adminToken}`
    for (const id of ['x'.repeat(300), 'x'.repeat(150), 'x', '%00', '%F0%9F%98%80', '..%2f..', "'--"]) {
      assertRefused((await exchange(head(`POST /v4/agents/${id}/disable`, bearer)))[0], 404, 'not_found')
    }
  })

  test('a foreign Host is refused, also with our host in the request line', async () => {
    const lines = (line: string, ...headers: string[]) => [line, ...headers].join('\r\n') + '\r\n\r\n'
    const wrong = await exchange(lines('GET /v4/agents/me HTTP/1.1', 'Host: rebound.example'))
    assertRefused(wrong[0], 421, 'wrong_host')
    const absolute = `GET http://${host()}/v4/agents/me HTTP/1.1`
    assertRefused((await exchange(lines(absolute, 'Host: rebound.example')))[0], 421, 'wrong_host')
    assertRefused((await exchange(lines('GET /v4/agents/me HTTP/1.1', 'X-Host: none')))[0], 400, 'invalid_http')
    const twice = lines('GET /v4/agents/me HTTP/1.1', `Host: ${host()}`, 'Host: rebound.example')
    assertRefused((await exchange(twice))[0], 400, 'invalid_http')
    const { token } = await shared().register('by absolute form')
    const [same] = await exchange(lines(absolute, `Host: ${host()}`, `Authorization: Bearer ${token}`))
    assert.equal(JSON.parse(same?.text ?? '').name, 'by absolute form')
  })

  test('an unknown Expect header is ignored', async () => {
    const [answer] = await exchange(head('GET /healthz', 'Expect: a-miracle'))
    assert.equal(answer?.status, 200)
  })

  test('a client that does not close after a timeout is dropped', async () => {
    const socket = await openSocket(shared().port, { stays: true })
    socket.send(`GET /healthz HTTP/1.1\r\nHost: ${host()}\r\nX-Slow: `)
    assertRefused((await socket.answers(1))[0], 408, 'request_timeout')
    await eventually(() => {
      socket.send('x')
      return socket.isDropped()
    }, 'the connection is still there')
  })

  test('an invalid body is refused, naming the member', async () => {
    const { token } = await shared().register()
    const bearer = `Authorization: Bearer ${token}`
    const cases: [string, string, string, string | undefined][] = [
      ['/v4/agents/register', '{"name":', 'invalid_json', undefined],
      ['/v4/agents/register', '{"name":"a"} {}', 'invalid_json', undefined],
      ['/v4/agents/register', '['.repeat(100_000), 'invalid_json', undefined],
      ['/v4/agents/register', '{"__proto__":{"name":"a"}}', 'invalid_json', undefined],
      ['/v4/agents/register', '{"name":"a","metadata":{"__proto__":{"x":1}}}', 'invalid_json', undefined],
      ['/v4/agents/register', '{"name":"a","constructor":{"prototype":{"x":1}}}', 'invalid_json', undefined],
      ['/v4/agents/register', '{"name":{"toString":"a"}}', 'invalid_field', 'name'],
      ['/v4/agents/register', '{"name":["a"]}', 'invalid_field', 'name'],
      ['/v4/agents/register', '{"name":null}', 'invalid_field', 'name'],
      ['/v4/agents/register', '{"name":"a","metadata":{"a":"\\u0000"},"x":1}', 'invalid_field', 'x'],
      ['/v4/agents/register', '{"name":"a\\u0000"}', 'invalid_field', 'name'],
      ['/v4/auth/login', '{"login_token":7}', 'invalid_field', 'login_token'],
      ['/v4/auth/login', '{}', 'missing_field', 'login_token'],
      ['/v4/proxy', '{"grant_id":"g","method":"GET","url":7}', 'invalid_field', 'url'],
      ['/v4/proxy', '{"grant_id":"g","method":"GET","url":"https://a.b","stram":1}', 'invalid_field', 'stram'],
      [
        '/v4/proxy',
        '{"grant_id":"g","method":"GET","url":"https://a.b","headers":{"a":1}}',
        'invalid_field',
        'headers.a',
      ],
      ['/v4/sandbox/start', '{"anything":1}', 'invalid_field', 'anything'],
    ]
    for (const [path, body, code, field] of cases) {
      await test(`${path} ${body.slice(0, 50)}`, async () => {
        const [answer] = await exchange(post(path, body, bearer))
        assertRefused(answer, 400, code)
        assert.equal(JSON.parse(answer?.text ?? '').error.field, field)
      })
    }
  })

  test('deeply nested JSON is refused', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    for (const body of [deep, `{"name":"a","metadata":{"a":${deep}}}`]) {
      const { status, body: refusal } = await shared().call('POST', '/v4/agents/register', { body })
      assert.equal(status, 400)
      assert.ok(['invalid_json', 'invalid_field'].includes(refusal.error.code), refusal.error.code)
    }
  })

  test('NUL in metadata and ids is handled', async () => {
    const { token } = await shared().register()
    const metadata = { 'a\0': ['\0'] }
    const kept = await shared().call('POST', '/v4/agents/register', { body: { name: 'a', metadata } })
    if (kept.status === 201) assert.deepEqual(kept.body.agent.metadata, metadata)
    else assert.equal(kept.body.error.field, 'metadata')
    const call = JSON.stringify({ grant_id: 'grt_\0', method: 'GET', url: 'https://a.example/' })
    assertRefused((await exchange(post('/v4/proxy', call, `Authorization: Bearer ${token}`)))[0], 400, 'invalid_field')
  })

  test('other content types, encodings and charsets are refused', async () => {
    const send = (type: string, body: Buffer) =>
      exchange(
        Buffer.concat([
          Buffer.from(head('POST /v4/agents/register', `Content-Type: ${type}`, `Content-Length: ${body.length}`)),
          body,
        ]),
      )
    const good = Buffer.from('{"name":"a"}')
    assertRefused((await send('text/plain', good))[0], 415, 'unsupported_media_type')
    assertRefused((await send('application/x-www-form-urlencoded', good))[0], 415, 'unsupported_media_type')
    assertRefused((await send('', good))[0], 415, 'unsupported_media_type')
    assertRefused((await send('application/json', Buffer.from('{"name":"\xff"}', 'latin1')))[0], 400, 'invalid_json')
    assertRefused((await send('application/json', Buffer.from('{"name":"a"}', 'utf16le')))[0], 400, 'invalid_json')
  })

  test('malformed and repeated credentials are refused', async () => {
    const { token } = await shared().register()
    const cases = [
      'Authorization: Bearer',
      'Authorization: Bearer ',
      `Authorization: Basic ${token}`,
      `Authorization: Bearer ${token} ${token}`,
      `Authorization: Bearer ${token}x`,
      `Authorization: Bearer ${token.slice(0, -1)}`,
      `Authorization: ${token}`,
      `Cookie: svc_session=${token}`,
      `X-Authorization: Bearer ${token}`,
    ]
    for (const line of cases)
      assertRefused((await exchange(head('GET /v4/agents/me', line)))[0], 401, 'unauthenticated')
  })
})
