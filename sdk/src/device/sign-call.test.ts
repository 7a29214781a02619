/** A device signs a held call as it was shown, and nothing that the service puts in its place. */
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { callMessage } from '@sallyport/protocol/approval-message'
import { callDigest, callNonce } from '@sallyport/protocol/call-digest'
import type { CallDescription } from '../wire.ts'
import { createDeviceClient } from './client.ts'
import { generateDeviceKey, publicJwkOf } from './keys.ts'
import { signCall } from './sign-call.ts'

const key = await generateDeviceKey()
const description: CallDescription = {
  agent_id: 'agt_1',
  grant_id: 'grt_1',
  connection_id: 'con_1',
  account: 'ada@example.com',
  method: 'POST',
  url: 'https://api.acme.example/v1/items',
  headers: [['content-type', 'application/json']],
  adds: ['header authorization'],
  aws: null,
  body_sha256: 'x'.repeat(43),
  body_length: 7,
  access: 'write',
}
const call = { call_id: 'cal_1', description, digest: await callDigest(description) }
const nonceFor = (described: CallDescription, repeat: number | null = null) =>
  callNonce(new Uint8Array(32).fill(7), described, repeat)

test('it signs the challenge for the call that it was given', async () => {
  const nonce = await nonceFor(description, 900)
  const signed = await signCall(key, { challenge_id: 'chl_1', nonce }, call, 'approve', 900)
  assert.equal(signed.text, callMessage('chl_1', nonce, 'cal_1', 'approve'))
  const publicKey = createPublicKey({ key: { ...(await publicJwkOf(key)) }, format: 'jwk' })
  assert.ok(verify('sha256', Buffer.from(signed.text), publicKey, Buffer.from(signed.signature, 'base64url')))
})

test('a challenge for another call, repetition or digest is not signed', async () => {
  const refuses = async (nonce: string, given = call, repeat: number | null = null) => {
    const signing = signCall(key, { challenge_id: 'chl_1', nonce }, given, 'approve', repeat)
    await assert.rejects(signing, { name: 'SallyportError', code: 'unexpected_answer' })
  }
  const own = await nonceFor(description)
  const changes: Partial<CallDescription>[] = [
    { method: 'DELETE' },
    { url: 'https://api.acme.example/v1/items?all=1' },
    { headers: [] },
    { adds: [] },
    { account: null },
    { body_sha256: 'y'.repeat(43) },
    { access: 'destructive' },
  ]
  for (const change of changes) {
    const other = { ...description, ...change }
    await refuses(await nonceFor(other))
    await refuses(own, { ...call, description: other })
    await refuses(await nonceFor(other), { ...call, description: other })
  }
  await refuses(await nonceFor(description, 3600))
  await refuses(own, call, 900)
  await refuses('short')
})

test('a service whose digest is of another call is not even asked for a challenge', async () => {
  const sent: string[] = []
  const lying: typeof fetch = (input) => {
    sent.push(input instanceof Request ? input.url : input.toString())
    return Promise.resolve(Response.json({}))
  }
  const device = createDeviceClient({ baseUrl: 'http://localhost', sessionToken: 'x', key, fetch: lying })
  const other = { ...call, digest: await callDigest({ ...description, method: 'DELETE' }) }
  await assert.rejects(device.calls.approve(other), { code: 'unexpected_answer' })
  await assert.rejects(device.calls.deny(other), { code: 'unexpected_answer' })
  await assert.rejects(device.calls.decide([call, other], 'approve'), { code: 'unexpected_answer' })
  assert.ok(sent.every((url) => url.endsWith('/cal_1/challenge')))
})

test('what is signed matches the vectors', async () => {
  const file = new URL('../../../protocol/vectors/call-approval.json', import.meta.url)
  const { description: described, digest, decisions } = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal(decisions.length, 3)
  for (const { call_id, verdict, repeat_for_seconds, message, ...challenge } of decisions) {
    const shown = { call_id, description: described, digest }
    const { text } = await signCall(key, challenge, shown, verdict, repeat_for_seconds)
    assert.equal(text, message)
    await assert.rejects(signCall(key, challenge, shown, verdict, 3600), /different call or decision/)
  }
})
