import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { hashRequest, readIdempotencyKey } from './idempotency.ts'
import type { KeyedCall } from './idempotency.ts'
import { createIdempotency } from './idempotency-store.ts'
import type { Claimed } from './once.ts'

const request = {
  method: 'POST',
  url: new URL('https://api.example.com/pay'),
  headers: [],
  body: Buffer.from('1'),
  followsRedirects: false,
  isStreamed: false,
}

const seen = { status: 200, bytes: 0, redactions: 0 }

async function start(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { agentId } = await service.registerAgent()
  const { database, vault, clock } = service
  let made = 0
  const call = (members: Partial<KeyedCall> = {}): KeyedCall => ({
    agentId,
    grantId: 'grt_1',
    key: 'key-1',
    requestHash: hashRequest(request),
    auditId: `aud_${++made}`,
    deadline: new Date(clock.now().getTime() + 60_000),
    ...members,
  })
  const instance = () => {
    const store = createIdempotency(vault)
    return {
      ended: (one: KeyedCall) => {
        store.once(one).ended()
      },
      claim: (one: KeyedCall) => database.transaction((tx) => store.claim(tx, one, clock.now())),
      conclude: (one: KeyedCall, answer?: Buffer) =>
        database.transaction((tx) => store.once(one).conclude(tx, answer, seen, clock.now())),
      forget: (one: KeyedCall) =>
        database.transaction(async (tx) => store.once(one).failed(new Error('not sent'), false)?.(tx, clock.now())),
    }
  }
  return { ...service, agentId, call, instance }
}

function said(claimed: Claimed): string {
  return claimed.kind === 'stored' ? claimed.envelope.toString() : claimed.kind
}

function refusedWith(code: string, message = /./) {
  return (error: unknown) =>
    error instanceof ServiceError && error.code === code && message.test(error.publicMessage ?? '.')
}

test('a key is 1 to 255 visible ASCII characters', () => {
  assert.equal(readIdempotencyKey(undefined), undefined)
  for (const key of ['a', '~!"', 'x'.repeat(255)]) assert.equal(readIdempotencyKey(key), key)
  for (const key of ['', ' ', 'a b', 'a\n', 'é', '\u007f', 'x'.repeat(256), ['a', 'b']]) {
    assert.throws(() => readIdempotencyKey(key), refusedWith('invalid_field'), JSON.stringify(key))
  }
})

test('the hash of a request is unique, and ignores the order of headers', () => {
  const other: Partial<Parameters<typeof hashRequest>[0]>[] = [
    {},
    { method: 'PUT' },
    { url: new URL('https://api.example.com/pay?') },
    { url: new URL('https://api.example.com/pay?a') },
    { body: undefined },
    { body: Buffer.from('') },
    { body: Buffer.from('2') },
    { headers: [['a', 'b']] },
    {
      headers: [
        ['a', 'b'],
        ['c', 'd'],
      ],
    },
    { headers: [['a', 'b\nc: d']] },
    { headers: [['a: b', '']] },
    { headers: [], body: Buffer.from('4:a: b\n1') },
    { followsRedirects: true },
    { isStreamed: true },
    { followsRedirects: true, isStreamed: true },
  ]
  const hashes = other.map((members) => hashRequest({ ...request, ...members }))
  assert.equal(new Set(hashes).size, other.length)
  const headers: [string, string][] = [
    ['c', 'd'],
    ['a', 'b'],
  ]
  assert.equal(hashRequest({ ...request, headers }), hashes[8])
})

onBothDatabases('an idempotency key', (engine) => {
  test('leads to one call, and to its response from then on', async (t) => {
    const { call, instance, clock, database } = await start(t, engine)
    const one = instance()
    const first = call()
    assert.equal(said(await one.claim(first)), 'new')
    await one.conclude(first, Buffer.from('{"paid":"é"}'))
    one.ended(first)
    for (const at of [one, instance()]) assert.equal(said(await at.claim(call())), '{"paid":"é"}')
    const [row] = await database.queries.selectFrom('keyed_calls').selectAll().execute()
    assert.ok(row?.answer && !Buffer.from(row.answer).includes('paid'), 'it is sealed')
    assert.ok(!JSON.stringify(row).includes('key-1'))
    clock.advance(86_399)
    assert.equal(said(await one.claim(call())), '{"paid":"é"}')
    clock.advance(1)
    const again = call()
    assert.equal(said(await one.claim(again)), 'new', 'a day later it is free')
    await assert.rejects(one.claim(call()), refusedWith('conflict'))
    await one.conclude(first, Buffer.from('too late'))
    await assert.rejects(one.claim(call()), refusedWith('conflict'), 'the first call has no say in it any more')
  })

  test('is won by one of many concurrent calls', async (t) => {
    const { call, instance, clock } = await start(t, engine)
    const instances = [instance(), instance(), instance()]
    for (const wait of [0, 86_400]) {
      clock.advance(wait)
      const calls = Array.from({ length: 30 }, (_, at) => ({ at: instances[at % 3] ?? instance(), one: call() }))
      const results = await Promise.allSettled(calls.map(({ at, one }) => at.claim(one)))
      const won = results.filter((result) => result.status === 'fulfilled')
      assert.deepEqual(
        won.map(({ value }) => value),
        [{ kind: 'new' }],
      )
      for (const result of results) {
        if (result.status === 'rejected')
          assert.ok(refusedWith('conflict', /in progress/)(result.reason), String(result.reason))
      }
    }
  })

  test('is separate per agent and grant', async (t) => {
    const { call, instance, registerAgent } = await start(t, engine)
    const { agentId } = await registerAgent()
    const one = instance()
    for (const members of [{}, { agentId }, { grantId: 'grt_2' }, { key: 'key-2' }, { grantId: 'grt_2', agentId }]) {
      assert.equal(said(await one.claim(call(members))), 'new')
    }
  })

  test('that was used for another request is refused, in flight and later', async (t) => {
    const { call, instance } = await start(t, engine)
    const one = instance()
    const first = call()
    await one.claim(first)
    const other = () => one.claim(call({ requestHash: hashRequest({ ...request, body: Buffer.from('2') }) }))
    await assert.rejects(other(), refusedWith('idempotency_conflict'))
    await one.conclude(first, Buffer.from('{}'))
    await assert.rejects(other(), refusedWith('idempotency_conflict'))
    assert.equal(said(await one.claim(call())), '{}')
  })

  test('of a call without an outcome leads to no second call', async (t) => {
    const { call, instance, clock } = await start(t, engine)
    const [one, another] = [instance(), instance()]
    const first = call()
    await one.claim(first)
    await assert.rejects(one.claim(call()), refusedWith('conflict', /in progress/))
    await assert.rejects(another.claim(call()), refusedWith('conflict', /in progress/))
    one.ended(first)
    await assert.rejects(one.claim(call()), refusedWith('outcome_unknown'), 'its own process knows at once')
    await assert.rejects(another.claim(call()), refusedWith('conflict', /in progress/))
    clock.advance(60)
    await assert.rejects(another.claim(call()), refusedWith('outcome_unknown'), 'others know when its time is over')
  })

  test('of a slow call stays in flight as long as its process renews it', async (t) => {
    const { call, instance, clock } = await start(t, engine)
    const one = instance()
    await one.claim(call())
    clock.advance(600)
    await assert.rejects(one.claim(call()), refusedWith('conflict', /in progress/))
  })

  test('of a response that was not stored leads to no second call', async (t) => {
    const { call, instance } = await start(t, engine)
    const one = instance()
    const answers = [undefined, Buffer.alloc(256 * 1024 + 1, 'a'), Buffer.alloc(256 * 1024, 'a')]
    for (const [at, answer] of answers.entries()) {
      const first = call({ key: `key-${at}` })
      await one.claim(first)
      await one.conclude(first, answer)
      one.ended(first)
    }
    await assert.rejects(one.claim(call({ key: 'key-0' })), refusedWith('outcome_unknown', /not stored/))
    await assert.rejects(one.claim(call({ key: 'key-1' })), refusedWith('outcome_unknown', /not stored/))
    assert.equal(said(await one.claim(call({ key: 'key-2' }))).length, 256 * 1024)
  })

  test('of a call that never reached the upstream can be used again', async (t) => {
    const { call, instance } = await start(t, engine)
    const one = instance()
    const first = call()
    await one.claim(first)
    await one.forget(call())
    await assert.rejects(one.claim(call()), refusedWith('conflict'), 'another call can not free it')
    await one.forget(first)
    assert.equal(said(await one.claim(call())), 'new')
  })

  test('is not taken by a transaction that fails', async (t) => {
    const { call, instance, database, vault, clock } = await start(t, engine)
    const store = createIdempotency(vault)
    const first = call()
    const failing = database.transaction(async (tx) => {
      await store.claim(tx, first, clock.now())
      throw new Error('the attempt could not be put on record')
    })
    await assert.rejects(failing, /on record/)
    store.once(first).ended()
    assert.equal(said(await instance().claim(call())), 'new')
  })

  test("is refused once the agent's storage limit is reached, except existing keys", async (t) => {
    const { call, instance, agentId, database, clock, registerAgent } = await start(t, engine)
    const [one, another] = [instance(), instance()]
    const first = call()
    await one.claim(first)
    await one.conclude(first, Buffer.from('{}'))
    const last = call({ key: 'last' })
    await one.claim(last)
    const fill = (size: number) =>
      database.queries.updateTable('keyed_calls').set({ size }).where('audit_id', '=', first.auditId).execute()
    await fill(32 * 1024 * 1024 - 256)
    const full = call({ key: 'new' })
    await assert.rejects(another.claim(full), refusedWith('rate_limited'))
    assert.equal(said(await another.claim(call())), '{}', 'what is stored is still there')
    assert.equal(said(await one.claim(full)), 'new', 'each instance adds up once a minute')
    clock.advance(60)
    await assert.rejects(one.claim(call({ key: 'newer' })), refusedWith('rate_limited'))
    await one.conclude(last, Buffer.from('{"large":"answer"}'))
    one.ended(last)
    await assert.rejects(one.claim(call({ key: 'last' })), refusedWith('outcome_unknown', /not stored/))
    await fill(32 * 1024 * 1024 - 3 * 256)
    const third = instance()
    assert.equal(said(await third.claim(call({ key: 'one more' }))), 'new')
    await assert.rejects(third.claim(call({ key: 'one too many' })), refusedWith('rate_limited'), 'it counts its own')
    const { agentId: other } = await registerAgent()
    assert.notEqual(other, agentId)
    assert.equal(said(await one.claim(call({ agentId: other }))), 'new')
  })

  test('is deleted by the sweep a day later', async (t) => {
    const { call, instance, database, app, clock } = await start(t, engine)
    await instance().claim(call())
    const count = async () => (await database.queries.selectFrom('keyed_calls').select('key_hash').execute()).length
    clock.advance(86_399)
    await app.sweep()
    assert.equal(await count(), 1)
    clock.advance(1)
    await app.sweep()
    assert.equal(await count(), 0)
  })
})
