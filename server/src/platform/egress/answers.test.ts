/** Unusual, invalid and hostile responses over HTTP/1.1. Each server is real and writes raw bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { startRawTls } from '../../../testkit/tls-upstream.ts'
import type { EgressRequest } from './egress.ts'
import type { WholeAnswer } from './answers.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

const ok = 'HTTP/1.1 200 OK\r\n'
const length = 'content-length: 5\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`

/** Responds to the first request with these bytes, chunk by chunk, and disconnects. */
async function answerWith(t: TestContext, pieces: string[], more: Partial<EgressRequest> = {}): Promise<WholeAnswer> {
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.once('data', () => {
      for (const piece of pieces) socket.write(Buffer.from(piece, 'latin1'))
      socket.end()
    })
  })
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  try {
    return await egress.collect({
      ...{ url: new URL(`https://api.example:${upstream.port}/`), method: 'GET', headers: [], body: undefined },
      ...{ suppliedBy: 'operator', ...more },
    })
  } finally {
    await egress.close()
  }
}

async function takes(t: TestContext, bytes: string, expected: Partial<WholeAnswer>, more: Partial<EgressRequest> = {}) {
  const answer = await answerWith(t, [bytes], more)
  assert.equal(answer.body.toString(), expected.body?.toString() ?? 'hello', bytes)
  assert.equal(answer.status, expected.status ?? 200, bytes)
  if (expected.headers) assert.deepEqual(answer.headers, expected.headers, bytes)
  assert.deepEqual(answer.trailers, expected.trailers ?? [], bytes)
}

async function refuses(t: TestContext, code: string, ...answers: string[]): Promise<void> {
  for (const bytes of answers) await assert.rejects(answerWith(t, [bytes]), { code }, bytes.slice(0, 200))
}

test('a body ends by its content-length, its chunks or the end of the connection', async (t) => {
  await takes(t, `${ok}${length}\r\nhello`, { headers: [['content-length', '5']] })
  await takes(t, `${ok}\r\nhello`, { headers: [] })
  await takes(t, `HTTP/1.0 200 OK\r\n\r\nhello`, {})
  await takes(t, `${chunked}2;a=b;c="d"\r\nhe\r\n3\r\nllo\r\n0;x\r\n\r\n`, {})
  await takes(t, `HTTP/1.1 200\r\n${length}\r\nhello`, {})
  await takes(t, `HTTP/1.1 999 Denied\r\n${length}\r\nhello`, { status: 999 })
})

test('response headers keep case, order and repetition, and are read as Latin-1', async (t) => {
  await takes(t, `${ok}X-A: caf\xe9\r\nx-a: two\r\n__proto__: x\r\nContent-Length: 5\r\n\r\nhello`, {
    headers: [
      ['X-A', 'caf\xe9'],
      ['x-a', 'two'],
      ['__proto__', 'x'],
      ['Content-Length', '5'],
    ],
  })
})

test('trailers are read after the body, buffered or streamed', async (t) => {
  const bytes = `${chunked}5\r\nhello\r\n0\r\nX-T: one\r\nx-t: caf\xe9\r\n\r\n`
  const trailers: [string, string][] = [
    ['X-T', 'one'],
    ['x-t', 'caf\xe9'],
  ]
  await takes(t, bytes, { trailers })
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.once('data', () => socket.write(Buffer.from(bytes, 'latin1')))
  })
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const answer = await egress.request({
    ...{ url: new URL(`https://api.example:${upstream.port}/`), method: 'GET', headers: [], body: undefined },
    suppliedBy: 'operator',
  })
  assert.equal(Buffer.concat(await answer.body.toArray()).toString(), 'hello')
  assert.deepEqual(answer.trailers(), trailers)
})

test('a response without a body may have content-length and content-encoding', async (t) => {
  const body = Buffer.alloc(0)
  await takes(t, `${ok}${length}content-encoding: gzip\r\n\r\n`, { body }, { method: 'HEAD' })
  await takes(t, `HTTP/1.1 204 No Content\r\ncontent-encoding: gzip\r\n\r\n`, { body, status: 204 })
  await takes(t, `HTTP/1.1 304 Not Modified\r\n${length}\r\n`, { body, status: 304 })
})

test("the upstream's reason phrase is never passed on, as it could hold part of a secret", async (t) => {
  const { statusText } = await answerWith(t, [`HTTP/1.1 404 half-of-a-`, `secret\r\n${length}\r\nhello`])
  assert.equal(statusText, 'Not Found')
  assert.equal((await answerWith(t, [`HTTP/1.1 299 secret\r\n${length}\r\nhello`])).statusText, '')
})

test('interim (1xx) responses are skipped, up to a limit', async (t) => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'
  await takes(t, `HTTP/1.1 102 Processing\r\n\r\n${hints}${ok}${length}\r\nhello`, {
    headers: [['content-length', '5']],
  })
  await takes(t, `${hints.repeat(16)}${ok}${length}\r\nhello`, {})
  await refuses(t, 'upstream_unreachable', `${hints.repeat(17)}${ok}${length}\r\nhello`)
})

test('101 Switching Protocols and an unexpected 100 Continue are refused', async (t) => {
  const upgrade = 'connection: upgrade\r\nupgrade: x\r\n'
  await refuses(t, 'upstream_unreachable', `HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`)
  await refuses(t, 'upstream_unreachable', `HTTP/1.1 100 Continue\r\n\r\n${ok}${length}\r\nhello`)
  await takes(t, `${ok}${upgrade}${length}\r\nhello`, {})
})

test('headers and trailers are limited in number and size', async (t) => {
  const many = 'a: 1\r\n'.repeat(501)
  const long = `a: ${'x'.repeat(33_000)}\r\n`
  await refuses(t, 'upstream_body_too_large', `${ok}${many}${length}\r\nhello`, `${ok}${long}${length}\r\nhello`)
  const body = '5\r\nhello\r\n0\r\n'
  await refuses(t, 'upstream_body_too_large', `${chunked}${body}${many}\r\n`, `${chunked}${body}${long}\r\n`)
  await takes(t, `${ok}${'a: 1\r\n'.repeat(499)}${length}\r\nhello`, {})
})

test('a repeated, wrong or non-numeric content-length is refused', async (t) => {
  for (const told of [
    '5\r\ncontent-length: 5',
    '5\r\ncontent-length: 6',
    '5, 5',
    '+5',
    '-5',
    '0x5',
    '9',
    '9'.repeat(30),
  ]) {
    await refuses(t, 'upstream_unreachable', `${ok}content-length: ${told}\r\n\r\nhello`)
  }
  await refuses(t, 'upstream_unreachable', `${ok}${length}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
})

test('transfer codings other than chunked are refused', async (t) => {
  for (const coding of [
    'gzip, chunked',
    'chunked, identity',
    'xchunked',
    'gzip',
    'chunked\r\ntransfer-encoding: gzip',
  ]) {
    await refuses(
      t,
      'upstream_encoding_unsupported',
      `${ok}transfer-encoding: ${coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    )
  }
  await takes(t, `${ok}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`, {})
})

test('responses that parsers could read differently are refused', async (t) => {
  await refuses(
    t,
    'upstream_unreachable',
    'hello',
    `HTTP/1.1 200 OK\n${length}\nhello`,
    `HTTP/1.1 1000 X\r\n${length}\r\nhello`,
  )
  await refuses(t, 'upstream_unreachable', `HTTP/1.1 099 X\r\n${length}\r\nhello`)
  const lines = [
    'x-a: 1\nx-b: 2',
    'x-a: 1\rx-b: 2',
    'x-a: 1\0',
    'x-a: \x01',
    'x a: 1',
    ': 1',
    'xa',
    'x-a : 1',
    'x-a: 1\r\n 2',
  ]
  for (const line of lines) await refuses(t, 'upstream_unreachable', `${ok}${line}\r\n${length}\r\nhello`)
  for (const chunk of [
    '5;a\nhello',
    '5 \r\nhello',
    '5\r\nhelloX',
    'ffffffffffffffff5\r\nhello',
    '-5\r\nhello',
    '5\r\nhel',
  ]) {
    await refuses(t, 'upstream_unreachable', `${chunked}${chunk}\r\n0\r\n\r\n`)
  }
})

test('an unsolicited second response is discarded', async (t) => {
  const second = `${ok}content-length: 4\r\n\r\nevil`
  let requests = 0
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.on('data', () => {
      requests++
      socket.write(`${ok}${length}\r\nhello${second}`)
    })
  })
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const url = new URL(`https://api.example:${upstream.port}/`)
  for (let times = 0; times < 5; times++) {
    const call = { url, method: 'GET', headers: [], body: undefined, suppliedBy: 'operator', pool: 'one' } as const
    assert.equal((await egress.collect({ ...call, headers: [] })).body.toString(), 'hello')
  }
  assert.equal(requests, 5)
})

test('large response bodies are read in chunks, one per tick of the event loop', async (t) => {
  const mebibyte = 1024 ** 2
  const body = 'a'.repeat(8 * mebibyte)
  let bytes = 0
  let thisTurn = 0
  let most = 0
  let isOver = false
  const endTurn = () => {
    // The first chunk of each response is not limited.
    if (bytes > 2 * mebibyte) most = Math.max(most, thisTurn)
    thisTurn = 0
    if (!isOver) setImmediate(endTurn)
  }
  setImmediate(endTurn)
  const takeRoom = (more: number) => {
    bytes += more
    thisTurn += more
  }
  const limits = { maxBytes: body.length, takeRoom }
  const answers = [1, 2, 3].map(() => answerWith(t, [`${ok}content-length: ${body.length}\r\n\r\n${body}`], { limits }))
  for (const answer of await Promise.all(answers)) assert.equal(answer.body.length, body.length)
  isOver = true
  assert.ok(most <= mebibyte / 2, `${most} bytes in one turn`)
})
