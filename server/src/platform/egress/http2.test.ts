/** HTTP/2 with servers that offer it: the same guards, and a failing stream does not affect others. */
import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'node:tls'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { listen, startHttp2Upstream, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import type { Http2Answer } from '../../../testkit/tls-upstream.ts'
import type { EgressRequest } from './egress.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

async function start(t: TestContext, answer?: Http2Answer) {
  const upstream = await startHttp2Upstream(t, certificate, answer)
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const call = (path = '/', more: Partial<EgressRequest> = {}): EgressRequest => ({
    ...{ url: new URL(`https://api.example:${upstream.port}${path}`), method: 'GET', headers: [], body: undefined },
    ...{ suppliedBy: 'operator', pool: 'one', ...more },
  })
  const collect = (path?: string, more?: Partial<EgressRequest>) => egress.collect(call(path, more))
  return { upstream, egress, call, collect }
}

/** A server that responds only when told, by path. */
function holding() {
  const held = new Map<string | undefined, ServerHttp2Stream>()
  const answer: Http2Answer = (stream, headers) => {
    held.set(headers[':path'], stream)
  }
  const streamOf = async (path: string): Promise<ServerHttp2Stream> => {
    for (let times = 0; times < 500 && !held.has(path); times++) await sleep(10)
    return held.get(path) ?? assert.fail(`${path} was never asked for`)
  }
  const reply = async (path: string) => {
    const stream = await streamOf(path)
    stream.respond({ ':status': 200 })
    stream.end(path)
  }
  return { answer, streamOf, reply }
}

test('calls of a pool share one connection; another pool has its own', async (t) => {
  const { upstream, collect } = await start(t)
  await Promise.all(Array.from({ length: 20 }, () => collect()))
  assert.equal(upstream.connections(), 1)
  await collect('/', { pool: 'two' })
  await collect('/', { suppliedBy: 'operator' })
  assert.equal(upstream.connections(), 2)
  assert.equal(upstream.requests.length, 22)
})

test('a server without HTTP/2 is called with HTTP/1.1', async (t) => {
  const versions: string[] = []
  const { port } = await startTlsUpstream(t, certificate, (request, response) => {
    versions.push(request.httpVersion)
    response.end('hello')
  })
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const url = new URL(`https://api.example:${port}/`)
  await egress.collect({ url, method: 'GET', headers: [], body: undefined, suppliedBy: 'operator' })
  assert.deepEqual(versions, ['1.1'])
})

test('request and response are the same as over HTTP/1.1', async (t) => {
  const { collect } = await start(t, (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      stream.respond({ ':status': 404, 'set-cookie': ['a=1', 'b=2'], 'x-a': 'caf\xe9' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'x-t': 'one' })
      })
      const { ':method': method, ':authority': host, 'x-b': given, te, connection } = headers
      stream.end(JSON.stringify({ method, host, given, te, connection, body: Buffer.concat(chunks).toString() }))
    })
  })
  const headers: [string, string][] = [
    ['X-B', 'one'],
    ['x-b', 'two'],
    ['host', 'other.example'],
    ['connection', 'x'],
    ['keep-alive', '1'],
    ['proxy-connection', '1'],
    ['http2-settings', 'AAAA'],
    ['te', 'gzip'],
    ['transfer-encoding', 'gzip'],
    ['upgrade', 'h2c'],
    ['expect', '100-continue'],
  ]
  const answer = await collect('/', { method: 'POST', headers, body: Buffer.from('hello') })
  const { host, ...seen } = JSON.parse(answer.body.toString()) as { host: string }
  assert.match(host, /^api\.example:\d+$/)
  assert.deepEqual(seen, { method: 'POST', given: 'one, two', body: 'hello' })
  const { status, statusText, trailers } = answer
  assert.deepEqual(
    { status, statusText, trailers },
    { status: 404, statusText: 'Not Found', trailers: [['x-t', 'one']] },
  )
  assert.deepEqual(
    answer.headers.filter(([name]) => name !== 'date'),
    [
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-a', 'caf\xe9'],
    ],
  )
})

test('an aborted call does not affect others on its connection', async (t) => {
  const { answer, streamOf, reply } = holding()
  const { upstream, egress, call, collect } = await start(t, answer)
  const first = collect('/first')
  const gone = new AbortController()
  const waiting = collect('/waiting', { signal: gone.signal })
  const reading = egress.request(call('/reading'))
  const stream = await streamOf('/reading')
  stream.respond({ ':status': 200 })
  stream.write('x')
  const { body } = await reading
  await streamOf('/waiting')
  gone.abort(new Error('gone'))
  await assert.rejects(waiting, /gone/)
  body.destroy()
  for (const path of ['/waiting', '/reading']) {
    const stream = await streamOf(path)
    for (let times = 0; times < 500 && !stream.closed; times++) await sleep(10)
    assert.ok(stream.closed, path)
  }
  await reply('/first')
  assert.equal((await first).body.toString(), '/first')
  const last = collect('/last')
  await reply('/last')
  assert.equal((await last).body.toString(), '/last')
  assert.equal(upstream.connections(), 1)
})

test('after a timeout the others go on, and the next call gets a new connection', async (t) => {
  const { answer, reply } = holding()
  const { upstream, collect } = await start(t, answer)
  const slow = collect('/slow')
  await assert.rejects(collect('/late', { limits: { firstByteMs: 100 } }), {
    code: 'upstream_timeout',
    detail: `api.example:${upstream.port}: no answer in time`,
  })
  const next = collect('/next')
  await reply('/next')
  assert.equal((await next).body.toString(), '/next')
  assert.equal(upstream.connections(), 2)
  await reply('/slow')
  assert.equal((await slow).body.toString(), '/slow')
})

test('an endless body ends at the total timeout, one that is too large immediately', async (t) => {
  const { collect } = await start(t, (stream) => {
    stream.respond({ ':status': 200 })
    stream.write('x'.repeat(2000))
  })
  await assert.rejects(collect('/', { limits: { wholeMs: 200 } }), { code: 'upstream_timeout' })
  await assert.rejects(collect('/', { limits: { maxBytes: 1999 } }), { code: 'upstream_body_too_large' })
})

test('after GOAWAY a connection gets no new calls, and those in flight complete', async (t) => {
  const { answer, streamOf, reply } = holding()
  const { upstream, egress, collect } = await start(t, answer)
  const first = collect('/first')
  const { session } = await streamOf('/first')
  session?.close()
  await sleep(50)
  const second = collect('/second')
  await reply('/second')
  assert.equal((await second).body.toString(), '/second')
  await reply('/first')
  assert.equal((await first).body.toString(), '/first')
  assert.equal(upstream.connections(), 2)
  assert.deepEqual(egress.size().pools, 1)
})

for (const method of ['GET', 'POST']) {
  test(`${method} that was refused after it was sent is not retried`, async (t) => {
    const refusals: Record<string, (stream: ServerHttp2Stream) => void> = {
      refused: (stream) => {
        stream.close(constants.NGHTTP2_REFUSED_STREAM)
      },
      untaken: (stream) => {
        stream.session?.goaway(0, (stream.id ?? 1) - 2)
      },
      broken: (stream) => {
        stream.session?.destroy()
      },
      cut: (stream) => {
        stream.session?.socket.destroy()
      },
    }
    for (const [how, refuse] of Object.entries(refusals)) {
      const { upstream, collect } = await start(t, (stream, headers) => {
        if (headers[':path'] === '/') refuse(stream)
        else stream.respond({ ':status': 204 }, { endStream: true })
      })
      await collect('/first')
      const body = method === 'POST' ? Buffer.from('hello') : undefined
      await assert.rejects(collect('/', { method, body }), { code: 'upstream_unreachable' }, how)
      await sleep(50)
      assert.deepEqual(upstream.requests, ['GET /first', `${method} /`], how)
    }
  })
}

test('invalid responses are refused, and the connection stays usable', async (t) => {
  const { upstream, collect } = await start(t, (stream, headers) => {
    const path = headers[':path']
    if (path === '/short') {
      stream.respond({ ':status': 200, 'content-length': 9 })
      stream.write('hello')
      setTimeout(() => {
        stream.close()
      }, 20)
    } else if (path === '/reset') {
      stream.respond({ ':status': 200 })
      stream.write('hello')
      setTimeout(() => {
        stream.destroy(new Error('in the middle'))
      }, 20)
    } else if (path === '/flood') {
      for (let times = 0; times < 17; times++) stream.additionalHeaders({ ':status': 103 })
      stream.respond({ ':status': 200 })
      stream.end('hello')
    } else if (path === '/long') {
      stream.respond({ ':status': 200, 'x-a': 'x'.repeat(20_000), 'x-b': 'x'.repeat(20_000) })
      stream.end('hello')
    } else {
      stream.additionalHeaders({ ':status': 103, link: '</x>' })
      stream.respond({ ':status': 200 })
      stream.end('hello')
    }
  })
  for (const [path, code] of Object.entries({
    '/short': 'upstream_unreachable',
    '/reset': 'upstream_unreachable',
    '/flood': 'upstream_unreachable',
    '/long': 'upstream_body_too_large',
  })) {
    await assert.rejects(collect(path), { code }, path)
    const { headers, body } = await collect('/')
    assert.deepEqual([headers.some(([name]) => name === 'link'), body.toString()], [false, 'hello'])
  }
  assert.equal(upstream.connections(), 1)
})

const frame = (type: number, flags: number, stream: number, payload: string) =>
  Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream]), Buffer.from(payload, 'latin1')])
const headersFrame = frame(1, 4, 1, '\x88')
const helloFrame = frame(0, 0, 1, 'hello')
const lastFrame = frame(0, 1, 1, 'hello')

/** Sends these frames, one list per connection, to the first call on it. */
async function startRawHttp2(t: TestContext, ...answers: Buffer[][]) {
  const server = createServer({ ...certificate, ALPNProtocols: ['h2'] }, (socket) => {
    socket.write(frame(4, 0, 0, ''))
    socket.once('data', () => setTimeout(() => socket.write(Buffer.concat(answers.shift() ?? [])), 100))
  })
  const { port } = await listen(t, server)
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const url = new URL(`https://api.example:${port}/`)
  return (pool: string) =>
    egress.collect({ url, method: 'GET', headers: [], body: undefined, suppliedBy: 'operator', pool })
}

test('a session is not reused after a protocol error, even before its socket closes', async (t) => {
  // DATA before HEADERS is a protocol error: the session cannot be trusted any more.
  const call = await startRawHttp2(t, [helloFrame], [headersFrame, lastFrame])
  await assert.rejects(call('one'), { code: 'upstream_unreachable' })
  assert.equal((await call('one')).body.toString(), 'hello')
})

test('a response that is reset early is never taken for complete, whatever the reset code', async (t) => {
  const resets = [0, 1, 2, 5, 8].map((code) => frame(3, 0, 1, `\0\0\0${String.fromCharCode(code)}`))
  for (const reset of resets) {
    const cut = [
      [headersFrame, helloFrame, reset],
      [headersFrame, reset],
    ]
    const call = await startRawHttp2(t, ...cut, [headersFrame, lastFrame, frame(3, 0, 1, '\0\0\0\0')])
    for (const pool of ['one', 'two']) await assert.rejects(call(pool), { code: 'upstream_unreachable' })
    assert.equal((await call('three')).body.toString(), 'hello')
  }
})

test('a response that is read slowly arrives completely', async (t) => {
  const { egress, call } = await start(t, (stream) => {
    stream.respond({ ':status': 200 })
    stream.end('x'.repeat(5_000_000))
  })
  const { body } = await egress.request(call())
  let bytes = 0
  for await (const chunk of body) {
    if (bytes < 200_000) await sleep(50)
    bytes += (chunk as Buffer).length
  }
  assert.equal(bytes, 5_000_000)
})

test('a disallowed address is refused before connecting', async (t) => {
  const { upstream, call } = await start(t)
  const egress = testEgress(t, { allow: [] })
  await assert.rejects(egress.collect(call()), { code: 'address_not_allowed' })
  await assert.rejects(egress.request(call()), { code: 'address_not_allowed' })
  assert.equal(upstream.connections(), 0)
})
