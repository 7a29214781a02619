/** What a device signs, and what it refuses to sign for a dishonest service. */
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { approvalMessage, deviceMessage } from '@sallyport/protocol/approval-message'
import { toDer, toP1363 } from '@sallyport/protocol/ecdsa-signature'
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import fc from 'fast-check'
import { createDeviceClient } from './client.ts'
import { generateDeviceKey, publicJwkOf, thumbprintOf } from './keys.ts'
import { signAction, signDecision } from './sign-decision.ts'

const key = await generateDeviceKey()
const isSigned = async (text: string, signature: string) => {
  const { kty, crv, x, y } = await publicJwkOf(key)
  const publicKey = createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' })
  return verify('sha256', Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'))
}

async function nonceFor(decision?: object): Promise<string> {
  const hash = decision && (await crypto.subtle.digest('SHA-256', Buffer.from(canonicalJson(decision))))
  return Buffer.concat([Buffer.alloc(32, 7), Buffer.from(hash ?? new ArrayBuffer(0))]).toString('base64url')
}

test('a signed decision verifies with another library, for many keys and texts', async () => {
  const decision = { connection_id: 'con_1', max_calls: 3, allowed_hosts: ['b', 'a'] }
  const nonce = await nonceFor(decision)
  // Enough for an r or an s that begins with a zero, or with a bit that DER takes for a sign.
  for (let round = 0; round < 40; round++) {
    const challenge = { challenge_id: `chl_${round}`, nonce }
    const { challenge_id, signature } = await signDecision(key, challenge, 'arq_1', 'approve', decision)
    assert.equal(challenge_id, challenge.challenge_id)
    assert.ok(await isSigned(approvalMessage(challenge_id, nonce, 'arq_1', 'approve'), signature))
  }
})

test('a challenge for another decision, for none, or malformed is not signed', async () => {
  const decision = { connection_id: 'con_1', max_calls: 3 }
  const other = { connection_id: 'con_1', max_calls: 3000 }
  const refuses = async (challenge: { challenge_id?: string; nonce: string }, sent?: object) => {
    const signing = signDecision(key, { challenge_id: 'chl_1', ...challenge }, 'arq_1', 'approve', sent)
    await assert.rejects(signing, { name: 'SallyportError', code: 'unexpected_answer' })
  }
  await refuses({ nonce: await nonceFor(other) }, decision)
  await refuses({ nonce: await nonceFor() }, decision)
  await refuses({ nonce: await nonceFor(decision) })
  await refuses({ nonce: 'short' })
  await refuses({ nonce: 'not base64url!' })
  await refuses({ nonce: await nonceFor(), challenge_id: 'chl_1.arq_2' })
  await refuses({ nonce: await nonceFor(), challenge_id: '' })
})

test('the signed message for a device change has the user and the action', async () => {
  const signed = await signAction(key, { challenge_id: 'chl_1', nonce: 'abc' }, 'usr_1', 'off')
  assert.ok(await isSigned(deviceMessage('chl_1', 'abc', 'usr_1', 'off'), signed.signature))
  await assert.rejects(signAction(key, { challenge_id: 'chl_1', nonce: 'a.b' }, 'usr_1', 'off'), {
    code: 'unexpected_answer',
  })
})

test('a service that replaces the decision with a wider one gets no signature', async () => {
  const sent: string[] = []
  const lying: typeof fetch = async (input, init) => {
    sent.push(input instanceof Request ? input.url : input.toString())
    assert.equal(typeof init?.body, 'string')
    const nonce = await nonceFor({ connection_id: 'con_1' })
    return Response.json({ challenge_id: 'chl_1', nonce, expires_at: '', signing_input: {} }, { status: 201 })
  }
  const device = createDeviceClient({ baseUrl: 'http://localhost', sessionToken: 'x', key, fetch: lying })
  const approving = device.accessRequests.approve('arq_1', { connection_id: 'con_1', max_calls: 1 })
  await assert.rejects(approving, { code: 'unexpected_answer' })
  assert.deepEqual(sent, ['http://localhost/v4/access-requests/arq_1/challenge'])
})

test('a key is not extractable unless requested, and only its public half is shown', async () => {
  await assert.rejects(crypto.subtle.exportKey('jwk', key.privateKey))
  assert.deepEqual(Object.keys(await publicJwkOf(key)), ['kty', 'crv', 'x', 'y'])
  assert.match(await thumbprintOf(key), /^[A-Za-z0-9_-]{43}$/)
  const kept = await generateDeviceKey({ extractable: true })
  assert.equal((await crypto.subtle.exportKey('jwk', kept.privateKey)).kty, 'EC')
  const other = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, false, ['sign', 'verify'])
  await assert.rejects(publicJwkOf(other), TypeError)
})

test('a device without a key cannot decide', async () => {
  const device = createDeviceClient({ baseUrl: 'http://localhost', sessionToken: 'x' })
  await assert.rejects(device.accessRequests.approve('arq_1', { connection_id: 'con_1' }), TypeError)
})

test('r and s of any size round-trip through DER', () => {
  const half = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const small = fc
    .integer({ min: 1, max: 255 })
    .map((last) => Uint8Array.from({ length: 32 }, (_, at) => (at === 31 ? last : 0)))
  fc.assert(
    fc.property(fc.oneof(half, small), fc.oneof(half, small), (r, s) => {
      // Zero is no part of a signature.
      fc.pre(r.some((byte) => byte > 0) && s.some((byte) => byte > 0))
      const signature = Uint8Array.from([...r, ...s])
      assert.deepEqual(toP1363(toDer(signature)), signature)
    }),
  )
  assert.throws(() => toDer(new Uint8Array(63)), RangeError)
})
