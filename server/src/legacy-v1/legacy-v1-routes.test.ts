import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import {
  authAad,
  authEnvelope,
  keyPair,
  open,
  openText,
  proofOf,
  read,
  readBody,
  refresh,
  refusal,
  register,
  save,
  saveBody,
  seal,
  sha256,
  succeed,
} from '../../testkit/legacy-v1.ts'
import type { TestEnvelope } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

onBothDatabases('the legacy protocol', (engine) => {
  test('a client registers, saves, reads, refreshes and rotates its key', async (t) => {
    const service = await startService(t, engine)
    const published = await service.call('GET', '/v1/authai/public-key')
    assert.equal(published.status, 200, published.text)
    const { authai_public_key, authai_key_id, fingerprint, ...none } = published.body
    assert.deepEqual(none, {})
    const serviceKey = createPublicKey(authai_public_key as string)
    assert.equal(serviceKey.asymmetricKeyDetails?.modulusLength, 3072)
    assert.equal(fingerprint, `SHA256:${sha256(serviceKey.export({ type: 'spki', format: 'der' }))}`)

    const key = keyPair(0)
    const members = { client_key_alg: 'RSA-OAEP-256/A256GCM', client_key_id: 'mine', client_label: 'billing' }
    const body = { client_public_key: key.pem, ...members, metadata: { team: 1 } }
    const registered = await service.call('POST', '/v1/authai/register', { body })
    assert.equal(registered.status, 201, registered.text)
    const { client_uuid, challenge_id, challenge_for_client, expires_at, ...keys } = registered.body
    assert.deepEqual(keys, { authai_public_key, authai_key_id })
    assert.match(client_uuid as string, uuid)
    assert.equal(expires_at, '2026-11-15T12:05:00.000Z')
    assert.equal(challenge_for_client.key_id, 'mine')
    const challenge = open(key.privateKey, challenge_for_client)
    assert.deepEqual(challenge, {
      ...{ v: 'ksp1', type: 'challenge', purpose: 'authai.operation', client_uuid, challenge_id },
      ...{ nonce: challenge.nonce, issued_at: '2026-11-15T12:00:00.000Z', expires_at },
    })
    assert.equal(Buffer.from(challenge.nonce as string, 'base64url').length, 32)

    const client = {
      clientUuid: client_uuid as string,
      key,
      challenge,
      serviceKey,
      serviceKeyId: authai_key_id as string,
    }
    const items = [
      { key: 'one', value: { deep: [1, null, 'ü'] }, metadata: { tag: 'x' } },
      { key: 'two', value: null },
    ]
    const saved = await save(service, client, items)
    const names = ['client_uuid', 'challenge_id', 'challenge_for_client', 'expires_at']
    assert.deepEqual(Object.keys(saved.body as object), [...names, 'saved_count'])
    assert.equal(saved.body.saved_count, 2)
    const request_id = '0198F0AA-0000-7000-8000-00000000000A'
    const reading = readBody(service, client, ['two', 'gone', 'one'])
    const { nonce } = client.challenge
    const auth_envelope = authEnvelope(service, client, 'kv.read', { change: { request_id } })
    const reply = await succeed(service, client, '/v1/kv/read', { ...reading, auth_envelope })
    assert.deepEqual(Object.keys(reply.body as object), [...names, 'result_envelope', 'result_proof'])
    assert.equal(reply.body.result_proof, proofOf(nonce, request_id, reply.body.result_envelope))
    const updated_at = '2026-11-15T12:00:00.000Z'
    assert.deepEqual(open(key.privateKey, reply.body.result_envelope), {
      ...{ v: 'ksp1', type: 'kv.read.result', namespace: 'team/a' },
      items: [
        { key: 'two', value: null, metadata: {}, updated_at },
        { ...items[0], updated_at },
      ],
      missing: ['gone'],
    })

    const refreshed = await refresh(service, client)
    assert.equal(refreshed.status, 200, refreshed.text)
    assert.deepEqual(Object.keys(refreshed.body as object), names)
    client.challenge = open(key.privateKey, refreshed.body.challenge_for_client)

    const next = keyPair(1)
    const rotation = { new_client_public_key: next.pem, new_client_key_id: 'newer' }
    const rotating = { auth_envelope: authEnvelope(service, client, 'authai.rotate_key'), ...rotation }
    const rotated = await succeed(service, { ...client, key: next }, '/v1/authai/rotate-key', rotating)
    assert.deepEqual(Object.keys(rotated.body as object), [...names, 'client_key_id', 'public_key_fingerprint'])
    assert.equal(rotated.body.client_uuid, client_uuid)
    assert.equal(rotated.body.client_key_id, 'newer')
    assert.equal(rotated.body.public_key_fingerprint, next.fingerprint)
    client.key = next
    client.challenge = open(next.privateKey, rotated.body.challenge_for_client)
    assert.deepEqual((await read(service, client, ['two'])).items[0].key, 'two')

    const events = (await recorded(service, 'v1.')).map(({ event, detail }) => [event, detail.client_uuid])
    const expected = ['registered', 'saved', 'read', 'refreshed', 'key_rotated', 'read']
    assert.deepEqual(
      events,
      expected.map((event) => [`v1.${event}`, client_uuid]),
    )
    const rotations = await service.database.queries.selectFrom('v1_rotations').selectAll().execute()
    assert.deepEqual(
      rotations.map(({ old_fingerprint, new_fingerprint }) => [old_fingerprint, new_fingerprint]),
      [[key.fingerprint, next.fingerprint]],
    )
  })

  test('padded base64url is accepted too', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    await save(service, client, [{ key: 'one', value: 1 }])
    const padded = (envelope: TestEnvelope) =>
      Object.fromEntries(
        Object.entries(envelope).map(([name, text]: [string, string]) => {
          const isEncoded = ['encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'].includes(name)
          return [name, isEncoded ? text.padEnd(4 * Math.ceil(text.length / 4), '=') : text]
        }),
      )
    const { auth_envelope, query_envelope } = readBody(service, client, ['one'])
    const body = { auth_envelope: padded(auth_envelope), query_envelope: padded(query_envelope) }
    assert.notDeepEqual(body, { auth_envelope, query_envelope }, 'something is padded')
    await succeed(service, client, '/v1/kv/read', body)
  })

  test('the last write wins, and namespaces are normalised', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    await save(service, client, [{ key: 'a', value: 1, metadata: { first: true } }])
    service.clock.advance(1)
    const data_envelope = seal(client.serviceKey, {
      ...{ v: 'ksp1', type: 'kv.save', namespace: '  Team/A ' },
      items: [{ key: 'a', value: 2 }],
    })
    await succeed(service, client, '/v1/kv/save', { ...saveBody(service, client, []), data_envelope })
    const { items } = await read(service, client, ['a'])
    assert.deepEqual(items, [{ key: 'a', value: 2, metadata: {}, updated_at: '2026-11-15T12:00:01.000Z' }])
  })

  test('a value is returned exactly as it was sent, digit for digit', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const value = '{ "big": 12345678901234567890, "float": 1.0, "small": -0, "far": 1e400 }'
    const text = `{"v":"ksp1","type":"kv.save","namespace":"n","items":[{"key":"a","value":${value},"metadata":{"n":1.50}}]}`
    const data_envelope = seal(client.serviceKey, Buffer.from(text))
    await succeed(service, client, '/v1/kv/save', { ...saveBody(service, client, []), data_envelope })
    const query_envelope = seal(client.serviceKey, { v: 'ksp1', type: 'kv.read', namespace: 'n', keys: ['a'] })
    const reading = { ...readBody(service, client, []), query_envelope }
    const reply = await succeed(service, client, '/v1/kv/read', reading)
    const plaintext = openText(client.key.privateKey, reply.body.result_envelope)
    assert.ok(plaintext.includes(`"value":${value},"metadata":{"n":1.50}`), plaintext)
  })

  test("clients do not see each other's values under the same name", async (t) => {
    const service = await startService(t, engine)
    const one = await register(service, keyPair(0))
    const other = await register(service, keyPair(1))
    await save(service, one, [{ key: 'a', value: 'mine' }])
    assert.deepEqual((await read(service, other, ['a'])).missing, ['a'])
    await save(service, other, [{ key: 'a', value: 'other' }])
    assert.equal((await read(service, one, ['a'])).items[0].value, 'mine')
  })

  test('no plaintext appears in a response, a log line, a record or the database', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_LOG_LEVEL: 'debug' })
    const client = await register(service)
    const secret = 'hush-hush-hush'
    const replies = [await save(service, client, [{ key: `${secret}-key`, value: secret, metadata: { m: secret } }])]
    const namespaced = { v: 'ksp1', type: 'kv.save', namespace: `ns-${secret}`, items: [{ key: 'k', value: 1 }] }
    const data_envelope = seal(client.serviceKey, namespaced)
    const saving = { ...saveBody(service, client, []), data_envelope }
    replies.push(await succeed(service, client, '/v1/kv/save', saving))
    for (const odd of [[{ key: secret }], [{ key: 'k', value: 1, [secret]: 1 }], secret]) {
      const body = saveBody(service, client, odd)
      const reply = await service.call('POST', '/v1/kv/save', { body })
      assert.deepEqual(refusal(reply), [400, 'payload_invalid', 'data_envelope'])
      replies.push(reply)
    }
    const auth_envelope = authEnvelope(service, client, 'authai.refresh', { change: { request_id: secret } })
    replies.push(await service.call('POST', '/v1/authai/refresh', { body: { auth_envelope } }))
    const { nonce } = client.challenge
    const records = JSON.stringify(await recorded(service))
    const everywhere = [...replies.map(({ text }) => text), ...service.log, records]
    const database = await stored(service)
    for (const plain of [secret, Buffer.from(secret).toString('base64').slice(0, 16), nonce]) {
      assert.ok(everywhere.every((text) => !text.includes(plain)))
      assert.ok(!database.includes(plain))
    }
    assert.ok(!database.includes(Buffer.from(nonce, 'base64url')))
  })

  test('v1 is marked as deprecated in the reference', async (t) => {
    const service = await startService(t, engine)
    const { body } = await service.call('GET', '/openapi.json')
    const paths = Object.entries(body.paths as Record<string, Record<string, { deprecated?: boolean }>>)
    const v1 = paths.filter(([path]) => path.startsWith('/v1/'))
    assert.equal(v1.length, 6)
    for (const [path, operations] of v1) {
      for (const operation of Object.values(operations)) assert.equal(operation.deprecated, true, path)
    }
  })

  test('an auth_envelope bound to the rest of the request is accepted', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_BINDING: 'required' })
    const client = await register(service)
    const saving = saveBody(service, client, [{ key: 'a', value: 1 }], { bind: true })
    await succeed(service, client, '/v1/kv/save', saving)
    await succeed(service, client, '/v1/kv/read', readBody(service, client, ['a'], { bind: true }))
    const aad = authAad({})
    const auth_envelope = authEnvelope(service, client, 'authai.refresh', { aad })
    await succeed(service, client, '/v1/authai/refresh', { auth_envelope })
  })
})
