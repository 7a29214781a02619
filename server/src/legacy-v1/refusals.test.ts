/** Each row of the contract's error table, and that a refusal leaves the challenge as it was. */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import {
  authEnvelope,
  authPayload,
  keyPair,
  newKeyPair,
  queryPayload,
  readBody,
  refresh,
  refusal,
  register,
  save,
  saveBody,
  savePayload,
  seal,
  succeed,
} from '../../testkit/legacy-v1.ts'
import type { TestClient } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

const post = (service: TestService, path: string, body: object) => service.call('POST', path, { body })

/** Whatever was refused, the challenge can still be used. */
async function stillWorks(service: TestService, client: TestClient): Promise<void> {
  const { challenge_id } = client.challenge
  const { status, text } = await refresh(service, client)
  assert.equal(status, 200, `${challenge_id}: ${text}`)
}

/** Of the right size, and no key all the same. */
function evenModulus(pem: string): string {
  const { kty = '', n = '', e = '' } = createPublicKey(pem).export({ format: 'jwk' })
  const modulus = Buffer.from(n, 'base64url')
  modulus.writeUInt8((modulus.at(-1) ?? 0) & 0xfe, modulus.length - 1)
  const key = createPublicKey({ key: { kty, n: modulus.toString('base64url'), e }, format: 'jwk' })
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

onBothDatabases('refusals of the legacy protocol', (engine) => {
  test('missing_field: a required member is absent', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const { auth_envelope, data_envelope } = saveBody(service, client, [{ key: 'a', value: 1 }])
    const cases: [string, object, string][] = [
      ['authai/register', {}, 'client_public_key'],
      ['authai/refresh', {}, 'auth_envelope'],
      ['authai/rotate-key', { auth_envelope }, 'new_client_public_key'],
      ['authai/rotate-key', { new_client_public_key: keyPair(1).pem }, 'auth_envelope'],
      ['kv/save', { auth_envelope }, 'data_envelope'],
      ['kv/save', { data_envelope }, 'auth_envelope'],
      ['kv/read', { auth_envelope }, 'query_envelope'],
    ]
    for (const [path, body, field] of cases) {
      assert.deepEqual(refusal(await post(service, `/v1/${path}`, body)), [400, 'missing_field', field])
    }
    await stillWorks(service, client)
  })

  test('missing_recipient_public_key and variant B: the result goes to that key if configured', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_READ: 'recipient' })
    const client = await register(service)
    const reply = await post(service, '/v1/kv/read', readBody(service, client, ['a']))
    assert.deepEqual(refusal(reply), [400, 'missing_recipient_public_key', 'recipient_public_key'])
    await succeed(service, client, '/v1/kv/read', readBody(service, client, ['a'], { recipient: keyPair(1) }))
  })

  test('invalid_field: a member is malformed, unknown or repeated', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const key = { client_public_key: keyPair(1).pem }
    const cases: [object, string][] = [
      [{ client_public_key: 7 }, 'client_public_key'],
      [{ ...key, client_key_alg: 'RSA1_5' }, 'client_key_alg'],
      [{ ...key, client_key_id: '' }, 'client_key_id'],
      [{ ...key, client_label: 7 }, 'client_label'],
      [{ ...key, metadata: [] }, 'metadata'],
      [{ ...key, metadata: { a: 'x'.repeat(4096) } }, 'metadata'],
      [{ ...key, client_labell: 'x' }, 'client_labell'],
    ]
    for (const [body, field] of cases) {
      assert.deepEqual(refusal(await post(service, '/v1/authai/register', body)), [400, 'invalid_field', field])
    }
    const auth = JSON.stringify(authEnvelope(service, client, 'authai.refresh'))
    const twice = `{"auth_envelope":${auth},"auth_envelope":${auth}}`
    assert.deepEqual(refusal(await service.call('POST', '/v1/authai/refresh', { body: twice })), [
      ...[400, 'invalid_field', 'body'],
    ])
    const many = `{"data_envelope":[${'{},'.repeat(500_000)}{}]}`
    assert.deepEqual(refusal(await service.call('POST', '/v1/kv/save', { body: many })), [400, 'invalid_field', 'body'])
    const unbound = readBody(service, client, ['a'], { recipient: keyPair(1) })
    assert.deepEqual(refusal(await post(service, '/v1/kv/read', unbound)), [
      ...[400, 'invalid_field', 'recipient_public_key'],
    ])
    await stillWorks(service, client)
  })

  test('invalid_public_key: anything but an RSA key of the right size is refused', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const { publicKey: elliptic, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { publicKey: pss } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
    const { pem } = keyPair(1)
    const odd = [
      ...['', 'no key', pem.slice(0, -40), pem.replace('A', '!'), `${pem}${pem}`, `junk\n${pem}`],
      elliptic.export({ type: 'spki', format: 'pem' }),
      pss.export({ type: 'spki', format: 'pem' }),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      keyPair(1).privateKey.export({ type: 'pkcs8', format: 'pem' }),
      newKeyPair(1024).pem,
      evenModulus(pem),
      newKeyPair(2048, 3).pem,
    ].map(String)
    const { auth_envelope, query_envelope } = readBody(service, client, ['a'])
    for (const key of odd) {
      const members: [string, object, string][] = [
        ['authai/register', { client_public_key: key }, 'client_public_key'],
        ['authai/rotate-key', { auth_envelope, new_client_public_key: key }, 'new_client_public_key'],
        ['kv/read', { auth_envelope, query_envelope, recipient_public_key: key }, 'recipient_public_key'],
      ]
      for (const [path, body, field] of members) {
        assert.deepEqual(refusal(await post(service, `/v1/${path}`, body)), [400, 'invalid_public_key', field], key)
      }
    }
    await stillWorks(service, client)
  })

  test('SPKI and PKCS#1 of a key are the same key', async (t) => {
    const service = await startService(t, engine)
    const key = keyPair(0)
    const one = await register(service, key)
    const pkcs1 = key.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    const again = await register(service, { ...key, pem: `\n${pkcs1.replaceAll('\n', '\r\n')}` })
    assert.equal(again.clientUuid, one.clientUuid)
  })

  test('invalid_auth_envelope: unreadable, malformed or outside its time window', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const payload = authPayload(service, client, 'authai.refresh')
    const { serviceKey } = client
    const text = JSON.stringify(payload)
    const envelopes: unknown[] = [
      ...[null, 'text', 7, [], {}],
      seal(keyPair(1).publicKey, payload),
      seal(serviceKey, payload, { keyId: 'another' }),
      seal(serviceKey, payload, { contentKey: Buffer.alloc(16) }),
      ...[Buffer.from('no json'), Buffer.from([0xff, 0xfe]), Buffer.from('[]'), Buffer.from('null')].map((bytes) =>
        seal(serviceKey, bytes),
      ),
      seal(serviceKey, Buffer.from(`\ufeff${text}`)),
      seal(serviceKey, Buffer.from(`${'['.repeat(600)}${']'.repeat(600)}`)),
      seal(serviceKey, Buffer.from(text.replace('{', '{"v":"ksp1",'))),
      ...[
        { v: 'ksp2' },
        { type: 'challenge' },
        { client_uuid: 'x' },
        { challenge_id: 7 },
        { request_id: 'r-1' },
        { nonce: 'AA' },
        { nonce: `${client.challenge.nonce}==` },
        { extra: 1 },
        { issued_at: 'now' },
        { issued_at: '2026-11-15T12:00:01Z', expires_at: '2026-11-15T12:00:00Z' },
        { issued_at: '2026-11-15T12:05:01Z', expires_at: '2026-11-15T12:10:00Z' },
        { issued_at: '2026-11-15T11:00:00Z', expires_at: '2026-11-15T11:54:59Z' },
      ].map((change) => seal(serviceKey, { ...payload, ...change })),
      ...Object.keys(payload).map((name) => seal(serviceKey, { ...payload, [name]: undefined })),
    ]
    for (const auth_envelope of envelopes) {
      const reply = await post(service, '/v1/authai/refresh', { auth_envelope })
      assert.deepEqual(refusal(reply), [400, 'invalid_auth_envelope', 'auth_envelope'], JSON.stringify(auth_envelope))
    }
    const skewed = { issued_at: '2026-11-15T12:05:00Z', expires_at: '2026-11-15T12:05:00.000000+00:00' }
    const auth_envelope = seal(serviceKey, { ...payload, ...skewed }, { keyId: client.serviceKeyId })
    await succeed(service, client, '/v1/authai/refresh', { auth_envelope })
  })

  test('challenge_not_found: no such challenge, no such client, or the challenge of another', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const other = await register(service, keyPair(1))
    for (const change of [
      { challenge_id: randomUUID() },
      { client_uuid: randomUUID() },
      { client_uuid: other.clientUuid },
      { challenge_id: other.challenge.challenge_id, nonce: other.challenge.nonce },
    ]) {
      const auth_envelope = authEnvelope(service, client, 'authai.refresh', { change })
      const reply = await post(service, '/v1/authai/refresh', { auth_envelope })
      assert.deepEqual(refusal(reply), [404, 'challenge_not_found', undefined])
    }
    await stillWorks(service, client)
    await stillWorks(service, other)
  })

  test('challenge_expired: after five minutes; registering again helps', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    service.clock.advance(300)
    assert.deepEqual(refusal(await refresh(service, client)), [410, 'challenge_expired', undefined])
    await stillWorks(service, await register(service))
  })

  test("of several errors the contract's first one is reported", async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    service.clock.advance(300)
    const faults: [string, object][] = [
      ['invalid_auth_envelope', { type: 'other' }],
      ['challenge_purpose_mismatch', { action: 'kv.save' }],
      ['challenge_not_found', { client_uuid: randomUUID() }],
      ['challenge_expired', { nonce: Buffer.alloc(32).toString('base64url') }],
    ]
    for (const [index, [code]] of faults.entries()) {
      const change: object = Object.assign({}, ...faults.slice(index).map(([, members]) => members))
      const auth_envelope = authEnvelope(service, client, 'authai.refresh', { change })
      assert.equal(refusal(await post(service, '/v1/authai/refresh', { auth_envelope }))[1], code)
    }
  })

  test('challenge_already_used: a replay, and other challenges active at that use', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const beside = await register(service)
    const body = saveBody(service, client, [{ key: 'a', value: 1 }])
    const next = { ...client }
    await succeed(service, next, '/v1/kv/save', body)
    const replays = [
      await post(service, '/v1/kv/save', body),
      await refresh(service, client),
      await refresh(service, beside),
    ]
    for (const reply of replays) assert.deepEqual(refusal(reply), [409, 'challenge_already_used', undefined])
    await stillWorks(service, next)
  })

  test("challenge_nonce_mismatch: a nonce other than the challenge's", async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const change = { nonce: Buffer.alloc(32).toString('base64url') }
    const auth_envelope = authEnvelope(service, client, 'authai.refresh', { change })
    const reply = await post(service, '/v1/authai/refresh', { auth_envelope })
    assert.deepEqual(refusal(reply), [401, 'challenge_nonce_mismatch', undefined])
    await stillWorks(service, client)
  })

  test('challenge_purpose_mismatch: an action of another endpoint or an unknown one', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const { data_envelope } = saveBody(service, client, [{ key: 'a', value: 1 }])
    const cases: [string, string, object][] = [
      ['authai/refresh', 'kv.save', {}],
      ['authai/refresh', 'authai.everything', {}],
      ['authai/rotate-key', 'authai.refresh', { new_client_public_key: keyPair(1).pem }],
      ['kv/save', 'kv.read', { data_envelope }],
      ['kv/read', 'kv.save', { query_envelope: seal(client.serviceKey, queryPayload(['a'])) }],
    ]
    for (const [path, action, members] of cases) {
      const auth_envelope = authEnvelope(service, client, action)
      const reply = await post(service, `/v1/${path}`, { auth_envelope, ...members })
      assert.deepEqual(refusal(reply), [400, 'challenge_purpose_mismatch', 'auth_envelope'])
    }
    await stillWorks(service, client)
  })

  test("public_key_already_registered: rotation to another client's key, active or retired", async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const other = await register(service, keyPair(1))
    const rotate = (one: TestClient, to: number) =>
      post(service, '/v1/authai/rotate-key', {
        auth_envelope: authEnvelope(service, one, 'authai.rotate_key'),
        new_client_public_key: keyPair(to).pem,
      })
    const taken = [409, 'public_key_already_registered', 'new_client_public_key']
    assert.deepEqual(refusal(await rotate(client, 1)), taken)
    assert.equal((await rotate(other, 2)).status, 200)
    assert.deepEqual(refusal(await rotate(client, 1)), taken)
    await stillWorks(service, client)
  })

  test('payload_invalid: the content of data_envelope or query_envelope is invalid', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const { serviceKey } = client
    const item = { key: 'a', value: 1 }
    const good = savePayload([item])
    const data: unknown[] = [
      ...[null, [], {}].map((value) => ({ envelope: value })),
      ...[
        ...[
          { ...good, type: 'kv.read' },
          { ...good, v: 'ksp2' },
          { ...good, namespace: ' ' },
          { ...good, extra: 1 },
        ],
        ...[[], {}, [{ key: 'a' }], [item, item], [{ ...item, metadata: 1 }], [{ ...item, key: 'a\0' }]].map((items) =>
          savePayload(items),
        ),
        savePayload([{ key: 'a', value: 'x'.repeat(65_535) }]),
        savePayload(Array.from({ length: 101 }, (_, index) => ({ key: `k${index}`, value: 1 }))),
      ].map((payload) => ({ envelope: seal(serviceKey, payload) })),
      { envelope: seal(keyPair(1).publicKey, good) },
      ...['"value":[]', '"metadata":{}'].map((member) => {
        const text = JSON.stringify(savePayload([{ key: 'a', value: [], metadata: {} }]))
        const padded = text.replace(member, member.replace(/[\]}]$/, `${' '.repeat(65_536)}$&`))
        return { envelope: seal(serviceKey, Buffer.from(padded)) }
      }),
      { envelope: seal(serviceKey, Buffer.from(JSON.stringify(good).replace('"value":1', '"value":{"x":1,"x":1}'))) },
    ]
    for (const { envelope } of data as { envelope: unknown }[]) {
      const body = { auth_envelope: authEnvelope(service, client, 'kv.save'), data_envelope: envelope }
      assert.deepEqual(refusal(await post(service, '/v1/kv/save', body)), [400, 'payload_invalid', 'data_envelope'])
    }
    const query = [
      ...[queryPayload([]), queryPayload(['a', 'a']), queryPayload([7]), queryPayload(['a'], '*'), good],
      { ...queryPayload(['a']), type: 'kv.save' },
    ]
    for (const payload of query) {
      const envelopes = { query_envelope: seal(serviceKey, payload) }
      const body = { auth_envelope: authEnvelope(service, client, 'kv.read'), ...envelopes }
      assert.deepEqual(refusal(await post(service, '/v1/kv/read', body)), [400, 'payload_invalid', 'query_envelope'])
    }
    await save(service, client, [{ key: 'a', value: 'x'.repeat(65_534) }])
  })
})
