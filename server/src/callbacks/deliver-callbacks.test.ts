/** Receivers that fail in every way, instances that race or crash, and what agents and attackers can see. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCallbackReceiver } from '../../testkit/callback-receiver.ts'
import type { CallbackReceiver, ReceiverFault } from '../../testkit/callback-receiver.ts'
import { only, startCallbackTest, verified } from '../../testkit/callbacks.ts'
import { migratedPostgres, onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { leadingTo, testEgress, userAgent } from '../../testkit/egress.ts'
import { stored } from '../../testkit/stored.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'

const hour = 3600

/** A fault, and the error code that the agent sees. */
const faults: [string, ReceiverFault | 'down', string][] = [
  ['is down', 'down', 'unreachable'],
  ['is too slow', 'holds', 'timeout'],
  ['disconnects', 'hangs up', 'unreachable'],
  ['disconnects during its response', 'dies', 'unreachable'],
  ['responds with 500', { status: 500 }, 'http_500'],
  ['responds with 404', { status: 404 }, 'http_404'],
  ['responds with 301', { status: 301, headers: { location: '/elsewhere' } }, 'redirect'],
  ['responds with 429', { status: 429, headers: { 'retry-after': '60' } }, 'http_429'],
]

async function fail(receiver: CallbackReceiver, fault: ReceiverFault | 'down'): Promise<void> {
  if (fault === 'down') await receiver.goDown()
  else receiver.answer(fault)
}

/** Fails the test if it does not happen. */
async function until(isSo: () => boolean): Promise<void> {
  for (let times = 0; !isSo(); times++) {
    assert.ok(times < 1000, 'it does not come about')
    await sleep(10)
  }
}

const idOf = ({ headers }: { headers: Record<string, string> }) => headers['webhook-id']

onBothDatabases('callbacks', (engine) => {
  test('a decision is delivered immediately: six members and a valid signature', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const test = await startCallbackTest(t, engine, [receiver])
    const { ask, approve, state, deliverer, callbacks, database, clock } = test
    const approved = await ask(receiver.url)
    const denied = await ask(receiver.url)
    const outbox = deliverer()
    await outbox.due()
    assert.equal(receiver.received.length, 0)
    assert.deepEqual(await state(approved), { status: 'waiting', attempts: 0, lastError: null })

    await approve(approved)
    await outbox.due()
    const [first] = receiver.received
    assert.ok(first)
    assert.deepEqual([first.method, first.path], ['POST', '/hooks?for=approvals'])
    assert.deepEqual(verified(approved.secret, first, clock.now()), approved.payload)
    assert.deepEqual(Object.keys(JSON.parse(first.body) as object), [
      ...['event', 'access_request_id', 'status', 'grant_id', 'provider', 'agent_id'],
    ])
    assert.equal(first.headers['content-type'], 'application/json')
    assert.equal(first.headers['user-agent'], userAgent)
    assert.match(idOf(first) ?? '', /^dlv_[0-9a-z]{26}$/)
    assert.equal(first.headers['webhook-timestamp'], String(clock.now().getTime() / 1000))
    assert.deepEqual(await state(approved), { status: 'delivered', attempts: 1, lastError: null })

    const refusal = { ...denied.payload, event: 'access_request.denied', status: 'denied', grant_id: null } as const
    const { accessRequestId } = denied
    await database.transaction((tx) => callbacks.release(tx, accessRequestId, refusal, clock.now()))
    // Decided once: what comes later changes nothing.
    await approve(denied)
    await outbox.due()
    const [, second, ...more] = receiver.received
    assert.ok(second)
    assert.deepEqual([verified(denied.secret, second, clock.now()), more], [refusal, []])
    const records = await recorded({ database }, 'callback.')
    assert.deepEqual(records[0]?.detail, {
      ...{ access_request_id: approved.accessRequestId, delivery_id: idOf(first), host: receiver.host, attempts: 1 },
    })
    assert.deepEqual([records.length, records[1]?.agent_id], [2, test.agentId])
  })

  test('a changed body, id or time, and another secret, do not verify', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const { decided, deliverer, clock } = await startCallbackTest(t, engine, [receiver])
    const { secret } = await decided(receiver.url)
    const other = await decided(receiver.url)
    await deliverer().due()
    const sent = receiver.received.find(({ body }) => !body.includes(other.accessRequestId))
    assert.ok(sent)
    const { headers, body } = sent
    const changed = [
      { headers, body: body.replace('approved', 'denied') },
      { headers: { ...headers, 'webhook-id': 'dlv_another' }, body },
      { headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, body },
    ]
    for (const one of changed) assert.throws(() => verified(secret, one, clock.now()), /No matching signature/)
    assert.throws(() => verified(other.secret, sent, clock.now()), /No matching signature/)
    verified(secret, sent, clock.now())
  })

  for (const [words, fault, error] of faults) {
    test(`a receiver that ${words} gets it later, with the same webhook-id`, async (t) => {
      const receiver = await startCallbackReceiver(t)
      const { decided, state, deliverer, clock, database } = await startCallbackTest(t, engine, [receiver])
      const asked = await decided(receiver.url)
      await fail(receiver, fault)
      const times = [clock.now()]
      await deliverer(fault === 'holds' ? { patienceMs: 500 } : {}).due()
      assert.deepEqual(await state(asked), { status: 'pending', attempts: 1, lastError: error })
      assert.deepEqual(await recorded({ database }, 'callback.'), [])

      receiver.answer(undefined)
      if (fault === 'down') await receiver.comeBack()
      const seen = receiver.received.length
      clock.advance(3)
      await deliverer().due()
      assert.equal(receiver.received.length, seen, 'not before its time')
      clock.advance(60)
      times.push(clock.now())
      await deliverer().due()
      assert.deepEqual(await state(asked), { status: 'delivered', attempts: 2, lastError: null })
      assert.equal(receiver.received.length, seen + 1)
      assert.equal(new Set(receiver.received.map(idOf)).size, 1)
      for (const [index, sent] of receiver.received.entries()) {
        const at = times.slice(-receiver.received.length)[index]
        assert.ok(at)
        assert.equal(sent.headers['webhook-timestamp'], String(at.getTime() / 1000))
        assert.deepEqual(verified(asked.secret, sent, at), asked.payload)
      }
      assert.equal(only(await recorded({ database }, 'callback.')).event, 'callback.delivered')
    })
  }

  test('an invalid certificate is reported as such, and nothing is sent', async (t) => {
    const receiver = await startCallbackReceiver(t, { names: ['other.example'] })
    const { decided, state, deliverer } = await startCallbackTest(t, engine, [receiver])
    const asked = await decided(receiver.url)
    await deliverer().due()
    assert.deepEqual(await state(asked), { status: 'pending', attempts: 1, lastError: 'tls_error' })
    assert.deepEqual(receiver.received, [])
  })

  test('a 2xx status counts even if the response body never ends', async (t) => {
    const receiver = await startCallbackReceiver(t, { fault: 'trickles' })
    const { decided, state, deliverer } = await startCallbackTest(t, engine, [receiver])
    const asked = await decided(receiver.url)
    await deliverer().due()
    assert.deepEqual(await state(asked), { status: 'delivered', attempts: 1, lastError: null })
  })

  test('Retry-After delays the next attempt by an hour at most', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const { decided, deliverer, clock } = await startCallbackTest(t, engine, [receiver])
    await decided(receiver.url)
    const triesAfter = async (seconds: number) => {
      clock.advance(seconds)
      await deliverer().due()
      return receiver.received.length
    }
    receiver.answer({ status: 503, headers: { 'retry-after': '600' } })
    assert.equal(await triesAfter(0), 1)
    assert.equal(await triesAfter(599), 1)
    receiver.answer({ status: 429, headers: { 'retry-after': '864000' } })
    assert.equal(await triesAfter(1), 2)
    assert.equal(await triesAfter(hour - 1), 2)
    assert.equal(await triesAfter(1), 3)
  })

  test('after 24 hours a callback has failed and is not retried', async (t) => {
    // What it asks for would lead beyond the end.
    const fault = { status: 503, headers: { 'retry-after': '3600' } }
    const receiver = await startCallbackReceiver(t, { fault })
    const { decided, state, deliverer, clock, database, agentId } = await startCallbackTest(t, engine, [receiver])
    const asked = await decided(receiver.url)
    const outbox = deliverer()
    await outbox.due()
    clock.advance(24 * hour - 60)
    await outbox.due()
    assert.deepEqual(await state(asked), { status: 'pending', attempts: 2, lastError: 'http_503' })
    clock.advance(60)
    await outbox.due()
    assert.deepEqual(await state(asked), { status: 'failed', attempts: 3, lastError: 'http_503' })
    const record = only(await recorded({ database }, 'callback.'))
    assert.deepEqual([record.event, record.agent_id], ['callback.failed', agentId])
    assert.deepEqual([record.detail.error, record.detail.attempts], ['http_503', 3])
    receiver.answer(undefined)
    clock.advance(24 * hour)
    await outbox.due()
    assert.equal(receiver.received.length, 3)
  })

  test('a callback that was not attempted for 24 hours is still attempted once', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const { decided, state, deliverer, clock } = await startCallbackTest(t, engine, [receiver])
    const asked = await decided(receiver.url)
    clock.advance(72 * hour)
    await deliverer().due()
    assert.equal((await state(asked))?.status, 'delivered')
  })

  test('410 Gone ends a callback', async (t) => {
    const receiver = await startCallbackReceiver(t, { fault: { status: 410 } })
    const { decided, state, deliverer, database, clock } = await startCallbackTest(t, engine, [receiver])
    const asked = await decided(receiver.url)
    await deliverer().due()
    assert.deepEqual(await state(asked), { status: 'failed', attempts: 1, lastError: 'gone' })
    assert.equal(only(await recorded({ database }, 'callback.')).detail.error, 'gone')
    clock.advance(hour)
    await deliverer().due()
    assert.equal(receiver.received.length, 1)
  })

  test('a disabled agent gets no more callbacks', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const { decided, state, deliverer, call, adminToken, agentId, database } = await startCallbackTest(t, engine, [
      receiver,
    ])
    const asked = await decided(receiver.url)
    assert.equal((await call('POST', `/v4/agents/${agentId}/disable`, { token: adminToken })).status, 200)
    await deliverer().due()
    assert.deepEqual(await state(asked), { status: 'failed', attempts: 1, lastError: 'agent_disabled' })
    assert.equal(receiver.received.length, 0)
    assert.equal(only(await recorded({ database }, 'callback.')).detail.error, 'agent_disabled')
  })

  test('a redirect is not followed', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const other = await startCallbackReceiver(t)
    const { decided, state, deliverer, clock } = await startCallbackTest(t, engine, [receiver, other])
    const asked = await decided(receiver.url)
    for (const status of [301, 302, 303, 307, 308]) {
      receiver.answer({ status, headers: { location: other.url.href } })
      await deliverer().due()
      assert.deepEqual((await state(asked))?.lastError, 'redirect')
      clock.advance(hour)
    }
    assert.deepEqual([receiver.received.length, other.received.length], [5, 0])
  })

  test('a disallowed address looks the same whether or not a server listens there', async (t) => {
    const receiver = await startCallbackReceiver(t)
    // Listed as a range: that is for the operator's own URLs, and no agent's.
    const allow = '127.0.0.0/8'
    const test = await startCallbackTest(t, engine, [], {
      ...{ SALLYPORT_EGRESS_ALLOW: allow, SALLYPORT_EGRESS_CA_FILE: receiver.caFile },
    })
    // A real name that leads to this machine, and the receiver's own place.
    const real = [await test.decided(new URL('https://localhost/')), await test.decided(receiver.url)]
    await test.deliverer().due()
    const played = []
    for (const answer of [['127.0.0.1'], ['10.255.255.1'], ['169.254.169.254'], ['93.184.216.34', '::1']]) {
      played.push(await test.decided(new URL('https://agent.example/')))
      await test.deliverer({ egress: testEgress(t, { allow: [allow], lookup: leadingTo(answer) }) }).due()
    }
    for (const asked of [...real, ...played]) {
      const expected = { status: 'pending', attempts: 1, lastError: 'address_not_allowed' }
      assert.deepEqual(await test.state(asked), expected)
    }
    assert.deepEqual(receiver.received, [])
  })

  test('two instances deliver each of sixty exactly once', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const shared = {
      SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
      ...(engine === 'postgres'
        ? { DATABASE_URL: await migratedPostgres(t) }
        : { SALLYPORT_DATA_DIR: temporaryFolder(t) }),
    }
    const one = await startCallbackTest(t, engine, [receiver], shared)
    const other = await startCallbackTest(t, engine, [receiver], shared)
    const { database, state, registerAgent, decided } = one
    const agents = await Promise.all(Array.from({ length: 6 }, () => registerAgent()))
    const all = []
    for (const { agentId } of agents) {
      for (let times = 0; times < 10; times++) all.push(await decided(receiver.url, agentId))
    }
    const outboxes = [one.deliverer(), other.deliverer()]
    for (let times = 0; receiver.received.length < all.length && times < 20; times++) {
      await Promise.all(outboxes.map((outbox) => outbox.due()))
    }
    assert.equal(receiver.received.length, all.length)
    assert.equal(new Set(receiver.received.map(idOf)).size, all.length)
    for (const asked of all) assert.deepEqual(await state(asked), { status: 'delivered', attempts: 1, lastError: null })
    assert.equal((await recorded({ database }, 'callback.delivered')).length, all.length)
  })

  test('callbacks claimed by a crashed instance are taken over when the lease expires', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const { decided, state, deliverer, app, callbacks, database, clock } = await startCallbackTest(t, engine, [
      receiver,
    ])
    const asked = await decided(receiver.url)
    const lease = { now: clock.now(), until: new Date(clock.now().getTime() + 30_000), limit: 20, perAgent: 5 }
    const crashed = only(await callbacks.claim(database, lease))
    assert.deepEqual(await callbacks.claim(database, lease), [])
    clock.advance(29)
    await app.catchUp()
    assert.deepEqual(receiver.received, [])
    clock.advance(1)
    await app.catchUp()
    assert.equal(idOf(only(receiver.received)), crashed.deliveryId)
    assert.deepEqual(await state(asked), { status: 'delivered', attempts: 2, lastError: null })
    // It was only slow, and settles late.
    await callbacks.postpone(database.queries, crashed, clock.now(), 'http_500')
    assert.equal(await callbacks.end(database.queries, crashed, { error: 'http_500' }), false)
    await deliverer().due()
    assert.equal((await state(asked))?.status, 'delivered')
    assert.equal(receiver.received.length, 1)
  })

  test("one agent's slow receivers do not delay another's callbacks", async (t) => {
    const slow = await startCallbackReceiver(t, { fault: 'holds' })
    const quick = await startCallbackReceiver(t)
    const { decided, state, deliverer, registerAgent, clock } = await startCallbackTest(t, engine, [slow, quick])
    const many = []
    for (let times = 0; times < 30; times++) many.push(await decided(slow.url))
    const { agentId } = await registerAgent()
    clock.advance(1)
    const outbox = deliverer()
    outbox.kick()
    await until(() => slow.held() === 5)
    const another = await decided(quick.url, agentId)
    outbox.kick()
    await until(() => quick.received.length === 1)
    assert.deepEqual([slow.held(), slow.received.length], [5, 5])
    slow.letGo()
    await outbox.due()
    for (const asked of [...many, another]) assert.equal((await state(asked))?.status, 'delivered')
    assert.equal(new Set(slow.received.map(idOf)).size, 30)
  })

  test('new callbacks come before retries', async (t) => {
    const receiver = await startCallbackReceiver(t, { fault: { status: 500 } })
    const { decided, deliverer, registerAgent, callbacks, database, clock } = await startCallbackTest(t, engine, [
      receiver,
    ])
    for (let times = 0; times < 3; times++) await decided(receiver.url, (await registerAgent()).agentId)
    await deliverer().due()
    // All that failed is due again, and has been for longer.
    clock.advance(hour)
    const fresh = await decided(receiver.url)
    const lease = { now: clock.now(), until: new Date(clock.now().getTime() + 15_000), limit: 1, perAgent: 5 }
    assert.equal(only(await callbacks.claim(database, lease)).accessRequestId, fresh.accessRequestId)
  })

  test('the secret is in no plaintext, log or audit record, and is deleted at the end', async (t) => {
    const refusing = await startCallbackReceiver(t, { fault: { status: 500 } })
    const away = await startCallbackReceiver(t)
    await away.goDown()
    const test = await startCallbackTest(t, engine, [refusing, away])
    const { ask, decided, deliverer, clock, database, log } = test
    const all = [await decided(refusing.url), await decided(away.url), await ask(away.url)]
    const assertHidden = async () => {
      const found = Buffer.concat([await stored(test), Buffer.from(log.join())])
      for (const { secret } of all) {
        const text = secret.reveal().slice('whsec_'.length)
        const key = Buffer.from(text, 'base64')
        const forms = [text, key, key.toString('hex'), key.toString('base64url')]
        for (const form of forms) assert.equal(found.includes(form), false)
      }
      for (const { headers } of [...refusing.received, ...away.received]) {
        assert.equal(found.includes(headers['webhook-signature']?.slice(3) ?? ''), false)
      }
      // What is there is found: the URL, which is no secret, but not for the log either.
      assert.equal(found.includes('/hooks?for=approvals'), true)
      assert.equal(log.join().includes('/hooks'), false)
    }
    const withSecrets = async () => {
      const rows = await database.queries.selectFrom('callbacks').selectAll().execute()
      return rows.filter(({ secret, secret_key_id, payload }) => secret ?? secret_key_id ?? payload).length
    }
    await deliverer().due()
    await assertHidden()
    assert.match(log.join(), /http_500[^]*ECONNREFUSED|ECONNREFUSED[^]*http_500/)
    assert.equal(await withSecrets(), 3)
    clock.advance(60)
    refusing.answer({ status: 410 })
    await away.comeBack()
    await deliverer().due()
    assert.deepEqual([refusing.received.length, away.received.length], [2, 1])
    await assertHidden()
    assert.equal(await withSecrets(), 1, 'the one that waits for its decision')
  })
})
