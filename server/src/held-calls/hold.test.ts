/** Which calls are held, how often, and as what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'
import { soon } from '../../testkit/calling.ts'

async function anotherAgent({ service, userId, connectionId, upstream }: HeldCallTest) {
  const agent = await service.registerAgent('Another agent')
  const terms = { mode: 'ask_writes' as const, allowedHosts: [upstream.host] }
  const { grantId } = await insertGrant(service, { agentId: agent.agentId, userId, connectionId, ...terms })
  return { ...agent, grantId }
}

const codes = (replies: { status: number; body: any }[]) =>
  replies.map(({ status, body }) => [status, body.error?.code])

onBothDatabases('held calls', (engine) => {
  test('identical calls of one agent are one, those of another agent are not', async (t) => {
    const test = await startHeldCalls(t, engine)
    const other = await anotherAgent(test)
    const id = await test.held({ headers: { a: '1', b: '2' } })
    assert.equal(await test.held({ headers: { b: '2', a: '1' } }), id, 'the order of headers makes no difference')
    const different = [
      { body: { text: 'other' } },
      { headers: { a: '2' } },
      { method: 'PUT' },
      { url: `${test.upstream.url}?a` },
    ]
    for (const members of different) assert.notEqual(await test.held(members), id, JSON.stringify(members))
    const theirs = await test.ask({ grant_id: other.grantId, headers: { a: '1', b: '2' } })
    assert.equal(theirs.body.error.code, 'grant_not_found')
    const own = await test.service.call('POST', '/v4/proxy', {
      token: other.token,
      body: {
        grant_id: other.grantId,
        method: 'POST',
        url: test.upstream.url,
        body: { text: 'hello' },
        headers: { a: '1', b: '2' },
      },
    })
    assert.equal(own.status, 202, own.text)
    assert.notEqual(own.body.call_id, id)
    assert.equal((await test.service.call('GET', `/v4/calls/${id}`, { token: other.token })).status, 404)
    assert.equal((await test.read(own.body.call_id)).status, 404)
    const { calls } = (await test.service.call('GET', '/v4/calls', { token: other.token })).body
    assert.deepEqual(
      calls.map(({ call_id }: { call_id: string }) => call_id),
      [own.body.call_id],
    )
    const together = await Promise.all(Array.from({ length: 10 }, () => test.held({ body: { text: 'at once' } })))
    assert.equal(new Set(together).size, 1)
    assert.equal((await test.waiting()).length, 7)
  })

  test('a person who did not approve the grant sees nothing of it', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { call, logIn } = test.service
    const stranger = await logIn({ email: 'eve@example.com' })
    const id = await test.held()
    const { token } = stranger
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/receipt'],
      ['POST', '/approve'],
      ['POST', '/deny'],
    ] as const) {
      const { status, text } = await call(method, `/v4/calls/${id}${path}`, { token })
      assert.equal(status, 404, `${method} ${path} ${text}`)
    }
    assert.deepEqual((await call('GET', '/v4/calls', { token })).body.calls, [])
    const { digest } = (await test.see(id)).body
    const decided = await call('POST', '/v4/calls/decide', {
      token,
      body: { decisions: [{ call_id: id, digest, verdict: 'approve' }] },
    })
    assert.equal(decided.body.results[0].error.code, 'not_found')
    assert.equal((await test.see(id)).body.status, 'waiting')
    const admin = await call('GET', `/v4/calls/${id}`, { token: test.service.adminToken })
    assert.equal(admin.status, 403)
  })

  test('the identical call is refused for ten minutes after a denial, and its agent reads the reason', async (t) => {
    const test = await startHeldCalls(t, engine)
    const id = await test.held()
    assert.equal((await test.deny(id, { reason: 'Not today.' })).status, 200)
    const read = (await test.read(id)).body
    assert.deepEqual([read.status, read.denial_reason, read.response, read.error], ['denied', 'Not today.', null, null])
    const again = await test.ask()
    assert.deepEqual([again.status, again.body.error.code], [403, 'call_denied'])
    assert.equal((await test.ask({ body: { text: 'another' } })).status, 202)
    test.service.clock.advance(600)
    assert.equal((await test.ask()).status, 202)
    assert.equal(test.upstream.received.length, 0)
  })

  test('20 wait per agent, 60 are held per hour, and a cancelled one makes room', async (t) => {
    const test = await startHeldCalls(t, engine)
    const ids: string[] = []
    for (let n = 0; n < 20; n++) ids.push(await test.held({ body: { n } }))
    assert.deepEqual(codes([await test.ask({ body: { n: 20 } })]), [[429, 'rate_limited']])
    assert.equal(await test.held({ body: { n: 3 } }), ids[3], 'one that waits already is none more')
    for (const id of ids) assert.equal((await test.cancel(id)).body.status, 'cancelled')
    for (let n = 20; n < 60; n++) await test.cancel(await test.held({ body: { n } }))
    assert.deepEqual(codes([await test.ask({ body: { n: 60 } })]), [[429, 'rate_limited']])
    test.service.clock.advance(61)
    assert.equal((await test.ask({ body: { n: 60 } })).status, 202)
  })

  test('50 wait per person, of all agents together', async (t) => {
    const test = await startHeldCalls(t, engine)
    for (let agents = 0; agents < 3; agents++) {
      const agent = await anotherAgent(test)
      const body = { grant_id: agent.grantId, method: 'POST', url: test.upstream.url }
      const ask = (n: number) =>
        test.service.call('POST', '/v4/proxy', { token: agent.token, body: { ...body, body: { n } } })
      const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n)))
      const held = replies.filter(({ status }) => status === 202).length
      assert.equal(held, agents === 2 ? 10 : 20)
    }
    assert.equal((await test.waiting()).length, 50)
  })

  test('a body of more than 1 MiB is refused, and one that is streamed is stored too', async (t) => {
    const test = await startHeldCalls(t, engine)
    const long = await test.ask({ body: 'a'.repeat(1024 * 1024 + 1) })
    assert.deepEqual([long.status, long.body.error.code], [413, 'body_too_large'])
    const upload = async (bytes: number) => {
      const request = await test.upload({ headers: { 'content-type': 'application/octet-stream' } })
      const answered = new Promise<{ status: number; body: any }>((resolve) => {
        request.on('response', (response) => {
          void response.toArray().then((parts) => {
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts as Buffer[]).toString()) })
          })
        })
      })
      request.end(Buffer.alloc(bytes, 7))
      return soon(answered)
    }
    const tooLong = await upload(1024 * 1024 + 1)
    assert.deepEqual([tooLong.status, tooLong.body.error.code], [413, 'body_too_large'])
    const { status, body } = await upload(300_000)
    assert.equal(status, 202)
    await test.approve(body.call_id)
    assert.equal((await test.ended(body.call_id)).response.status, 200)
    assert.equal(test.upstream.received[0]?.body.length, 300_000)
  })

  test('one that would be streamed is answered with its envelope, and redirects are not followed', async (t) => {
    const test = await startHeldCalls(t, engine, {
      answer: (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    })
    const id = await test.held({ stream: true, follow_redirects: true })
    await test.approve(id)
    const { response } = await test.ended(id)
    assert.equal(response.status, 302)
    assert.equal(test.upstream.received.length, 1)
  })

  test('with an Idempotency-Key is one call, whose response is repeated', async (t) => {
    const test = await startHeldCalls(t, engine)
    const ask = (members: object = {}, key = 'key-1') => test.ask(members, { 'idempotency-key': key })
    const first = await ask()
    assert.equal(first.status, 202, first.text)
    const id = first.body.call_id
    assert.equal((await ask()).body.call_id, id)
    assert.equal((await ask({}, 'key-2')).body.call_id, id, 'the identical call with another key')
    assert.equal((await ask({ body: { text: 'other' } })).body.error.code, 'idempotency_conflict')
    await test.approve(id)
    const { response } = await test.ended(id)
    for (const key of ['key-1', 'key-2']) assert.deepEqual((await ask({}, key)).body, response)
    assert.equal(test.upstream.received.length, 1)
    test.service.clock.advance(3601)
    await test.service.app.sweep()
    assert.equal((await ask()).body.error.code, 'outcome_unknown')
    const denied = await ask({ body: { text: 'no' } }, 'key-3')
    await test.deny(denied.body.call_id)
    test.service.clock.advance(600)
    const again = await ask({ body: { text: 'no' } }, 'key-3')
    assert.equal(again.status, 202, 'a call that was not made frees its key')
    assert.notEqual(again.body.call_id, denied.body.call_id)
    assert.equal(test.upstream.received.length, 1)
  })

  test('a response of more than 1 MiB is not kept, and the call is not made again', async (t) => {
    const test = await startHeldCalls(t, engine, { answer: (response) => response.end('a'.repeat(1024 * 1024 + 1)) })
    const id = await test.held()
    await test.approve(id)
    const done = await test.ended(id)
    assert.deepEqual([done.status, done.error.code, done.error.status], ['done', 'upstream_body_too_large', 502])
    assert.equal(test.upstream.received.length, 1)
  })
})
