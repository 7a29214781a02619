/** The egress as a `fetch` for libraries. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { ClientSecretPost, clientCredentialsGrant, customFetch, discovery } from 'openid-client'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress, userAgent } from '../../../testkit/egress.ts'
import { startTlsUpstream } from '../../../testkit/tls-upstream.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

async function start(t: TestContext, answer: RequestListener) {
  const upstream = await startTlsUpstream(t, certificate, answer)
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  return { url: `https://api.example:${upstream.port}`, egress, fetch: egress.fetch('operator') }
}

interface Seen {
  method: string | undefined
  path: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

function recording(seen: Seen[]): RequestListener {
  return (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      seen.push({ method: request.method, path: request.url, headers: request.headers, body })
      response.end()
    })
  }
}

test('every form of headers and body that fetch takes is sent', async (t) => {
  const seen: Seen[] = []
  const { url, fetch } = await start(t, recording(seen))
  await fetch(`${url}/a%20b?c=d#e`, { headers: { Accept: 'application/json', 'x-one': '1' } })
  await fetch(url, { method: 'POST', headers: new Headers({ 'x-two': '2' }), body: new URLSearchParams({ a: 'ü b' }) })
  await fetch(url, { method: 'PUT', headers: [['content-type', 'text/x']], body: 'text ü', redirect: 'manual' })
  await fetch(url, { method: 'PATCH', body: new TextEncoder().encode('bytes') })
  await fetch(url, { method: 'POST', body: new Blob(['streamed']).stream(), duplex: 'half' })
  await fetch(url, { method: 'DELETE', body: undefined })
  const told = seen.map(({ method, path, body, headers }) => [method, path, body, headers['content-type']])
  assert.deepEqual(told, [
    ['GET', '/a%20b?c=d', '', undefined],
    ['POST', '/', 'a=%C3%BC+b', 'application/x-www-form-urlencoded;charset=UTF-8'],
    ['PUT', '/', 'text ü', 'text/x'],
    ['PATCH', '/', 'bytes', undefined],
    ['POST', '/', 'streamed', undefined],
    ['DELETE', '/', '', undefined],
  ])
  const [first, second] = seen
  assert.deepEqual([first?.headers.accept, first?.headers['x-one']], ['application/json', '1'])
  assert.deepEqual([second?.headers.accept, second?.headers['x-two']], ['*/*', '2'])
  assert.equal(first?.headers['user-agent'], userAgent)
})

test('the result is a decoded Response without its content-encoding', async (t) => {
  const forms = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
  const { url, fetch } = await start(t, (request, response) => {
    const name = request.url?.slice(1) as keyof typeof forms
    response.writeHead(418, [
      ...['content-encoding', name, 'content-type', 'text/plain'],
      ...['set-cookie', 'a=1', 'set-cookie', 'b=2'],
    ])
    response.end(forms[name]('hello'))
  })
  for (const name of Object.keys(forms)) {
    const response = await fetch(`${url}/${name}`)
    assert.ok(response instanceof Response)
    assert.deepEqual([response.status, response.ok, await response.text()], [418, false, 'hello'])
    assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
    assert.equal(response.headers.get('content-encoding'), null)
  }
})

test('a response without a body is not decoded', async (t) => {
  const { url, fetch } = await start(t, (request, response) => {
    const status = Number(request.url?.slice(1))
    response.writeHead(status, { 'content-encoding': 'gzip' }).end()
  })
  for (const status of [204, 304]) {
    const response = await fetch(`${url}/${status}`)
    assert.deepEqual([response.status, response.body], [status, null])
  }
  const head = await fetch(`${url}/200`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
})

test('request() returns the response unchanged: undecoded, headers not merged', async (t) => {
  const { url, egress } = await start(t, (_request, response) => {
    response.writeHead(200, ['X-Odd', 'ü', 'x-odd', '2', 'content-encoding', 'gzip', 'Date', 'x'])
    response.end(gzipSync('hello'))
  })
  const { status, headers, body } = await egress.request({
    ...{
      url: new URL(url),
      method: 'POST',
      headers: [['x-a', '1']],
      body: Buffer.from('sent'),
      suppliedBy: 'operator',
    },
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  assert.equal(status, 200)
  assert.deepEqual(headers.slice(0, 3), [
    ['X-Odd', 'ü'],
    ['x-odd', '2'],
    ['content-encoding', 'gzip'],
  ])
  assert.deepEqual(Buffer.concat(chunks), gzipSync('hello'))
})

test('openid-client works with it: discovery and a token request', async (t) => {
  const seen: Seen[] = []
  const record = recording(seen)
  const { url, fetch } = await start(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/token') response.write('{"access_token":"t","token_type":"bearer"}')
    else response.write(JSON.stringify({ issuer: url, token_endpoint: `${url}/token` }))
    record(request, response)
  })
  const options = { [customFetch]: fetch, algorithm: 'oauth2' as const }
  const server = await discovery(new URL(url), 'client', undefined, ClientSecretPost('word'), options)
  assert.equal((await clientCredentialsGrant(server, { scope: 'a' })).access_token, 't')
  assert.deepEqual(
    seen.map(({ method, path }) => `${method} ${path}`),
    ['GET /.well-known/oauth-authorization-server', 'POST /token'],
  )
  assert.match(seen[1]?.body ?? '', /client_secret=word/)
})
