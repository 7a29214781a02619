import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { listen } from '../../../testkit/tls-upstream.ts'
import { collectFromLoopback, isLoopbackName } from './loopback-http.ts'

const send = (url: string, limits = {}) =>
  collectFromLoopback({
    ...{ url: new URL(url), method: 'POST', headers: [['x-key', 'one']], body: Buffer.from('two'), limits },
    suppliedBy: 'operator',
  })

async function answering(t: TestContext, answer: RequestListener): Promise<string> {
  const { port } = await listen(t, createServer(answer))
  return `http://localhost:${port}/v1/traces`
}

test('a program on this machine gets the request, and its status and headers come back', async (t) => {
  const url = await answering(t, (request, response) => {
    const { method, url: path, headers } = request
    request.on('data', (body: Buffer) => {
      response.writeHead(429, {
        'retry-after': '7',
        'x-seen': `${method} ${path} ${String(headers['x-key'])} ${body.toString()}`,
      })
      response.end('ignored')
    })
  })
  for (const host of ['localhost', '127.0.0.1']) {
    const { status, headers } = await send(url.replace('localhost', host))
    const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
    assert.deepEqual([status, named['retry-after'], named['x-seen']], [429, '7', 'POST /v1/traces one two'])
  }
})

test('other hosts and schemes are refused before anything is sent', () => {
  const wrong = [
    'http://10.0.0.1',
    'http://localhost.example',
    'http://127.evil.example',
    'http://[::2]',
    'http://0.0.0.0',
  ]
  for (const url of [...wrong, 'https://localhost']) assert.throws(() => send(url), { code: 'invalid_url' }, url)
  assert.ok(isLoopbackName('[::1]') && isLoopbackName('127.1.2.3') && !isLoopbackName('1.127.0.0.1'))
})

test('a program that does not answer, breaks off or sends too much ends the request', async (t) => {
  const silent = await answering(t, () => undefined)
  await assert.rejects(send(silent, { wholeMs: 50 }), { code: 'upstream_timeout' })
  const broken = await answering(t, (request) => request.socket.destroy())
  await assert.rejects(send(broken), { code: 'upstream_unreachable' })
  const long = await answering(t, (_request, response) => response.end('x'.repeat(100_000)))
  await assert.rejects(send(long), { code: 'upstream_body_too_large' })
})
