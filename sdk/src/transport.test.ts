/** Requests to the service and its responses, with a server that the test controls. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAgentClient } from './agent/client.ts'
import { SallyportError } from './errors.ts'
import { createTransport } from './transport.ts'
import type { ClientOptions } from './transport.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

/** Sends these responses in order, then repeats the last one. */
async function serve(t: TestContext, ...answers: Answer[]) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1]?.(response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = (options: Partial<ClientOptions> = {}, token?: string) =>
    createTransport({ baseUrl, ...options }, token)
  return { baseUrl, requests, transport }
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Answer => {
  return (response) => response.writeHead(status, headers).end(JSON.stringify(value))
}
const refusal = (code: string, status: number, more: object = {}, headers: Record<string, string> = {}) =>
  json({ error: { code, message: 'no', retryable: false, request_id: 'req_1', ...more } }, status, headers)
const busy = refusal('rate_limited', 429, { retryable: true }, { 'retry-after': '0' })
const get = { method: 'GET' as const, path: '/v4/x' }
const post = { method: 'POST' as const, path: '/v4/x', body: {} }

async function failure(work: Promise<unknown>): Promise<SallyportError> {
  const error: unknown = await work.catch((reason: unknown) => reason)
  assert.ok(error instanceof SallyportError, String(error))
  return error
}

test('a call has its credential, query and body, and no empty parameters', async (t) => {
  const { requests, transport } = await serve(t, json({ ok: true }))
  const query = { status: 'active', cursor: undefined, provider: 'a&b=ü' }
  assert.deepEqual(await transport({}, 'token').json({ ...get, query }), { ok: true })
  await transport().json({ ...post, body: { a: undefined, b: 'ü' } })
  assert.equal(requests[0]?.url, '/v4/x?status=active&provider=a%26b%3D%C3%BC')
  assert.equal(requests[0].headers.authorization, 'Bearer token')
  assert.equal(requests[0].headers['content-type'], undefined)
  assert.equal(requests[1]?.headers.authorization, undefined)
  assert.equal(requests[1]?.headers['content-type'], 'application/json')
})

test('a base URL may have a path and a trailing slash', async (t) => {
  const { baseUrl, requests } = await serve(t, json({}))
  await createTransport({ baseUrl: `${baseUrl}/behind/` }).json(get)
  assert.equal(requests[0]?.url, '/behind/v4/x')
  for (const wrong of ['localhost', 'ftp://a', 'https://', 'https://a/?b', 'https://a#b', 'javascript:alert(1)']) {
    assert.throws(() => createTransport({ baseUrl: wrong }), TypeError, wrong)
  }
})

test("an error has all members of the service's error", async (t) => {
  const wanted = { provider: 'acme', hosts: ['a'], methods: ['GET'] }
  const more = { field: 'url', access_request: wanted, upstream_status: 401 }
  const { transport } = await serve(t, refusal('host_not_allowed', 403, more))
  const error = await failure(transport().json(get))
  const { name, code, message, status, retryable, requestId, field, retryAfterSeconds, accessRequest, upstreamStatus } =
    error
  assert.deepEqual([name, code, message, status], ['SallyportError', 'host_not_allowed', 'no', 403])
  assert.deepEqual([retryable, requestId, field, retryAfterSeconds], [false, 'req_1', 'url', undefined])
  assert.deepEqual([accessRequest, upstreamStatus], [wanted, 401])
})

test("a response that is not the service's is unexpected, whatever its status", async (t) => {
  const answers: [number, Answer][] = [
    [502, (response) => response.writeHead(502).end('<html>Bad Gateway')],
    [404, json({ error: 'not found' }, 404)],
    [200, (response) => response.end('<html>Welcome')],
    [200, json('text')],
    [200, (response) => response.end()],
    [302, (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ]
  for (const [status, answer] of answers) {
    const { requests, transport } = await serve(t, answer)
    const error = await failure(transport({ retries: 0 }).json(get))
    assert.deepEqual([error.code, error.status, error.retryable], ['unexpected_answer', status, status === 502])
    assert.equal(requests.length, 1)
  }
})

test('a rate-limited call waits for Retry-After, repeatedly, and is made once', async (t) => {
  const upstream: Answer = (response) => response.writeHead(200, { 'x-sallyport-upstream': '1' }).end('{"status":200}')
  const { baseUrl, requests } = await serve(t, busy, busy, busy, busy, upstream)
  const agent = createAgentClient({ baseUrl, token: 'x' })
  const response = await agent.fetch('grt_1')('https://api.example/', { method: 'POST', body: 'hello' })
  assert.deepEqual([response.status, requests.length], [200, 5])
  await agent.proxy({ grant_id: 'grt_1', method: 'POST', url: 'https://api.example/' })
  assert.equal(requests.length, 6)
})

test('a call waits no longer than its timeout, and not at all if the caller handles 429', async (t) => {
  const later = refusal('rate_limited', 429, { retryable: true }, { 'retry-after': '7' })
  const { baseUrl, requests } = await serve(t, later)
  const count = () => requests.length
  const fetchOf = (retries: number, timeoutMs: number) =>
    createAgentClient({ baseUrl, token: 'x', retries }).fetch('grt_1', { timeoutMs })
  for (const fetch of [fetchOf(2, 6000), fetchOf(0, 60_000)]) {
    const { status, headers } = await fetch('https://api.example/')
    const said = [headers.get('retry-after'), headers.get('x-sallyport-error'), headers.get('x-should-retry')]
    assert.deepEqual([status, ...said], [429, '7', 'rate_limited', null])
  }
  assert.equal(count(), 2)
  const stop = new AbortController()
  const waiting = fetchOf(2, 60_000)('https://api.example/', { signal: stop.signal })
  const stopped = assert.rejects(waiting, { name: 'AbortError' })
  while (count() < 3) await sleep(5)
  stop.abort()
  await stopped
  assert.equal(count(), 3)
})

test('no other error is retried, as the call may have happened', async (t) => {
  for (const [code, status] of [
    ['not_ready', 503],
    ['upstream_timeout', 504],
    ['conflict', 409],
  ] as const) {
    const { baseUrl, requests } = await serve(t, refusal(code, status, { retryable: true }, { 'retry-after': '0' }))
    const response = await createAgentClient({ baseUrl, token: 'x' }).fetch('grt_1')('https://api.example/')
    assert.deepEqual([response.status, requests.length], [status, 1])
  }
})

test('an endless response is cut off', async (t) => {
  const endless: Answer = (response) => {
    response.statusCode = 500
    const more = () => {
      while (response.write(Buffer.alloc(1_048_576, ' '))) continue
    }
    response.on('drain', more)
    more()
  }
  const { transport } = await serve(t, endless)
  const error = await failure(transport().json(get))
  assert.deepEqual([error.code, error.message], ['unexpected_answer', 'The response is too large.'])
})

test('a lost connection is no_answer, and a silent service a timeout', async (t) => {
  const { transport } = await serve(t, () => undefined)
  const late = await failure(transport({ timeoutMs: 20, retries: 0 }).json(get))
  assert.deepEqual([late.code, late.retryable], ['timeout', true])
  const cut = await serve(t, (response) => response.destroy())
  const gone = await failure(cut.transport({ retries: 0 }).json(get))
  assert.deepEqual([gone.code, gone.retryable, gone.cause instanceof TypeError], ['no_answer', true, true])
})

test("an abort has the caller's reason, before, during and between attempts", async (t) => {
  const { requests, transport } = await serve(
    t,
    refusal('not_ready', 503, { retryable: true }, { 'retry-after': '15' }),
  )
  await assert.rejects(transport().json(get, { signal: AbortSignal.abort(new RangeError('mine')) }), RangeError)
  const calls = () => requests.length
  assert.equal(calls(), 0)
  const controller = new AbortController()
  const waiting = transport().json(get, { signal: controller.signal })
  while (calls() === 0) await new Promise(setImmediate)
  controller.abort(new RangeError('mine'))
  await assert.rejects(waiting, RangeError)
})

test('a GET is retried at most twice', async (t) => {
  const { requests, transport } = await serve(t, busy, busy, json({ at: 'last' }))
  assert.deepEqual(await transport().json(get), { at: 'last' })
  assert.equal(requests.length, 3)
  const always = await serve(t, busy)
  assert.equal((await failure(always.transport().json(get))).code, 'rate_limited')
  assert.equal(always.requests.length, 3)
  const never = await serve(t, busy)
  assert.equal((await failure(never.transport({ retries: 0 }).json(get))).retryAfterSeconds, 0)
  assert.equal(never.requests.length, 1)
})

test('permanent errors and long delays are not retried', async (t) => {
  const forGood = await serve(t, refusal('not_found', 404))
  await failure(forGood.transport().json(get))
  const forLong = await serve(t, refusal('rate_limited', 429, { retryable: true }, { 'retry-after': '3600' }))
  assert.equal((await failure(forLong.transport().json(get))).retryAfterSeconds, 3600)
  assert.deepEqual([forGood.requests.length, forLong.requests.length], [1, 1])
})

test('Retry-After may be a date', async (t) => {
  const later = new Date(Date.now() + 3_600_000).toUTCString()
  const { transport } = await serve(t, refusal('rate_limited', 429, { retryable: true }, { 'retry-after': later }))
  const seconds = (await failure(transport().json(get))).retryAfterSeconds ?? 0
  assert.ok(seconds > 3500 && seconds <= 3600, String(seconds))
})

test('a call that changes something is never retried', async (t) => {
  for (const answer of [busy, (response: ServerResponse) => response.destroy()]) {
    const { requests, transport } = await serve(t, answer)
    await failure(transport().json(post))
    assert.equal(requests.length, 1)
  }
})

test("a proxied call with an Idempotency-Key is retried, also to get the first one's result", async (t) => {
  const underWay = refusal('conflict', 409, { field: 'Idempotency-Key' }, { 'retry-after': '0' })
  const { baseUrl, requests } = await serve(t, (response) => response.destroy(), underWay, json({ status: 200 }))
  const agent = createAgentClient({ baseUrl, token: 'token' })
  const call = { grant_id: 'grt_1', method: 'POST', url: 'https://api.example' }
  assert.deepEqual(await agent.proxy(call, { idempotencyKey: 'key' }), { status: 200 })
  assert.deepEqual(
    requests.map(({ headers }) => headers['idempotency-key']),
    ['key', 'key', 'key'],
  )
  const plain = await serve(t, underWay)
  await failure(createAgentClient({ baseUrl: plain.baseUrl, token: 'token' }).proxy(call))
  assert.equal(plain.requests.length, 1)
})

test('a client does not show its token when printed', async (t) => {
  const { baseUrl } = await serve(t, json({}))
  const agent = createAgentClient({ baseUrl, token: 'sp_agent_secret' })
  const { inspect } = await import('node:util')
  assert.ok(!inspect(agent, { depth: 10, showHidden: true }).includes('secret'))
  assert.ok(!JSON.stringify(agent).includes('secret'))
})
