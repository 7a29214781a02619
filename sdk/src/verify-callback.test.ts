/** Callbacks signed by the Standard Webhooks library, unsigned, or with another secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifyCallback } from './verify-callback.ts'

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`
const now = new Date('2026-01-02T03:04:05Z')
const event = {
  event: 'access_request.approved',
  access_request_id: 'arq_1',
  status: 'approved',
  grant_id: 'grt_1',
  provider: 'grüße',
  agent_id: 'agt_1',
}
const body = JSON.stringify(event)

function signedBy(key: string, { id = 'msg_1', at = now, text = body } = {}): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign(id, at, text),
  }
}
const verify = (headers: Parameters<typeof verifyCallback>[1], text: string | Uint8Array = body, key = secret) =>
  verifyCallback(key, headers, text, { now })
const refuses = (work: Promise<unknown>) => assert.rejects(work, { name: 'SallyportError', code: 'invalid_callback' })

test('a callback signed by the Standard Webhooks library verifies, in any form of headers and body', async () => {
  const headers = signedBy(secret)
  assert.deepEqual(await verify(headers), event)
  assert.deepEqual(await verify(new Headers(headers)), event)
  assert.deepEqual(await verify(headers, new TextEncoder().encode(body)), event)
  const capitals = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]])
  assert.deepEqual(await verify(Object.fromEntries(capitals)), event)
})

test('one valid signature of several is enough, for secret rotation', async () => {
  const headers = signedBy(secret)
  const other = signedBy(`whsec_${btoa('another secret of 32 bytes or so')}`)
  const both = `v1a,AAAA ${other['webhook-signature'] ?? ''} v1,%% ${headers['webhook-signature'] ?? ''}`
  assert.deepEqual(await verify({ ...headers, 'webhook-signature': both }), event)
})

test("another secret's or version's signature is refused", async () => {
  const headers = signedBy(secret)
  await refuses(verify(headers, body.replace('grt_1', 'grt_2')))
  await refuses(verify(headers, `${body} `))
  await refuses(verify({ ...headers, 'webhook-id': 'msg_2' }))
  await refuses(verify(signedBy(`whsec_${btoa('another secret of 32 bytes or so')}`)))
  await refuses(verify({ ...headers, 'webhook-signature': 'v1,' }))
  await refuses(verify({ ...headers, 'webhook-signature': (headers['webhook-signature'] ?? '').replace('v1,', 'v2,') }))
  for (const name of Object.keys(headers)) await refuses(verify({ ...headers, [name]: undefined }))
})

test('a signed callback with an old or future timestamp is refused', async () => {
  const at = (seconds: number) => signedBy(secret, { at: new Date(now.getTime() + seconds * 1000) })
  assert.deepEqual(await verify(at(-300)), event)
  assert.deepEqual(await verify(at(300)), event)
  await refuses(verify(at(-301)))
  await refuses(verify(at(301)))
  await refuses(verify({ ...at(0), 'webhook-timestamp': 'now' }))
  await refuses(verify({ ...at(0), 'webhook-timestamp': '1e9' }))
})

test('an invalid secret is an error of the caller', async () => {
  for (const wrong of ['', 'whsec_', 'whsec_%%', 'secret']) {
    await assert.rejects(verify(signedBy(secret), body, wrong), TypeError)
  }
})

test('a signed body that is not JSON is refused', async () => {
  await refuses(verify(signedBy(secret, { text: '{' }), '{'))
})
