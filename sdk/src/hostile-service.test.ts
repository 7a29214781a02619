/** Invalid responses of a service or a proxy before it, and invalid input of a caller. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { test } from 'node:test'
import { createAgentClient } from './agent/client.ts'
import { waitForGrant } from './agent/wait-for-grant.ts'
import { SallyportError } from './errors.ts'
import { verifyCallback } from './verify-callback.ts'
import type { AccessRequest } from './wire.ts'

type Answer = object | ((url: URL, init: RequestInit) => Promise<Response>)

/** Sends these responses in order, then repeats the last one. */
function agentOf(...answers: Answer[]) {
  const asked: URL[] = []
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    asked.push(new URL(input))
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    return typeof answer === 'function'
      ? (answer as (url: URL, init: RequestInit) => Promise<Response>)(asked.at(-1) as URL, init)
      : Response.json(answer)
  }
  return { agent: createAgentClient({ baseUrl: 'https://x.example', token: 'sp_agent_a', fetch }), asked }
}

const isUnexpected = (error: unknown) => error instanceof SallyportError && error.code === 'unexpected_answer'

test('a list whose cursor loops, or that is not a list, is an unexpected response', async () => {
  const back = agentOf(
    { grants: [], next_cursor: 'a' },
    { grants: [], next_cursor: 'b' },
    { grants: [], next_cursor: 'b' },
  )
  await assert.rejects(back.agent.grants().all(), isUnexpected)
  assert.equal(back.asked.length, 3)
  for (const page of [{}, { grants: null, next_cursor: null }, { grants: [] }, { grants: [], next_cursor: 1 }, []]) {
    const { agent, asked } = agentOf(page)
    await assert.rejects(agent.grants().all(), isUnexpected, JSON.stringify(page))
    assert.equal(asked.length, 1)
  }
})

test('malformed members of an error are ignored', async () => {
  const wrong = {
    retryable: 'yes',
    request_id: {},
    field: 7,
    access_request: { provider: 'acme', hosts: 'all' },
    upstream_status: '401',
  }
  const body = { error: { code: 'method_not_allowed', message: 'no', ...wrong } }
  const { agent } = agentOf(async () => Response.json(body, { status: 403 }))
  const error = await agent.me().catch((reason: unknown) => reason as SallyportError)
  assert.ok(error instanceof SallyportError)
  const { code, retryable, requestId, field, accessRequest, upstreamStatus } = error
  assert.deepEqual(
    [code, retryable, requestId, field, accessRequest, upstreamStatus],
    ['method_not_allowed', false, undefined, undefined, undefined, undefined],
  )
})

test('a URL with a password or an invalid token is refused, and the error does not repeat it', () => {
  for (const given of [
    { baseUrl: 'https://me:hunter2@x.example', token: 'sp_agent_a' },
    { baseUrl: 'https://hunter2@x.example', token: 'sp_agent_a' },
    { baseUrl: 'https://x.example', token: 'hunter2\nX-Other: 1' },
    { baseUrl: 'https://x.example', token: 'hunter2…' },
    { baseUrl: 'https://x.example', token: '' },
  ]) {
    assert.throws(
      () => createAgentClient(given),
      (error) => error instanceof TypeError && !inspect(error).includes('hunter2'),
      inspect(given),
    )
  }
})

test('an infinite timeout, or one beyond the timer limit, does not end immediately', async () => {
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31, 1e15]) {
    const slow: Answer = (_url, { signal }) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
        setTimeout(() => {
          resolve(Response.json({ agent_id: 'agt_1' }))
        }, 20)
      })
    assert.equal((await agentOf(slow).agent.me({ timeoutMs })).agent_id, 'agt_1')
  }
  for (const timeoutMs of [Number.NaN, -1]) {
    await assert.rejects(agentOf({}).agent.me({ timeoutMs }), TypeError)
    await assert.rejects(agentOf({ status: 'pending' }).agent.waitForGrant('arq_1', { timeoutMs }), TypeError)
  }
})

test('waiting uses a monotonic clock', async (t) => {
  const pending = { status: 'pending', grant_id: null } as AccessRequest
  let looks = 0
  t.mock.method(Date, 'now', () => (looks % 2 === 0 ? 0 : 8.64e15))
  const look = () => {
    looks++
    return Promise.resolve(looks < 3 ? pending : { ...pending, status: 'approved' as const, grant_id: 'grt_1' })
  }
  assert.equal((await waitForGrant(look, { timeoutMs: 60_000 })).grant_id, 'grt_1')
})

test('a hanging service does not extend the wait much beyond its timeout', async () => {
  const times: number[] = []
  const look = (_signal: AbortSignal | undefined, timeoutMs: number) => {
    times.push(timeoutMs)
    return Promise.reject(new SallyportError('timeout', 'hangs', { retryable: true }))
  }
  await assert.rejects(waitForGrant(look, { timeoutMs: 50 }), { code: 'timeout' })
  assert.ok(times.length > 1 && times.every((ms) => ms <= 5000), times.join())
})

test('a callback with wrong types is refused', async () => {
  const secret = `whsec_${btoa('a secret of some length')}`
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': 'v1,AAAA',
  }
  const isInvalid = { code: 'invalid_callback' }
  for (const body of [{ event: 'access_request.approved' }, null, undefined, 7]) {
    await assert.rejects(verifyCallback(secret, headers, body as never), TypeError)
  }
  for (const signature of [
    '',
    'v1',
    'v1,',
    'v1,%%%',
    'v1a,AAAA',
    ' '.repeat(5000),
    Array(20).fill('v1,AAAA').join(' '),
  ]) {
    await assert.rejects(verifyCallback(secret, { ...headers, 'webhook-signature': signature }, '{}'), isInvalid)
  }
  for (const time of ['NaN', '-1', '1e9', '0x5f', ` ${headers['webhook-timestamp']}`, '9'.repeat(400)]) {
    await assert.rejects(verifyCallback(secret, { ...headers, 'webhook-timestamp': time }, '{}'), isInvalid)
  }
})
