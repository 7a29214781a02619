/** Uploads of any length through the SDK's `fetch`, in bounded memory on both sides. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openAsBlob } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createAgentClient } from '@sallyport/sdk'
import { residentBytes } from './resident-bytes.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { startToldUpstream } from './sdk-upstream.ts'

const mebibyte = 1024 * 1024
const chunk = Buffer.alloc(mebibyte, 'sallyport ')
/** Of Node, TLS and its buffers; a body that is kept would take at least its length. */
const allowedGrowth = 200 * mebibyte
const mebibytes = process.env['TEST_LONG_FORM'] === '1' ? 1024 : 400

const isLinux = process.platform === 'linux'

interface Measured {
  bytes: number
  announced: string | null
  type: string
  hash: string
  status?: number
}

describe('an upload through the SDK', () => {
  let calling: Calling
  let url: (path: string) => string
  let proxied: typeof globalThis.fetch
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    const upstream = await startToldUpstream(scope, {
      '/measure': async (request, response) => {
        const hash = createHash('sha256')
        let bytes = 0
        request.on('data', (part: Buffer) => {
          bytes += part.length
          hash.update(part)
        })
        if (!(await once(request, 'end').catch(() => undefined))) return
        const { 'content-length': announced = null, 'content-type': type = null } = request.headers
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ bytes, announced, type, hash: hash.digest('hex') }))
      },
      '/refuse': (_request, response) => response.writeHead(413).end('too long'),
      '/moved': (request, response) => {
        request.resume().on('end', () => response.writeHead(307, { location: '/measure' }).end())
      },
    })
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host] })
    const agent = createAgentClient({ baseUrl: `http://localhost:${calling.service.port}`, token: calling.agent.token })
    proxied = agent.fetch(calling.grantId)
    url = (path) => `https://${upstream.host}${path}`
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  const headers = { 'content-type': 'application/octet-stream' }
  const streamOf = (length: number, onPull: (sent: number) => void = () => undefined) => {
    let sent = 0
    return new ReadableStream<Uint8Array>({
      pull: (controller) => {
        onPull(sent)
        if (sent++ < length) controller.enqueue(new Uint8Array(chunk))
        else controller.close()
      },
    })
  }
  const post = (path: string, body: NonNullable<RequestInit['body']>, more: object = {}) =>
    proxied(url(path), { method: 'POST', headers, body, duplex: 'half', ...more })

  test(
    `of ${mebibytes} MiB takes bounded memory in the agent and in the service`,
    { skip: !isLinux && 'needs /proc' },
    async () => {
      await (await post('/measure', streamOf(8))).arrayBuffer()
      const before = residentBytes(calling.service.pid)
      let most = before
      const timer = setInterval(() => (most = Math.max(most, residentBytes(calling.service.pid))), 50)
      // In a process of its own: here is the upstream too.
      const options = { baseUrl: `http://localhost:${calling.service.port}`, token: calling.agent.token }
      const agent = fork(new URL('upload-agent.ts', import.meta.url))
      agent.send({ options, grantId: calling.grantId, url: url('/measure'), mebibytes })
      const [{ answer, grown }] = (await once(agent, 'message')) as [{ answer: { bytes: number }; grown: number }]
      clearInterval(timer)
      assert.equal(answer.bytes, mebibytes * mebibyte)
      assert.ok(grown < allowedGrowth, `the agent grew by ${grown} bytes`)
      assert.ok(most - before < allowedGrowth, `the service grew by ${most - before} bytes`)
    },
  )

  test('arrives as it was sent: streams, blobs, files and forms, short and long', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-upload-'))
    endings.push(() => rm(folder, { recursive: true }))
    for (const length of [1, 9]) {
      const bytes = Buffer.concat(Array<Buffer>(length).fill(chunk))
      const hash = createHash('sha256').update(bytes).digest('hex')
      const path = join(folder, `${length}`)
      await writeFile(path, bytes)
      const bodies: [string, NonNullable<RequestInit['body']>, string | null][] = [
        ['stream', streamOf(length), length === 1 ? String(mebibyte) : null],
        ['blob', new Blob([bytes]), String(bytes.length)],
        ['file', await openAsBlob(path), String(bytes.length)],
        ['bytes', bytes, length === 1 ? String(mebibyte) : null],
      ]
      for (const [name, body, announced] of bodies) {
        const { status, ...seen } = (await (await post('/measure', body)).json()) as Measured
        assert.equal(status, undefined)
        const type = 'application/octet-stream'
        assert.deepEqual(seen, { bytes: bytes.length, hash, announced, type }, `${name} of ${length} MiB`)
      }
    }
    const form = new FormData()
    form.set('file', new Blob([Buffer.alloc(9 * mebibyte)]), 'a.bin')
    const response = await proxied(url('/measure'), { method: 'POST', body: form })
    const { bytes, type } = (await response.json()) as Measured
    assert.ok(bytes > 9 * mebibyte && /^multipart\/form-data; boundary=/.test(type))
  })

  test('that is refused, or answered early, says so', async () => {
    const early = await post('/refuse', streamOf(64))
    assert.deepEqual([early.status, await early.text()], [413, 'too long'])
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const refused = await post('/measure', streamOf(64), { headers: form })
    assert.deepEqual([refused.status, refused.headers.get('x-sallyport-error')], [413, 'body_not_inspectable'])
    const elsewhere = await proxied('https://elsewhere.example/', {
      method: 'POST',
      headers,
      body: new Blob([Buffer.alloc(9 * mebibyte)]),
    })
    assert.deepEqual([elsewhere.status, elsewhere.headers.get('x-sallyport-error')], [403, 'host_not_allowed'])
  })

  test('is sent again to where a 307 leads, unless it is a long stream', async () => {
    const again = await post('/moved', new Blob([Buffer.alloc(9 * mebibyte)]))
    assert.equal(((await again.json()) as Measured).bytes, 9 * mebibyte)
    await assert.rejects(post('/moved', streamOf(9)), /can be sent only once/)
  })

  test('ends when the caller aborts it', async () => {
    const ending = new AbortController()
    const endless = streamOf(100_000, (sent) => {
      if (sent === 20) ending.abort(new Error('enough'))
    })
    await assert.rejects(post('/measure', endless, { signal: ending.signal }), /enough/)
  })
})
