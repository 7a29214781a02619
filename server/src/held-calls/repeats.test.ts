/** An approval that covers further calls. GitHub's comments have a scope that summary/ gives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Repeat } from '@sallyport/protocol/calls'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'

/** Reads have no operation in a body: with ask_all they can repeat. */
const asking = { terms: { mode: 'ask_all' as const } }
const unlimited = { SALLYPORT_PROXY_RATE_PER_AGENT: '0', SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0' }
const get = { method: 'GET', body: undefined }

const repeatsOf = async ({ service, user }: HeldCallTest) =>
  (await service.call('GET', '/v4/calls/repeats', { token: user.token })).body.repeats as [Repeat, ...Repeat[]]

onBothDatabases('an approval that repeats', (engine) => {
  test('covers the same call 50 times, over all instances, and then it waits again', async (t) => {
    const test = await startHeldCalls(t, engine, { ...asking, settings: unlimited })
    const id = await test.held(get)
    const seen = (await test.see(id)).body
    assert.ok(seen.repeat, 'a read can repeat')
    assert.equal((await test.approve(id, { digest: seen.digest, repeat_for_seconds: 900 })).status, 200)
    await test.ended(id)
    const [repeat] = await repeatsOf(test)
    assert.deepEqual([repeat.calls_left, repeat.method, repeat.url], [50, 'GET', test.upstream.url])
    const first = await test.ask(get)
    assert.equal(first.status, 200, first.text)
    const others = [
      { ...get, url: `${test.upstream.url}/2` },
      { ...get, method: 'HEAD' },
      // Dropbox reads the path of a download from a header.
      { ...get, headers: { 'dropbox-api-arg': '{"path":"/other"}' } },
    ]
    for (const members of others) assert.equal((await test.ask(members)).status, 202, JSON.stringify(members))
    const many = await Promise.all(Array.from({ length: 60 }, () => test.ask(get)))
    assert.equal(many.filter(({ status }) => status === 200).length, 49)
    assert.equal(many.filter(({ status }) => status === 202).length, 11)
    assert.equal(test.upstream.received.length, 51)
    assert.deepEqual(await repeatsOf(test), [])
    const attempts = (await test.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.equal(attempts.filter(({ detail }) => detail.repeat_id === repeat.repeat_id).length, 50)
  })

  test('ends with its time, its grant, or when it is revoked', async (t) => {
    const test = await startHeldCalls(t, engine, asking)
    const { service, user } = test
    const approve = async () => {
      const id = await test.held(get)
      assert.equal((await test.approve(id, { repeat_for_seconds: 900 })).status, 200)
      await test.ended(id)
    }
    await approve()
    assert.equal((await test.ask(get)).status, 200)
    service.clock.advance(900)
    assert.deepEqual(await repeatsOf(test), [])
    await approve()
    const [{ repeat_id }] = await repeatsOf(test)
    const stranger = await service.logIn({ email: 'eve@example.com' })
    const path = `/v4/calls/repeats/${repeat_id}`
    assert.equal((await service.call('DELETE', path, { token: stranger.token })).status, 404)
    assert.equal((await test.ask(get)).status, 200)
    const revoked = await service.call('DELETE', path, { token: user.token })
    assert.deepEqual([revoked.status, revoked.body.repeat_id], [200, repeat_id])
    assert.equal((await service.call('DELETE', path, { token: user.token })).status, 404)
    const id = await test.held(get)
    await test.approve(id, { repeat_for_seconds: 3600 })
    await test.ended(id)
    await service.call('POST', `/v4/grants/${test.grantId}/revoke`, { token: user.token })
    assert.deepEqual(await repeatsOf(test), [])
    assert.equal((await test.ask(get)).body.error.code, 'grant_revoked')
  })

  test('is not given for a destructive call, nor for one whose body says what it does', async (t) => {
    const test = await startHeldCalls(t, engine, asking)
    for (const members of [
      { method: 'DELETE', body: undefined },
      { method: 'POST', body: { text: 'hello' } },
    ]) {
      const id = await test.held(members)
      assert.equal((await test.see(id)).body.repeat, null)
      const refused = await test.approve(id, { repeat_for_seconds: 900 })
      assert.deepEqual([refused.status, refused.body.error.field], [400, 'repeat_for_seconds'])
    }
  })

  test('with an Idempotency-Key takes one call for one key', async (t) => {
    const test = await startHeldCalls(t, engine, asking)
    const id = await test.held(get)
    await test.approve(id, { repeat_for_seconds: 900 })
    await test.ended(id)
    const keyed = () => test.ask(get, { 'idempotency-key': 'one' })
    const first = await keyed()
    assert.equal(first.status, 200)
    assert.deepEqual((await keyed()).body, first.body)
    assert.equal((await repeatsOf(test))[0].calls_left, 49)
    assert.equal(test.upstream.received.length, 2)
  })
})
