/** Hosts that never finish or send too much. The error code shows which limit ended the call. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { freePort } from '../../../testkit/ports.ts'
import { listen, startRawTls, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import type { Egress } from './egress.ts'
import type { EgressLimits } from './exchange.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

const open = (t: TestContext) => testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })

/** Far longer than any test takes, so that this timeout never ends a call. */
const patient: Partial<EgressLimits> = { connectMs: 9000, firstByteMs: 60_000, wholeMs: 60_000, maxBytes: 1_048_576 }

function fetchFrom(egress: Egress, { port }: { port: number }, limits: Partial<EgressLimits>): Promise<Response> {
  return egress.fetch('operator', { ...patient, ...limits })(`https://api.example:${port}/?token=hush`)
}

function requestFrom(egress: Egress, { port }: { port: number }, limits: Partial<EgressLimits>, signal?: AbortSignal) {
  return egress.request({
    ...{ url: new URL(`https://api.example:${port}/`), method: 'GET', headers: [], body: undefined },
    ...{ suppliedBy: 'operator', limits: { ...patient, ...limits }, ...(signal ? { signal } : {}) },
  })
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const chunk of body) bytes += chunk.length
  return bytes
}

test('a silent name server runs into the connect timeout', async (t) => {
  const egress = testEgress(t, { allow: [], lookup: () => new Promise(() => undefined) })
  await assert.rejects(fetchFrom(egress, { port: 443 }, { connectMs: 50 }), { code: 'upstream_timeout' })
})

test('a host that never starts TLS runs into the connect timeout', async (t) => {
  const silent = await listen(
    t,
    createServer((socket) => socket.resume()),
  )
  const egress = open(t)
  await assert.rejects(fetchFrom(egress, silent, { connectMs: 100 }), {
    code: 'upstream_timeout',
    detail: `api.example:${silent.port}: no connection in time`,
  })
  await egress.close()
  await silent.allClosed()
})

test('a host that never responds runs into the first-byte timeout, and the socket is released', async (t) => {
  const silent = await startTlsUpstream(t, certificate, () => undefined)
  await assert.rejects(fetchFrom(open(t), silent, { firstByteMs: 100 }), {
    code: 'upstream_timeout',
    detail: `api.example:${silent.port}: no answer in time`,
  })
  await silent.allClosed()
})

test('interim (1xx) responses do not count as the first byte', async (t) => {
  const upstream = await startRawTls(t, certificate, (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20)
    socket.on('close', () => {
      clearInterval(timer)
    })
  })
  await assert.rejects(fetchFrom(open(t), upstream, { firstByteMs: 150 }), { code: 'upstream_timeout' })
  await upstream.allClosed()
})

test('a body that trickles in runs into the total timeout', async (t) => {
  const trickling: RequestListener = (_request, response) => {
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => {
      clearInterval(timer)
    })
  }
  const upstream = await startTlsUpstream(t, certificate, trickling)
  const egress = open(t)
  await assert.rejects(fetchFrom(egress, upstream, { wholeMs: 200 }), {
    code: 'upstream_timeout',
    detail: `api.example:${upstream.port}: no end in time`,
  })
  const { status, body } = await requestFrom(egress, upstream, { wholeMs: 1500 })
  assert.equal(status, 200)
  await assert.rejects(readAll(body), { code: 'upstream_timeout' })
  await upstream.allClosed()
})

test('a response that is not read runs into the total timeout too', async (t) => {
  const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
    response.write('x')
  })
  const { body } = await requestFrom(open(t), upstream, { wholeMs: 1500 })
  await upstream.allClosed()
  await sleep(1)
  await assert.rejects(readAll(body), { code: 'upstream_timeout' })
})

test('a body that is too large is refused, with and without content-length', async (t) => {
  const sized = await startTlsUpstream(t, certificate, (_request, response) => {
    response.setHeader('content-length', 1_000_000).write('x'.repeat(2000))
  })
  const endless = await startTlsUpstream(t, certificate, (_request, response) => {
    response.write('x'.repeat(2000))
  })
  const egress = open(t)
  for (const upstream of [sized, endless]) {
    await assert.rejects(fetchFrom(egress, upstream, { maxBytes: 1999 }), { code: 'upstream_body_too_large' })
    const { body } = await requestFrom(egress, upstream, { maxBytes: 1999 })
    await assert.rejects(readAll(body), { code: 'upstream_body_too_large' })
    await upstream.allClosed()
  }
  const exact = await startTlsUpstream(t, certificate, (_request, response) => {
    response.end('x'.repeat(2000))
  })
  assert.equal((await (await fetchFrom(egress, exact, { maxBytes: 2000 })).text()).length, 2000)
})

test('a compression bomb is stopped during decoding, in error responses too', async (t) => {
  const zeros = Buffer.alloc(32 * 1_048_576)
  const gzip = gzipSync(zeros)
  const bombs: Record<string, Buffer> = {
    ...{ gzip, 'x-gzip': gzip, deflate: deflateSync(zeros), zstd: zstdCompressSync(zeros) },
    ...{
      br: brotliCompressSync(zeros),
      'gzip, gzip': gzipSync(gzip),
      'deflate, br': brotliCompressSync(deflateSync(zeros)),
    },
  }
  const egress = open(t)
  for (const [encoding, bomb] of Object.entries(bombs)) {
    for (const status of [200, 400]) {
      // The body never ends, so a client that decodes only at the end would hang.
      const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
        response.writeHead(status, { 'content-encoding': encoding }).write(bomb)
      })
      const call = fetchFrom(egress, upstream, {})
      await assert.rejects(call, { code: 'upstream_body_too_large' }, `${encoding} ${status}`)
      await upstream.allClosed()
    }
  }
})

test('corrupt, unknown and excessively nested encodings are refused', async (t) => {
  const cut = gzipSync('hello').subarray(0, -6)
  const answers: [string, Buffer][] = [
    ['gzip', Buffer.from('not gzip')],
    ['gzip', cut],
    ['deflate', Buffer.from('not deflate')],
    ['br', Buffer.from('not brotli')],
    ['br', brotliCompressSync('hello').subarray(0, -2)],
    ['zstd', Buffer.from('not zstd')],
    ['zstd', zstdCompressSync('hello').subarray(0, -2)],
    ['gzip, br', brotliCompressSync('not gzip')],
    ['compress', Buffer.from('x')],
    ['gzip, constructor', gzipSync('x')],
    ['gzip, gzip, gzip', gzipSync(gzipSync(gzipSync('x')))],
  ]
  for (const [encoding, body] of answers) {
    const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
      response.setHeader('content-encoding', encoding).end(body)
    })
    await assert.rejects(fetchFrom(open(t), upstream, {}), { code: 'upstream_encoding_unsupported' }, encoding)
  }
})

test('endless response headers are refused', async (t) => {
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write(`x-pad: ${'x'.repeat(8000)}\r\n`), 5)
    socket.on('close', () => {
      clearInterval(timer)
    })
  })
  await assert.rejects(fetchFrom(open(t), upstream, {}), { code: 'upstream_body_too_large' })
  await upstream.allClosed()
})

test('a response that is not HTTP, is cut off or no Response can represent is refused', async (t) => {
  const answers = [
    'SSH-2.0-OpenSSH_9.2\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
    'HTTP/1.1 999 Denied\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    '',
  ]
  for (const answer of answers) {
    const upstream = await startRawTls(t, certificate, (socket) => {
      socket.once('data', () => socket.end(answer))
    })
    await assert.rejects(fetchFrom(open(t), upstream, {}), { code: 'upstream_unreachable' }, answer)
  }
})

test('an abort before or while connecting or reading releases the socket', async (t) => {
  const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
    response.write('x')
  })
  const egress = open(t)
  const gone = new Error('the caller is gone')
  await assert.rejects(requestFrom(egress, upstream, {}, AbortSignal.abort(gone)), gone)
  assert.equal(upstream.connections(), 0)
  const early = new AbortController()
  const connecting = requestFrom(egress, upstream, {}, early.signal)
  early.abort(gone)
  await assert.rejects(connecting, gone)
  const late = new AbortController()
  const { body } = await requestFrom(egress, upstream, {}, late.signal)
  late.abort(gone)
  await assert.rejects(readAll(body), gone)
  for await (const chunk of (await requestFrom(egress, upstream, {})).body) {
    assert.equal(chunk.length, 1)
    break
  }
  await egress.close()
  await upstream.allClosed()
  assert.ok(upstream.requests.length <= 2, 'a call that was given up while connecting was still sent')
})

test('a reader that stops early does not affect the next call of the pool', async (t) => {
  const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
    response.end('x'.repeat(500_000))
  })
  const egress = open(t)
  for (let times = 0; times < 5; times++) {
    for await (const chunk of (await requestFrom(egress, upstream, {})).body) {
      assert.ok(chunk.length > 0)
      break
    }
    assert.equal(await readAll((await requestFrom(egress, upstream, {})).body), 500_000)
  }
})

test('no error contains the query, headers or body that were sent', async (t) => {
  const silent = await startTlsUpstream(t, certificate, () => undefined)
  const reset = await startTlsUpstream(t, certificate, (request) => {
    request.socket.destroy()
  })
  const untrusted = testEgress(t, { allow: ['127.0.0.1'] })
  // The parser's own error quotes what it could not read.
  const echo = await startRawTls(t, certificate, (socket) => {
    socket.on('data', (request) => socket.write(request))
  })
  const closed = { port: await freePort() }
  const egress = open(t)
  const calls: [Egress, { port: number }, string][] = [
    [egress, silent, 'upstream_timeout'],
    [egress, reset, 'upstream_unreachable'],
    [egress, echo, 'upstream_unreachable'],
    [egress, closed, 'upstream_unreachable'],
    [untrusted, silent, 'upstream_tls_error'],
    [testEgress(t, { allow: [] }), silent, 'address_not_allowed'],
  ]
  for (const [one, { port }, code] of calls) {
    const init = { method: 'POST', headers: { authorization: 'Bearer hush' }, body: 'hush' }
    const call = one.fetch('operator', { firstByteMs: 300 })(`https://api.example:${port}/hush?token=hush`, init)
    const error = await call.then(
      () => assert.fail('it was answered'),
      (thrown: unknown) => thrown,
    )
    assert.equal((error as { code: string }).code, code)
    assert.ok(!inspect(error, { depth: null, showHidden: true }).includes('hush'), inspect(error))
  }
})

test('a body that arrives byte by byte takes no more memory', async (t) => {
  const pieces = 1_000_000
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(pieces)}0\r\n\r\n`)
    })
  })
  let heaviest = 0
  const before = process.memoryUsage().heapUsed
  const weighing = setInterval(() => (heaviest = Math.max(heaviest, process.memoryUsage().heapUsed - before)), 5)
  t.after(() => {
    clearInterval(weighing)
  })
  const { body } = await open(t).collect({
    ...{ url: new URL(`https://api.example:${upstream.port}/`), method: 'GET', headers: [], body: undefined },
    ...{ suppliedBy: 'operator', limits: { ...patient, maxBytes: pieces } },
  })
  assert.equal(body.toString(), 'x'.repeat(pieces))
  assert.ok(heaviest < 60 * pieces, `${heaviest} bytes`)
})
