/** What a peer that shares no code with ours sealed, bound and wrote (e2e/legacy-peer/vectors.py). */
import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readEnvelope } from '@sallyport/protocol/v1/envelope'
import { membersOf } from '@sallyport/protocol/v1/members'
import { ServiceError } from '../platform/errors.ts'
import { readClientKey } from './client-key.ts'
import { importPrivateKey } from './envelope-crypto.ts'
import { openEnvelope, orRefused } from './open-envelope.ts'
import { createRsaQueue } from './rsa-queue.ts'

const vectors = JSON.parse(readFileSync('protocol/vectors/envelope-v1.json', 'utf8'))
const rsa = createRsaQueue(0)

async function opened(whose: 'service' | 'client', envelope: unknown): Promise<unknown> {
  const der = createPrivateKey(vectors.keys[whose].private_key).export({ type: 'pkcs8', format: 'der' })
  const key = await importPrivateKey(der)
  const { public_key: publicKey, fingerprint } = vectors.keys[whose]
  const keys = { openers: async () => [key], current: async () => ({ keyId: whose, publicKey, fingerprint }) }
  const { parts } = orRefused('data_envelope', () => readEnvelope(envelope))
  return openEnvelope({ rsa, keys }, 'data_envelope', parts, (json) => membersOf('plaintext', json, [], known(json)))
}

/** Any members will do, as long as there are members. */
const known = (json: unknown) => Object.keys(json ?? {})

const isRefusal = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

test('envelopes of the peer implementation are decrypted', async () => {
  for (const { name, key, envelope, plaintext } of vectors.opened) {
    assert.deepEqual(await opened(key, envelope), JSON.parse(plaintext), name)
  }
  assert.ok(vectors.opened.length > 5)
})

test('envelopes that the peer refuses are refused, with one code for every reason', async () => {
  for (const { name, envelope } of vectors.refused) {
    await assert.rejects(opened('service', envelope), isRefusal('payload_invalid'), name)
  }
  assert.ok(vectors.refused.length > 50)
})

test('a public key has one fingerprint in every notation, and invalid ones are refused', async () => {
  const { accepted, normalized, fingerprint, refused } = vectors.public_keys
  for (const { name, pem } of accepted) {
    const key = await readClientKey(pem, 'client_public_key')
    assert.deepEqual([key.pem, key.fingerprint], [normalized, fingerprint], name)
  }
  for (const { name, pem } of refused) {
    await assert.rejects(readClientKey(pem, 'client_public_key'), isRefusal('invalid_public_key'), name)
  }
})
