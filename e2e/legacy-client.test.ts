/** The SDK's client of the legacy protocol against the service, and against a faulty relay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateClientKey, LegacyError } from '@sallyport/sdk'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { startCuttingRelay } from './cutting-relay.ts'
import { clientOf, keyFor, roomyForLegacy, serviceFingerprint, through, valuesOf } from './legacy-clients.ts'
import { runServer, sharedService, startService } from './running-service.ts'

const withCode = (code: string) => (error: unknown) => error instanceof LegacyError && error.code === code

onBothDatabases('a client of the legacy protocol', (engine) => {
  const service = sharedService(engine, roomyForLegacy)

  test('saves, reads, refreshes and rotates its key, and keeps its identity', async () => {
    const { client } = await clientOf(service(), { keyId: 'first', label: 'A backend', metadata: { in: 'a test' } })
    const uuid = await client.register()
    const items = [
      { key: 'a', value: { deep: ['ü', null, 1.5] }, metadata: { kind: 'test' } },
      { key: 'b', value: null },
    ]
    assert.equal(await client.save(' Things/Of-Mine ', items), 2)
    const { namespace, items: found, missing } = await client.read('things/of-mine', ['a', 'b', 'c'])
    assert.deepEqual([namespace, missing], ['things/of-mine', ['c']])
    const plain = found.map(({ key, value, metadata }) => ({ key, value, metadata }))
    assert.deepEqual(plain, [items[0], { ...items[1], metadata: {} }])
    await client.refresh()
    await client.rotate(await generateClientKey(2048), { keyId: 'second', label: 'The same', metadata: {} })
    assert.deepEqual(valuesOf(await client.read('things/of-mine', ['b'])), { b: null })
    assert.equal(await client.register(), uuid)
  })

  test('that restarts with its key finds its values, and its old key is refused', async () => {
    const { client, key } = await clientOf(service())
    await client.save('mine', [{ key: 'a', value: 1 }])
    const again = await clientOf(service(), { key })
    assert.deepEqual(valuesOf(await again.client.read('mine', ['a'])), { a: 1 })
    const newKey = await keyFor(service())
    await again.client.rotate(newKey)
    const { client: late } = await clientOf(service(), { key })
    await assert.rejects(late.read('mine', ['a']), withCode('key_retired'))
    await assert.rejects(late.rotate(await keyFor(service())), withCode('key_retired'))
    const { client: moved } = await clientOf(service(), { key: newKey })
    assert.deepEqual(valuesOf(await moved.read('mine', ['a'])), { a: 1 })
  })

  test('makes concurrent calls one after the other, also between two with one key', async () => {
    const { client: one, key } = await clientOf(service())
    const { client: other } = await clientOf(service(), { key })
    await Promise.all(Array.from({ length: 8 }, (_, value) => one.save('turns', [{ key: `k${value}`, value }])))
    for (let value = 8; value < 12; value++) {
      await (value % 2 ? one : other).save('turns', [{ key: `k${value}`, value }])
    }
    const keys = Array.from({ length: 12 }, (_, value) => `k${value}`)
    assert.deepEqual((await one.read('turns', keys)).missing, [])
  })

  test('whose request is refused gets the reason and keeps its challenge', async () => {
    const paths: string[] = []
    const listening = through({
      request: (path, body) => {
        paths.push(path)
        return body
      },
    })
    const { client } = await clientOf(service(), { fetch: listening })
    await assert.rejects(client.save('not a namespace', [{ key: 'a', value: 1 }]), withCode('payload_invalid'))
    await assert.rejects(client.read('mine', []), withCode('payload_invalid'))
    const { key: known } = await clientOf(service())
    const { client: other } = await clientOf(service(), { key: known })
    await other.refresh()
    await assert.rejects(client.rotate(known), withCode('public_key_already_registered'))
    await client.save('mine', [{ key: 'a', value: 1 }])
    assert.deepEqual(paths.filter((path) => path.endsWith('/register')).length, 1)
  })

  test('recovers when the request or the response of any operation is lost', async (t) => {
    const relay = await startCuttingRelay(t)
    const own = await startService(t, engine, { ...roomyForLegacy, SALLYPORT_BASE_URL: relay.url })
    relay.leadTo(own.port)
    for (const what of ['answer', 'request'] as const) {
      const { client } = await clientOf(own, { baseUrl: relay.url })
      const uuid = await client.register()
      relay.lose(what)
      assert.equal(await client.save('lost', [{ key: 'a', value: what }]), 1)
      relay.lose(what)
      assert.deepEqual(valuesOf(await client.read('lost', ['a'])), { a: what })
      relay.lose(what)
      await client.refresh()
      relay.lose(what)
      const newKey = await keyFor(own)
      await client.rotate(newKey)
      relay.lose(what)
      assert.deepEqual(valuesOf(await client.read('lost', ['a'])), { a: what })
      assert.equal(await client.register(), uuid)
      const { client: moved } = await clientOf(own, { baseUrl: relay.url, key: newKey })
      assert.equal(await moved.register(), uuid, 'the new key is in place')
    }
    assert.equal(relay.lost(), 10)
  })

  test('that lost the response to its rotation finds out with its next call', async (t) => {
    const relay = await startCuttingRelay(t)
    const own = await startService(t, engine, { ...roomyForLegacy, SALLYPORT_BASE_URL: relay.url })
    relay.leadTo(own.port)
    const { client } = await clientOf(own, { baseUrl: relay.url })
    await client.save('rotated', [{ key: 'a', value: 1 }])
    const newKey = await keyFor(own)
    relay.lose('answer')
    relay.lose('request', 100)
    await assert.rejects(client.rotate(newKey), withCode('no_answer'))
    relay.lose('request', 0)
    assert.deepEqual(valuesOf(await client.read('rotated', ['a'])), { a: 1 })
    const { client: moved } = await clientOf(own, { baseUrl: relay.url, key: newKey })
    assert.equal(await moved.register(), await client.register())
  })
})

test('a client whose challenge expired gets another one automatically', async (t) => {
  const service = await startService(t, 'sqlite', { ...roomyForLegacy, SALLYPORT_V1_CHALLENGE_SECONDS: '1' })
  const { client } = await clientOf(service)
  await client.save('late', [{ key: 'a', value: 1 }])
  await new Promise((resolve) => setTimeout(resolve, 1500))
  assert.deepEqual(valuesOf(await client.read('late', ['a'])), { a: 1 })
})

test('a client works with a service that requires a recipient key and binding', async (t) => {
  const strict = { SALLYPORT_V1_READ: 'recipient', SALLYPORT_V1_BINDING: 'required' }
  const service = await startService(t, 'sqlite', { ...roomyForLegacy, ...strict })
  const { client } = await clientOf(service)
  await client.save('mine', [{ key: 'a', value: 1 }])
  assert.deepEqual(valuesOf(await client.read('mine', ['a'])), { a: 1 })
})

test("a client keeps the service's old key during a rotation, then uses the new one if pinned", async (t) => {
  const service = await startService(t, 'sqlite', roomyForLegacy)
  const pinned = [await serviceFingerprint(service)]
  const { client, key } = await clientOf(service, { serviceKeyFingerprint: pinned })
  await client.save('mine', [{ key: 'a', value: 1 }])
  const rotated = await runServer(t, ['v1-key', 'rotate'], service.env)
  assert.equal(rotated.code, 0, rotated.stderr)
  const newFingerprint = await serviceFingerprint(service)
  assert.notEqual(newFingerprint, pinned[0])
  assert.deepEqual(valuesOf(await client.read('mine', ['a'])), { a: 1 })
  const { client: late } = await clientOf(service, { key, serviceKeyFingerprint: [...pinned] })
  await assert.rejects(late.read('mine', ['a']), withCode('service_key_mismatch'))

  await service.stop()
  await service.startAgain({ SALLYPORT_V1_KEY_OVERLAP_HOURS: '0' })
  await assert.rejects(client.read('mine', ['a']), withCode('service_key_mismatch'))
  pinned.push(newFingerprint)
  assert.deepEqual(valuesOf(await client.read('mine', ['a'])), { a: 1 })
})
