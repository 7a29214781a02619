/** Envelopes, bindings and a proof by a peer that shares no code with this one (e2e/legacy-peer/vectors.py). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromBase64url } from '@sallyport/protocol/v1/base64url'
import { authBinding, envelopeHash, payloadBinding, resultProof } from '@sallyport/protocol/v1/binding'
import { openEnvelope, seal } from './envelope.ts'
import {
  exportClientKey,
  fingerprintOf,
  generateClientKey,
  importClientKey,
  publicPem,
  readPublicKey,
  spkiOf,
} from './keys.ts'

const vectors = JSON.parse(readFileSync(new URL('../../../protocol/vectors/envelope-v1.json', import.meta.url), 'utf8'))
const keyOf = (whose: 'service' | 'client') => importClientKey(vectors.keys[whose].private_key)

test('a key has the fingerprint and PEM of the vectors', async () => {
  for (const whose of ['service', 'client'] as const) {
    const { publicKey } = await keyOf(whose)
    assert.equal(await fingerprintOf(publicKey), vectors.keys[whose].fingerprint)
    assert.equal(await publicPem(publicKey), vectors.keys[whose].public_key)
  }
})

test('envelopes of the vectors are decrypted', async () => {
  for (const { name, key, envelope, plaintext, hash } of vectors.opened) {
    const { privateKey } = await keyOf(key)
    assert.deepEqual(await openEnvelope(privateKey, envelope), JSON.parse(plaintext), name)
    assert.equal(await envelopeHash(envelope), hash, name)
  }
  assert.ok(vectors.opened.length > 5)
})

test('envelopes that the vectors refuse are refused', async () => {
  const { privateKey } = await keyOf('service')
  for (const { name, envelope } of vectors.refused) {
    assert.equal(await openEnvelope(privateKey, envelope), undefined, name)
  }
  assert.ok(vectors.refused.length > 50)
})

test('the binding of a request matches the vectors', async () => {
  const { payload_aad, auth_aad } = vectors.binding
  assert.equal(payloadBinding(payload_aad.client_uuid, payload_aad.challenge_id), payload_aad.aad)
  for (const { name, parts, aad } of auth_aad) {
    const bound = { ...parts }
    for (const member of ['recipient_public_key', 'new_client_public_key']) {
      const key = parts[member] && (await readPublicKey(parts[member]))
      if (key) bound[member] = await spkiOf(key)
    }
    assert.equal(await authBinding(bound), aad, name)
  }
})

test('the proof of a result matches the vectors', async () => {
  const { nonce, request_id, result_envelope, result_proof } = vectors.result_proof
  const bytes = fromBase64url(nonce)
  assert.ok(bytes)
  assert.equal(await resultProof(bytes, request_id, result_envelope), result_proof)
})

test('an envelope round-trips, and with any bit changed it is refused', async () => {
  const { publicKey, privateKey } = await keyOf('client')
  const message = { text: 'ü🔑', list: [1, null] }
  const envelope = await seal(publicKey, message, payloadBinding('a', 'b'))
  assert.deepEqual(await openEnvelope(privateKey, envelope), message)
  const other = await seal(publicKey, message, payloadBinding('a', 'c'))
  for (const member of ['encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const) {
    assert.equal(await openEnvelope(privateKey, { ...envelope, [member]: other[member] }), undefined, member)
  }
})

test('an exported key can be imported again, and is then not extractable', async () => {
  const key = await generateClientKey(2048)
  const pem = await exportClientKey(key)
  const again = await importClientKey(`\n${pem.replaceAll('\n', '\r\n')}`)
  assert.equal(await fingerprintOf(again.publicKey), await fingerprintOf(key.publicKey))
  const envelope = await seal(key.publicKey, { is: 'here' }, 'ksp1-bind.v1.')
  assert.deepEqual(await openEnvelope(again.privateKey, envelope), { is: 'here' })
  await assert.rejects(exportClientKey(again))
  for (const wrong of ['', 'text', await publicPem(key.publicKey), pem.slice(0, 300)]) {
    await assert.rejects(importClientKey(wrong))
  }
})

test('anything but an envelope decrypts to nothing, without throwing', async () => {
  const { privateKey } = await keyOf('client')
  const { envelope } = vectors.opened.find(({ key }: { key: string }) => key === 'client')
  const member = fc.constantFrom(...Object.keys(envelope))
  await fc.assert(
    fc.asyncProperty(member, fc.jsonValue(), async (name, value) => {
      fc.pre(envelope[name] !== value)
      assert.equal(await openEnvelope(privateKey, { ...envelope, [name]: value }), undefined)
      assert.equal(await openEnvelope(privateKey, value), undefined)
    }),
    { numRuns: 200 },
  )
})
