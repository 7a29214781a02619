import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startListening } from '../../../testkit/raw-client.ts'
import type { Engine } from '../database/database.ts'

async function start(t: TestContext, engine: Engine) {
  const { service, open } = await startListening(t, engine)
  const { token } = await service.registerAgent()
  /** Resolves to all that comes back once the service has closed the connection. */
  const send = async (request: string): Promise<string> => {
    const connection = await open()
    connection.send(request)
    return connection.received()
  }
  return { token, send, host: `Host: ${service.config.baseUrl.host}` }
}

function request(line: string, headers: string[], body = ''): string {
  return [line, ...headers, '', body].join('\r\n')
}

onBothDatabases('ambiguous requests', (engine) => {
  test('repeated credential and framing headers are refused', async (t) => {
    const { token, send, host } = await start(t, engine)
    const bearer = `Authorization: Bearer ${token}`
    const close = 'Connection: close'
    const me = (...headers: string[]) => send(request('GET /v4/agents/me HTTP/1.1', [host, close, ...headers]))
    assert.match(await me(bearer), /^HTTP\/1\.1 200 /)
    const pairs = [
      [bearer, bearer],
      [bearer, 'Authorization: Bearer other'],
      ['authorization: Bearer other', bearer],
      [bearer, 'Idempotency-Key: a', 'Idempotency-Key: a'],
      [bearer, 'Content-Type: application/json', 'Content-type: text/plain'],
      [bearer, 'Content-Encoding: gzip', 'Content-Encoding: br'],
      [bearer, 'Origin: https://a.example', 'Origin: https://b.example'],
      [bearer, 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'],
      [bearer, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
      [bearer, 'Content-Length: 0', 'Content-Length: 0'],
      [bearer, 'Content-Length: 0', 'Content-Length: 5'],
      [bearer, 'Content-Length: 0', 'Transfer-Encoding: chunked'],
      [bearer, host],
    ]
    for (const headers of pairs) {
      const answer = await me(...headers)
      assert.match(answer, /^HTTP\/1\.1 400 [^]*"code":"invalid_http"/, headers.join(', '))
    }
    assert.match(await me(bearer, bearer), /"message":"Send no more than one Authorization header\."/)
    assert.match(await me(bearer, bearer), /"field":"Authorization"/)
    // Nor where nobody is asked who they are, nor on a path that leads nowhere.
    for (const path of ['/v4/agents/register', '/healthz', '/nowhere', '/v4/proxy']) {
      const answer = await send(request(`GET ${path} HTTP/1.1`, [host, close, bearer, bearer]))
      assert.match(answer, /^HTTP\/1\.1 400 /, path)
    }
    assert.match(
      await me(bearer, 'Accept: text/plain', 'Accept: application/json', 'X-A: 1', 'X-A: 2'),
      /^HTTP\/1\.1 200 /,
    )
  })

  test('HTTP/1.0 with Transfer-Encoding is refused, and the connection ends', async (t) => {
    const { send, host } = await start(t, engine)
    const headers = [host, 'Content-Type: application/json']
    const chunked = 'c\r\n{"name":"a"}\r\n0\r\n\r\n'
    const next = request('GET /healthz HTTP/1.1', [host, 'Connection: close'])
    for (const connection of ['close', 'keep-alive']) {
      const framing = ['Transfer-Encoding: chunked', `Connection: ${connection}`]
      const answer = await send(request('POST /v4/agents/register HTTP/1.0', [...headers, ...framing], chunked + next))
      assert.match(answer, /^HTTP\/1\.1 400 [^]*"code":"invalid_http"/)
      assert.match(answer, /\r\nconnection: close\r\n/i)
      assert.equal(answer.match(/HTTP\/1\.1 \d/g)?.length, 1, 'what follows is not read as a request')
    }
    const plain = await send(
      request('POST /v4/agents/register HTTP/1.0', [...headers, 'Content-Length: 12'], '{"name":"a"}'),
    )
    assert.match(plain, /^HTTP\/1\.1 201 /)
  })

  test('a Transfer-Encoding other than chunked is refused', async (t) => {
    const { send, host } = await start(t, engine)
    for (const encoding of ['gzip, chunked', 'chunked, chunked', 'identity', 'x, chunked', 'chunked, identity']) {
      const headers = [host, 'Content-Type: application/json', 'Connection: close', `Transfer-Encoding: ${encoding}`]
      const answer = await send(request('POST /v4/agents/register HTTP/1.1', headers, '0\r\n\r\n'))
      assert.match(answer, /^HTTP\/1\.1 400 [^]*"code":"invalid_http"/, encoding)
    }
  })
})
