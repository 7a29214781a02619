import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromBase64url, toBase64url } from './base64url.ts'
import { aadBytes, authBinding, envelopeHash, isBinding, payloadBinding, resultProof } from './binding.ts'
import { readEnvelope, writeEnvelope } from './envelope.ts'
import type { Envelope } from './envelope.ts'
import { entryTexts, hasRepeatedMember } from './json-members.ts'
import { Malformed } from './malformed.ts'
import { normalizeNamespace } from './namespace.ts'
import { readAuthPayload, readQueryPayload, readSavePayload } from './payloads.ts'
import { fromPem, publicKeyFingerprint, toPem } from './public-key.ts'

const bytes = (length: number) => toBase64url(new Uint8Array(length).fill(7))
const envelope: Envelope = {
  v: 'ksp1',
  alg: 'RSA-OAEP-256',
  enc: 'A256GCM',
  key_id: 'one',
  encrypted_key: bytes(384),
  iv: bytes(12),
  ciphertext: bytes(40),
  tag: bytes(16),
  aad: bytes(5),
}
const refuses = (value: unknown) => {
  assert.throws(() => readEnvelope(value), Malformed)
}
const without = <T extends object>(value: T, name: string): T =>
  Object.fromEntries(Object.entries(value).filter(([one]) => one !== name)) as T
const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('base64url')

test('base64url is decoded with or without padding', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (some) => {
      const text = toBase64url(some)
      assert.equal(text, Buffer.from(some).toString('base64url'))
      assert.deepEqual(fromBase64url(text), some)
      const padded = text.padEnd(4 * Math.ceil(text.length / 4), '=')
      assert.deepEqual(fromBase64url(padded), some)
    }),
  )
  for (const odd of [
    'A',
    'A===',
    'AA=',
    'AAA==',
    'AAAA=',
    'AAAA====',
    '=',
    '==',
    '====',
    '=AAA',
    'A=AA',
    'AB==',
    'AAB=',
    'A+AA',
    'A/AA',
    'AB',
    'AAB',
    ' AA',
    'AA\n',
    'AAAAAB',
  ]) {
    assert.equal(fromBase64url(odd), undefined, odd)
  }
})

test('an envelope round-trips', () => {
  const { parts } = readEnvelope(envelope)
  assert.deepEqual(writeEnvelope(parts), envelope)
  const bare = without(without(envelope, 'key_id'), 'aad')
  assert.deepEqual(writeEnvelope(readEnvelope(bare).parts), bare)
  assert.deepEqual(readEnvelope({ ...bare, aad: '' }).parts, readEnvelope(bare).parts)
})

test('anything but an exact envelope is refused', () => {
  for (const value of [null, undefined, 'text', 7, [], {}, [envelope]]) refuses(value)
  for (const name of ['v', 'alg', 'enc', 'encrypted_key', 'iv', 'ciphertext', 'tag']) {
    refuses(without(envelope, name))
  }
  for (const name of Object.keys(envelope)) {
    const empty = name === 'aad' ? [] : ['']
    for (const odd of [null, 7, ...empty, {}, [], true, `${envelope[name as 'v']}===`]) {
      if (name !== 'key_id' || typeof odd !== 'string' || odd === '') refuses({ ...envelope, [name]: odd })
    }
  }
  refuses({ ...envelope, v: 'ksp2' })
  refuses({ ...envelope, alg: 'RSA1_5' })
  refuses({ ...envelope, enc: 'A128GCM' })
  refuses({ ...envelope, iv: bytes(16) })
  refuses({ ...envelope, tag: bytes(12) })
  refuses({ ...envelope, encrypted_key: bytes(255) })
  refuses({ ...envelope, encrypted_key: bytes(513) })
  refuses({ ...envelope, ciphertext: bytes(1024 * 1024 + 1) })
  refuses({ ...envelope, aad: bytes(1025) })
  refuses({ ...envelope, kid: 'one' })
})

test('the binding of a request lists its members in order', async () => {
  const hash = sha256([envelope.encrypted_key, envelope.iv, envelope.ciphertext, envelope.tag, envelope.aad].join('.'))
  assert.equal(await envelopeHash(envelope), hash)
  const bare = without(envelope, 'aad')
  assert.equal(await envelopeHash(bare), sha256(`${bare.encrypted_key}.${bare.iv}.${bare.ciphertext}.${bare.tag}.`))
  const key = new Uint8Array([1, 2, 3])
  const lines = `query_envelope=${hash}\nrecipient_public_key=${sha256(key)}\n`
  const binding = await authBinding({ recipient_public_key: key, query_envelope: envelope })
  assert.equal(binding, `ksp1-bind.v1.${sha256(lines)}`)
  assert.equal(await authBinding({}), `ksp1-bind.v1.${sha256('')}`)
  assert.equal(payloadBinding('a', 'b'), 'ksp1-bind.v1.a.b')
  assert.ok(isBinding(aadBytes(binding)))
  assert.ok(!isBinding(aadBytes('ksp1-bind.v2.')))
  assert.ok(!isBinding(new Uint8Array()))
})

test('the proof of a result is an HMAC with the nonce as key', async () => {
  const nonce = new Uint8Array(32).fill(9)
  const proof = createHmac('sha256', nonce).update(`ksp1-result.v1.id.${await envelopeHash(envelope)}`)
  assert.equal(await resultProof(nonce, 'id', envelope), proof.digest('base64url'))
})

test('a key has one fingerprint and one normalised PEM', async () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const der = publicKey.export({ type: 'spki', format: 'der' })
  assert.equal(toPem(der), publicKey.export({ type: 'spki', format: 'pem' }))
  assert.deepEqual(Buffer.from(fromPem(toPem(der)) ?? []), der)
  assert.equal(fromPem('no key'), undefined)
  assert.equal(await publicKeyFingerprint(der), `SHA256:${sha256(der)}`)
})

test('a duplicate member is found, however it is escaped', () => {
  for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"b":{"x":1, "x" :2}}]', '{"a":{},"b":[],"a":{}}']) {
    assert.ok(hasRepeatedMember(text), text)
  }
  for (const text of ['{"a":{"a":1}}', '[{"a":1},{"a":1}]', '{"a":"a\\":","b":"a"}', '"{\\"a\\":1,\\"a\\":1}"', '7']) {
    assert.ok(!hasRepeatedMember(text), text)
  }
})

test('a text with too many JSON values is refused', () => {
  assert.ok(!hasRepeatedMember('{"a":[{"b":1}]}', 5))
  assert.ok(hasRepeatedMember('{"a":[{"b":1}]}', 4))
})

test('the entries of a list are found as their original text', () => {
  const text =
    '{"a": [1, "x"], "items": [ {"k\\u0065y": "a,}", "value" : 1.0 } , {"value":{"x":[{"value":2}, 1e400]},"m":{}}]}'
  assert.deepEqual(
    entryTexts(text).map((entry) => Object.fromEntries(entry)),
    [
      { key: '"a,}"', value: '1.0' },
      { value: '{"x":[{"value":2}, 1e400]}', m: '{}' },
    ],
  )
  assert.deepEqual(entryTexts('{"items":[{}]}'), [new Map()])
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), fc.nat(3), (items, indent) => {
      const texts = entryTexts(JSON.stringify({ v: 1, items, z: [] }, null, indent))
      const read = texts.map((entry) => [...entry].map(([name, value]): unknown[] => [name, JSON.parse(value)]))
      const written = JSON.parse(JSON.stringify(items.map((item) => Object.entries(item)))) as unknown
      assert.deepEqual(read, written)
    }),
  )
})

test('a namespace is normalised', () => {
  assert.equal(normalizeNamespace('  Team/A:b.c-D_1'), 'team/a:b.c-d_1')
  for (const odd of ['', ' ', '-a', 'a b', 'ä', 'a\0', 'a'.repeat(129), 7, null]) {
    assert.throws(() => normalizeNamespace(odd), Malformed)
  }
})

const uuid = '0198f0aa-0000-7000-8000-000000000001'
const auth = {
  v: 'ksp1',
  type: 'auth',
  action: 'kv.save',
  client_uuid: uuid,
  challenge_id: uuid,
  request_id: uuid.toUpperCase(),
  nonce: bytes(32),
  issued_at: '2026-03-01T10:00:00.000Z',
  expires_at: '2026-03-01T10:05:00+00:00',
}

test('an authentication payload is validated strictly', () => {
  assert.equal(readAuthPayload(auth).requestId, uuid.toUpperCase())
  const odd = [
    { v: 'ksp2' },
    { type: 'challenge' },
    { action: 7 },
    { client_uuid: 'x' },
    { request_id: `${uuid} ` },
    { nonce: bytes(31) },
    { issued_at: '2026-03-01T10:00:00' },
    { issued_at: '2026-02-30T10:00:00Z' },
    { expires_at: '2026-03-01T09:59:59Z' },
    { extra: 1 },
  ]
  for (const change of odd) assert.throws(() => readAuthPayload({ ...auth, ...change }), Malformed)
  for (const name of Object.keys(auth)) {
    assert.throws(() => readAuthPayload(without(auth, name)), Malformed)
  }
})

test('save and read payloads are validated strictly', () => {
  const save = (items: unknown) => readSavePayload({ v: 'ksp1', type: 'kv.save', namespace: 'A', items })
  assert.deepEqual(save([{ key: 'k', value: null }]), {
    namespace: 'a',
    items: [{ key: 'k', value: null, metadata: {} }],
  })
  const item = { key: 'k', value: 1 }
  const odd = [
    ...[undefined, {}, [], [null], [{ key: 'k' }], [{ value: 1 }], [{ ...item, key: '' }], [{ ...item, key: 'a\0' }]],
    ...[[{ ...item, metadata: [] }], [{ ...item, extra: 1 }], [item, item], Array.from({ length: 101 }, () => item)],
    ...[[{ ...item, value: 'x'.repeat(65_535) }], [{ ...item, metadata: { a: 'x'.repeat(4096) } }]],
  ]
  for (const items of odd) assert.throws(() => save(items), Malformed)
  const read = (keys: unknown) => readQueryPayload({ v: 'ksp1', type: 'kv.read', namespace: 'A', keys })
  assert.deepEqual(read(['k', 'l']), { namespace: 'a', keys: ['k', 'l'] })
  for (const keys of [undefined, [], ['k', 'k'], [7], Array.from({ length: 101 }, (_, at) => `k${at}`)]) {
    assert.throws(() => read(keys), Malformed)
  }
})
