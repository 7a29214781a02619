import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startInstances } from '../../testkit/instances.ts'
import { authPayload, keyPair, refusal, register, seal, succeed } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'
import { createStores } from '../stores.ts'
import { Secret } from '../platform/secret.ts'
import { importPrivateKey, importPublicKey, openParts, sealParts } from './envelope-crypto.ts'
import { createRsaQueue } from './rsa-queue.ts'
import { createServiceKeyStore } from './service-key-store.ts'
import { rotateServiceKey } from './service-keys.ts'

/** As `sallyport-server v1-key rotate` does beside the service. */
function rotate({ config, database, vault, clock }: TestService) {
  const { audit } = createStores({ database, vault, clock: clock.now })
  return rotateServiceKey({ config, database, serviceKeys: createServiceKeyStore(vault), audit, clock: clock.now })
}

onBothDatabases("the service's own v1 key", (engine) => {
  test('two instances create one key together, stored encrypted', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const replies = await Promise.all([here, there, here].map((one) => one.call('GET', '/v1/authai/public-key')))
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
    assert.equal(replies[0]?.status, 200)
    assert.ok(!(await stored(here)).includes('PRIVATE KEY'))
    const [key] = await createServiceKeyStore(here.vault).list(here.database.queries, new Date(0))
    assert.ok(!(await stored(here)).includes(Buffer.from(key?.privateKey.reveal() ?? '', 'base64').subarray(100, 200)))
  })

  test('two concurrent rotations happen one after the other', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { body: first } = await here.call('GET', '/v1/authai/public-key')
    const replace = ({ database, vault, clock }: TestService, keyId: string) =>
      database.transaction(async (tx) => {
        const key = { keyId, publicKey: keyId, privateKey: new Secret(keyId) }
        await createServiceKeyStore(vault).replaceCurrent(tx, key, clock.now())
        // So that the other comes before this is committed.
        await sleep(100)
      })
    await Promise.all([replace(here, 'one'), replace(there, 'other')])
    const keys = await createServiceKeyStore(here.vault).list(here.database.queries, new Date(0))
    assert.deepEqual(new Set(keys.map(({ keyId }) => keyId)), new Set([first.authai_key_id, 'one', 'other']))
    assert.equal(keys.filter(({ isCurrent }) => isCurrent).length, 1)
  })

  test('after a rotation the new key is published, and the old one decrypts during the overlap', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_KEY_OVERLAP_HOURS: '1' })
    const client = await register(service)
    const { keyId, fingerprint } = await rotate(service)
    const { body } = await service.call('GET', '/v1/authai/public-key')
    assert.deepEqual([body.authai_key_id, body.fingerprint], [keyId, fingerprint])
    assert.notEqual(keyId, client.serviceKeyId)
    const newKey = createPublicKey(body.authai_public_key as string)
    const envelope = (key = client.serviceKey, name?: string) => ({
      auth_envelope: seal(key, authPayload(service, client, 'authai.refresh'), { keyId: name }),
    })
    for (const auth of [
      () => envelope(),
      () => envelope(client.serviceKey, client.serviceKeyId),
      () => envelope(newKey),
      () => envelope(newKey, keyId),
    ]) {
      await succeed(service, client, '/v1/authai/refresh', auth())
    }
    const refused = [400, 'invalid_auth_envelope', 'auth_envelope']
    const wrong = await service.call('POST', '/v1/authai/refresh', { body: envelope(newKey, client.serviceKeyId) })
    assert.deepEqual(refusal(wrong), refused)
    service.clock.advance(3600)
    const again = await register(service)
    client.challenge = again.challenge
    const late = await service.call('POST', '/v1/authai/refresh', { body: envelope() })
    assert.deepEqual(refusal(late), refused)
    await succeed(service, client, '/v1/authai/refresh', envelope(newKey, keyId))
    await service.app.sweep()
    const rows = await service.database.queries.selectFrom('v1_service_keys').select('key_id').execute()
    assert.deepEqual(
      rows.map(({ key_id }) => key_id),
      [keyId],
    )
    const [record] = await recorded(service, 'v1.service_key_rotated')
    assert.deepEqual(record?.detail, { key_id: keyId, former_key_id: client.serviceKeyId })
  })

  test('envelopes beyond the queue limit are refused', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_RSA_QUEUE: '1' })
    const client = await register(service)
    const auth_envelope = seal(client.serviceKey, authPayload(service, client, 'authai.refresh'))
    const calls = Array.from({ length: 12 }, () =>
      service.call('POST', '/v1/authai/refresh', { body: { auth_envelope } }),
    )
    const replies = await Promise.all(calls)
    const turnedAway = replies.filter(({ status }) => status === 429)
    assert.ok(turnedAway.length > 0, JSON.stringify(replies.map(({ status }) => status)))
    assert.equal(turnedAway[0]?.headers['retry-after'], '1')
    assert.ok(replies.filter(({ status }) => status === 200).length <= 1)
    assert.ok(replies.every(({ status }) => [200, 409, 429].includes(status)))
  })
})

const sealing = { keyId: undefined, aad: new Uint8Array() }

test('RSA does not block the event loop', async () => {
  const { spki, privateKey } = keyPair(0, 3072)
  const queue = createRsaQueue(64)
  const parts = await sealParts(queue, await importPublicKey(spki), Buffer.from('{}'), sealing)
  const key = await importPrivateKey(privateKey.export({ type: 'pkcs8', format: 'der' }))
  const state = { isDone: false }
  const opening = Promise.all(Array.from({ length: 20 }, () => openParts(queue, key, parts))).finally(() => {
    state.isDone = true
  })
  let turns = 0
  let longest = 0
  for (let last = performance.now(); !state.isDone; turns++) {
    await turn()
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }
  assert.ok((await opening).every((plaintext) => Buffer.from(plaintext ?? []).toString() === '{}'))
  assert.ok(turns > 100, `the loop turned ${turns} times, at most ${longest} ms apart`)
})

test('if RSA decryption fails, GCM still runs with a random key, in the same time', async () => {
  const { spki, privateKey } = keyPair(0)
  let runs = 0
  const queue = createRsaQueue(64)
  const counting = { run: <T>(work: () => Promise<T>) => queue.run(work).finally(() => runs++) }
  const key = await importPrivateKey(privateKey.export({ type: 'pkcs8', format: 'der' }))
  const parts = await sealParts(queue, await importPublicKey(spki), Buffer.from('{}'), sealing)
  const broken = Uint8Array.from(parts.encryptedKey)
  broken[7] = (broken[7] ?? 0) ^ 1
  const tag = Uint8Array.from(parts.tag)
  tag[0] = (tag[0] ?? 0) ^ 1
  assert.equal(await openParts(counting, key, { ...parts, encryptedKey: broken }), undefined)
  assert.equal(await openParts(counting, key, { ...parts, tag }), undefined)
  assert.equal(await openParts(counting, key, { ...parts, aad: new Uint8Array([1]) }), undefined)
  assert.equal(runs, 3)
})
