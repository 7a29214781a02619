/** What whoever carries the envelopes could do with them: a relay sees every ciphertext, and may be a client itself. */
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import {
  authAad,
  authEnvelope,
  keyPair,
  open,
  proofOf,
  queryPayload,
  read,
  readBody,
  refresh,
  refusal,
  register,
  save,
  saveBody,
  seal,
  succeed,
} from '../../testkit/legacy-v1.ts'
import type { TestClient, TestEnvelope } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

const post = (service: TestService, path: string, body: object) => service.call('POST', path, { body })
const badData = [400, 'payload_invalid', 'data_envelope']
const badAuth = [400, 'invalid_auth_envelope', 'auth_envelope']

async function start(t: Parameters<typeof startService>[0], engine: Parameters<typeof startService>[1]) {
  const service = await startService(t, engine)
  return { service, victim: await register(service, keyPair(0)), relay: await register(service, keyPair(1)) }
}

async function rotates(service: TestService, client: TestClient, bindTo: number, sent: number) {
  const aad = authAad({ new_client_public_key: keyPair(bindTo) })
  const auth_envelope = authEnvelope(service, client, 'authai.rotate_key', { aad })
  return post(service, '/v1/authai/rotate-key', { auth_envelope, new_client_public_key: keyPair(sent).pem })
}

onBothDatabases('relay attacks', (engine) => {
  test("another client's data_envelope with one's own authentication is refused", async (t) => {
    const { service, victim, relay } = await start(t, engine)
    const { data_envelope } = saveBody(service, victim, [{ key: 'pin', value: 1234 }], { bind: true })
    const unbound = { auth_envelope: authEnvelope(service, relay, 'kv.save'), data_envelope }
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', unbound)), badData)
    const aad = authAad({ data_envelope })
    const bound = { auth_envelope: authEnvelope(service, relay, 'kv.save', { aad }), data_envelope }
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', bound)), badData)
    assert.deepEqual((await read(service, relay, ['pin'])).missing, ['pin'])
  })

  test("another client's query_envelope with one's own authentication is refused", async (t) => {
    const { service, victim, relay } = await start(t, engine)
    const { query_envelope } = readBody(service, victim, ['pin'], { bind: true })
    const body = { auth_envelope: authEnvelope(service, relay, 'kv.read'), query_envelope }
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', body)), [400, 'payload_invalid', 'query_envelope'])
  })

  test("one's own data_envelope with another client's authentication is refused", async (t) => {
    const { service, victim, relay } = await start(t, engine)
    const { auth_envelope } = saveBody(service, victim, [{ key: 'pin', value: 1234 }], { bind: true })
    const { data_envelope } = saveBody(service, relay, [{ key: 'pin', value: 0 }])
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', { auth_envelope, data_envelope })), badAuth)
    assert.equal((await refresh(service, victim)).status, 200, 'the challenge is as it was')
  })

  test('a query_envelope of an earlier read is refused with a later authentication', async (t) => {
    const { service, victim } = await start(t, engine)
    const earlier = readBody(service, victim, ['a'], { bind: true })
    await succeed(service, victim, '/v1/kv/read', earlier)
    const later = readBody(service, victim, ['b'], { bind: true })
    const mixed = { auth_envelope: later.auth_envelope, query_envelope: earlier.query_envelope }
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', mixed)), badAuth)
    const unbound = { ...mixed, auth_envelope: authEnvelope(service, victim, 'kv.read') }
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', unbound)), [400, 'payload_invalid', 'query_envelope'])
  })

  test('a binding can be neither removed nor added in transit', async (t) => {
    const { service, victim } = await start(t, engine)
    const bound = saveBody(service, victim, [{ key: 'a', value: 1 }], { bind: true })
    const { aad, ...stripped } = bound.data_envelope
    assert.ok(aad)
    const without = { auth_envelope: authEnvelope(service, victim, 'kv.save'), data_envelope: stripped }
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', without)), badData)
    const plain = saveBody(service, victim, [{ key: 'a', value: 1 }])
    const added = { ...plain, data_envelope: { ...plain.data_envelope, aad } }
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', added)), badData)
  })

  test('a swapped recipient is refused: results go to the client or its authenticated key', async (t) => {
    const { service, victim } = await start(t, engine)
    await save(service, victim, [{ key: 'pin', value: 1234 }])
    const recipient_public_key = keyPair(1).pem
    const unbound = { ...readBody(service, victim, ['pin']), recipient_public_key }
    const invalid = [400, 'invalid_field', 'recipient_public_key']
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', unbound)), invalid)
    const boundToNone = { ...readBody(service, victim, ['pin'], { bind: true }), recipient_public_key }
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', boundToNone)), badAuth)
    const boundToAnother = readBody(service, victim, ['pin'], { bind: true, recipient: keyPair(2) })
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', { ...boundToAnother, recipient_public_key })), badAuth)
    const { recipient_public_key: taken, ...dropped } = boundToAnother
    assert.ok(taken)
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', dropped)), badAuth)
    const reply = await succeed(service, victim, '/v1/kv/read', boundToAnother)
    assert.equal(open(keyPair(2).privateKey, reply.body.result_envelope as TestEnvelope).items[0].value, 1234)
  })

  test('a swapped new key is refused', async (t) => {
    const { service, victim } = await start(t, engine)
    assert.deepEqual(refusal(await rotates(service, victim, 2, 3)), badAuth)
    assert.equal((await rotates(service, victim, 2, 2)).status, 200)
  })

  test('a forged result does not match the proof', async (t) => {
    const { service, victim } = await start(t, engine)
    await save(service, victim, [{ key: 'pin', value: 1234 }])
    const { nonce } = victim.challenge
    const request_id = '0198f0aa-0000-7000-8000-00000000000a'
    const query_envelope = seal(victim.serviceKey, queryPayload(['pin']))
    const auth_envelope = authEnvelope(service, victim, 'kv.read', { change: { request_id } })
    const reply = await succeed(service, victim, '/v1/kv/read', { auth_envelope, query_envelope })
    const { result_envelope, result_proof } = reply.body
    assert.equal(result_proof, proofOf(nonce, request_id, result_envelope as TestEnvelope))
    const forged = seal(victim.key.publicKey, open(victim.key.privateKey, result_envelope as TestEnvelope))
    assert.notEqual(result_proof, proofOf(nonce, request_id, forged))
    // Of an earlier read the proof is another too: it is made with a nonce that is used once.
    assert.notEqual(result_proof, proofOf(victim.challenge.nonce, request_id, result_envelope as TestEnvelope))
  })

  test('envelopes to a swapped service key are refused, and its fingerprint differs', async (t) => {
    const { service, victim } = await start(t, engine)
    const replaced = keyPair(0, 3072)
    const { body } = await service.call('GET', '/v1/authai/public-key')
    assert.notEqual(body.fingerprint, replaced.fingerprint)
    const fooled = { ...victim, serviceKey: createPublicKey(replaced.pem) }
    assert.deepEqual(refusal(await refresh(service, fooled)), badAuth)
    assert.equal((await refresh(service, victim)).status, 200)
  })

  test('if binding is required, unbound envelopes are refused', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_BINDING: 'required' })
    const client = await register(service)
    const items = [{ key: 'a', value: 1 }]
    const bound = saveBody(service, client, items, { bind: true })
    const unbound = saveBody(service, client, items)
    assert.deepEqual(refusal(await refresh(service, client)), badAuth)
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', unbound)), badAuth)
    const aad = authAad({ data_envelope: unbound.data_envelope })
    const half = { ...unbound, auth_envelope: authEnvelope(service, client, 'kv.save', { aad }) }
    assert.deepEqual(refusal(await post(service, '/v1/kv/save', half)), badData)
    await succeed(service, client, '/v1/kv/save', bound)
  })

  test('an aad that is not a binding is opaque but authenticated', async (t) => {
    const { service, victim } = await start(t, engine)
    const auth_envelope = authEnvelope(service, victim, 'authai.refresh', { aad: 'trace-7' })
    const other = { ...auth_envelope, aad: Buffer.from('trace-8').toString('base64url') }
    assert.deepEqual(refusal(await post(service, '/v1/authai/refresh', { auth_envelope: other })), badAuth)
    await succeed(service, victim, '/v1/authai/refresh', { auth_envelope })
  })
})
