/** A tool's call that a person has to approve first: it is kept open for a while, and repeating it is no second call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'
import { openTunnel, startTools } from '../../testkit/tool-calling.ts'
import type { ToolReply, ToolRequest } from '../../testkit/tool-calling.ts'

type Scope = Parameters<typeof startTools>[0]

const codeOf = ({ status, body }: ToolReply) => [status, body?.error?.code]
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"hello"}' }
const attempt = (n: number): ToolRequest => ({
  ...post,
  headers: { ...post.headers, 'amz-sdk-request': `attempt=${n}` },
})

const answered = (response: any) => {
  response.writeHead(201, { 'content-type': 'application/json', location: '/things/1', 'x-many': ['1', '2'] })
  response.end('{"id": 12345678901234567890}')
}

/** Calls are kept open for so many seconds. */
async function start(t: Scope, engine: 'sqlite' | 'postgres', seconds: number): Promise<HeldCallTest> {
  return startHeldCalls(t, engine, { answer: answered, settings: { SALLYPORT_TOOL_HOLD_SECONDS: String(seconds) } })
}

/** The id of the one call that waits. */
async function waitingId(test: HeldCallTest): Promise<string> {
  for (let tries = 0; tries < 400; tries++) {
    const [first, second] = await test.waiting()
    assert.equal(second, undefined)
    if (first) return first.call_id as string
    await sleep(25)
  }
  throw new Error('no call waits')
}

onBothDatabases("a tool's call that asks", (engine) => {
  test('is answered as the API answers, on the connection that waits for it', async (t) => {
    const test = await start(t, engine, 60)
    const { key, call, base } = await startTools(t, test)
    const tunnel = await openTunnel(t, test, { key, host: test.upstream.host, version: 'HTTP/2' })
    for (const send of [call, tunnel]) {
      const waits = send('/things', post)
      const id = await waitingId(test)
      assert.equal((await test.approve(id)).status, 200)
      const reply = await waits
      assert.deepEqual([reply.status, reply.text], [201, '{"id": 12345678901234567890}'])
      const at = send === call ? `${test.service.config.baseUrl.origin}${base}` : ''
      assert.deepEqual([reply.headers['location'], reply.headers['x-many']], [`${at}/things/1`, '1, 2'])
      assert.match(String(reply.headers['x-sallyport-audit-id']), /^aud_/)
    }
    assert.deepEqual(
      test.upstream.received.map(({ body }) => body),
      [post.body, post.body],
    )
    const attempts = (await test.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(attempts.map(({ detail }) => detail.door).sort(), ['base_url', 'gateway'])
  })

  test('is pending after a while: what it sends again joins it, and gets the one answer', async (t) => {
    const test = await start(t, engine, 0)
    const { call } = await startTools(t, test)
    const pending = await call('/things', attempt(1))
    assert.deepEqual(codeOf(pending), [503, 'approval_pending'])
    const { call_id: id, approval_url: url } = pending.body.error as { call_id: string; approval_url: string }
    assert.ok(String(pending.body.message).includes(url))
    assert.equal(pending.headers['retry-after'], '10')
    assert.equal((await call('/things', attempt(2))).body.error.call_id, id)
    assert.equal((await call('/things', { ...post, body: '{"text":"other"}' })).body.error.call_id === id, false)
    await test.approve(id)
    await test.ended(id)
    test.service.clock.advance(590)
    const reply = await call('/things', attempt(3))
    assert.deepEqual([reply.status, reply.text], [201, '{"id": 12345678901234567890}'])
    assert.deepEqual(test.upstream.received.length, 1)
    // Once it has its answer, the next one is a new call.
    const next = await call('/things', attempt(1))
    assert.deepEqual(codeOf(next), [503, 'approval_pending'])
    assert.notEqual(next.body.error.call_id, id)
    assert.equal(test.upstream.received.length, 1)
  })

  test('sent five times at once is made once', async (t) => {
    const test = await start(t, engine, 60)
    const { call } = await startTools(t, test)
    const all = Promise.all([1, 2, 3, 4, 5].map((n) => call('/things', attempt(n))))
    const id = await waitingId(test)
    await test.approve(id)
    for (const { status } of await all) assert.equal(status, 201)
    assert.equal(test.upstream.received.length, 1)
  })

  test('is a new one ten minutes after the decision', async (t) => {
    const test = await start(t, engine, 0)
    const { call } = await startTools(t, test)
    const id = (await call('/things', post)).body.error.call_id as string
    await test.approve(id)
    await test.ended(id)
    test.service.clock.advance(601)
    const late = await call('/things', post)
    assert.deepEqual(codeOf(late), [503, 'approval_pending'])
    assert.notEqual(late.body.error.call_id, id)
  })

  test('that was denied stays denied for ten minutes, whatever its headers count', async (t) => {
    const test = await start(t, engine, 0)
    const { call } = await startTools(t, test)
    const id = (await call('/things', attempt(1))).body.error.call_id as string
    await test.deny(id, { reason: 'Not today.' })
    for (const n of [2, 3]) {
      const reply = await call('/things', attempt(n))
      assert.deepEqual(codeOf(reply), [403, 'call_denied'])
      assert.match(reply.body.message as string, /Not today/)
    }
    test.service.clock.advance(601)
    assert.deepEqual(codeOf(await call('/things', attempt(4))), [503, 'approval_pending'])
    assert.equal(test.upstream.received.length, 0)
  })

  test("is another one for another grant or agent, and waits apart from the agent's own", async (t) => {
    const test = await start(t, engine, 0)
    const { call } = await startTools(t, test)
    const id = (await call('/things', post)).body.error.call_id as string
    await test.approve(id)
    await test.ended(id)
    // The agent's own call is none of its tool's: it asks anew.
    const own = await test.ask({ body: post.body, headers: { 'content-type': 'application/json' } })
    assert.equal(own.status, 202, own.text)
    assert.notEqual(own.body.call_id, id)
    assert.equal((await call('/things', post)).status, 201)
    assert.equal(test.upstream.received.length, 1)
  })

  test("that joins the agent's own leaves its Idempotency-Key alone", async (t) => {
    const test = await start(t, engine, 0)
    const { call } = await startTools(t, test)
    const ask = () =>
      test.ask({ body: post.body, headers: { 'content-type': 'application/json' } }, { 'idempotency-key': 'once' })
    const id = (await ask()).body.call_id as string
    assert.equal((await call('/things', post)).body.error.call_id, id)
    await test.approve(id)
    await test.ended(id)
    assert.equal((await call('/things', post)).status, 201)
    const again = await ask()
    assert.deepEqual([again.status, again.body.status], [200, 201])
    assert.equal(test.upstream.received.length, 1)
  })

  test('takes no place in flight while it waits', async (t) => {
    const settings = { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1', SALLYPORT_TOOL_HOLD_SECONDS: '60' }
    const test = await startHeldCalls(t, engine, { answer: answered, settings })
    const { call } = await startTools(t, test)
    const waits = call('/things', post)
    const id = await waitingId(test)
    assert.equal((await call('/things')).status, 201)
    await test.deny(id)
    assert.deepEqual(codeOf(await waits), [403, 'call_denied'])
  })

  test('with a body of more than 1 MiB is refused, and a shorter one is sent whole', async (t) => {
    const test = await start(t, engine, 60)
    const { call } = await startTools(t, test)
    const put = (bytes: number) =>
      call('/things', {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: Buffer.alloc(bytes, 97),
      })
    assert.deepEqual(codeOf(await put(1024 * 1024 + 1)), [413, 'body_too_large'])
    const waits = put(300_000)
    await test.approve(await waitingId(test))
    assert.equal((await waits).status, 201)
    assert.equal(test.upstream.received[0]?.body, 'a'.repeat(300_000))
  })
})
