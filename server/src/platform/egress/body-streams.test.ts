/** Request bodies that are read as they are sent. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { listen, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import { ServiceError } from '../errors.ts'
import type { BodyStream, EgressLimits } from './exchange.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

interface Arrived {
  bytes: number
  hash: string
  announced: string | undefined
  isComplete: boolean
}

/** Paths: `/early` is answered at the first byte, `/deaf` is never read. */
async function start(t: TestContext) {
  const arrived: Arrived[] = []
  const answer: RequestListener = (request, response) => {
    const hash = createHash('sha256')
    let bytes = 0
    let isComplete = false
    request.on('error', () => undefined)
    if (request.url === '/deaf') return
    request.on('data', (chunk: Buffer) => {
      if (request.url === '/early' && bytes === 0) response.writeHead(413).end('too long')
      bytes += chunk.length
      hash.update(chunk)
    })
    request.on('end', () => {
      isComplete = true
      if (request.url !== '/early') response.end('thanks')
    })
    const isOver = () => {
      const announced = request.headers['content-length']
      arrived.push({ bytes, hash: hash.digest('hex'), announced, isComplete })
    }
    // Node reports no end of a request that was answered before.
    if (request.url === '/early') request.socket.on('close', isOver)
    else request.on('close', isOver)
  }
  const { port } = await startTlsUpstream(t, certificate, answer)
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  const send = (path: string, bodyStream: BodyStream, limits: Partial<EgressLimits> = {}, signal?: AbortSignal) =>
    egress.collect({
      ...{ url: new URL(`https://api.example:${port}${path}`), method: 'POST', headers: [], limits },
      ...{ suppliedBy: 'operator', pool: 'one', body: undefined, bodyStream, ...(signal && { signal }) },
    })
  const arrivedAs = async (index: number): Promise<Arrived> => {
    for (let times = 0; times < 500 && arrived.length <= index; times++) await sleep(10)
    return arrived[index] ?? assert.fail('the request never ended')
  }
  return { send, arrivedAs }
}

const streamOf = (chunks: AsyncIterable<Buffer>, more: Partial<BodyStream> = {}): BodyStream => ({
  ...{ chunks, length: undefined, idleMs: 5000, ...more },
})

/** Different bytes at each place. */
async function* numbered(chunks: number, size = 65_536): AsyncGenerator<Buffer> {
  for (let index = 0; index < chunks; index++) {
    yield Buffer.alloc(size, index)
    if (index % 16 === 0) await sleep(1)
  }
}

const failsWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('a body of any length arrives as it was sent', async (t) => {
  const { send, arrivedAs } = await start(t)
  const hash = createHash('sha256')
  for await (const chunk of numbered(300)) hash.update(chunk)
  const length = 300 * 65_536
  const answer = await send('/', streamOf(numbered(300), { length }))
  assert.equal(answer.body.toString(), 'thanks')
  assert.deepEqual(await arrivedAs(0), {
    ...{ bytes: length, hash: hash.digest('hex'), announced: String(length), isComplete: true },
  })
  await send('/', streamOf(numbered(2, 10)))
  const { bytes, announced } = await arrivedAs(1)
  assert.deepEqual([bytes, announced], [20, undefined])
  await send('/', streamOf(numbered(0)))
  assert.equal((await arrivedAs(2)).bytes, 0)
})

test('a source that fails leaves no complete request, and is not read again', async (t) => {
  const { send, arrivedAs } = await start(t)
  let reads = 0
  const failing = async function* () {
    reads++
    yield* numbered(3)
    await sleep(50)
    throw new ServiceError('request_timeout')
  }
  await assert.rejects(send('/', streamOf(failing())), failsWith('request_timeout'))
  assert.deepEqual([(await arrivedAs(0)).isComplete, reads], [false, 1])
  const gone = new AbortController()
  const aborting = async function* () {
    yield* numbered(3)
    gone.abort(new Error('gone'))
    yield* numbered(3)
  }
  await assert.rejects(send('/', streamOf(aborting()), {}, gone.signal), /gone/)
  assert.equal((await arrivedAs(1)).isComplete, false)
  assert.equal((await send('/', streamOf(numbered(1)))).status, 200)
})

test('an answer before the end of the body is passed on, and ends the request', async (t) => {
  const { send, arrivedAs } = await start(t)
  let isEndless = true
  const endless = async function* () {
    while (isEndless) yield* numbered(1)
  }
  const answer = await send('/early', streamOf(endless()))
  isEndless = false
  assert.deepEqual([answer.status, answer.body.toString()], [413, 'too long'])
  assert.equal((await arrivedAs(0)).isComplete, false)
})

test('an upstream that stops reading is given up; time-outs begin at the end of the body', async (t) => {
  const { send } = await start(t)
  const deaf = send('/deaf', streamOf(numbered(10_000), { idleMs: 200 }))
  await assert.rejects(deaf, failsWith('upstream_timeout'))
  const slow = async function* () {
    for (let index = 0; index < 5; index++) {
      await sleep(100)
      yield Buffer.from('x')
    }
  }
  const limits = { firstByteMs: 250, wholeMs: 250 }
  assert.equal((await send('/', streamOf(slow(), { idleMs: 200 }), limits)).status, 200)
  const unanswered = send('/deaf', streamOf(numbered(1, 10)), limits)
  await assert.rejects(unanswered, failsWith('upstream_timeout'))
})

test('an upstream that offers HTTP/2 gets it over HTTP/1.1, where a body that is cut off never looks complete', async (t) => {
  const versions: string[] = []
  const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    request.on('end', () => response.end('thanks')).resume()
  })
  const { port } = await listen(t, server)
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  for (const [body, bodyStream] of [[undefined], [Buffer.from('whole')], [undefined, streamOf(numbered(1))]] as const) {
    const url = new URL(`https://api.example:${port}/`)
    await egress.collect({ url, method: 'POST', headers: [], suppliedBy: 'operator', pool: 'one', body, bodyStream })
  }
  assert.deepEqual(versions, ['2.0', '2.0', '1.1'])
})
