import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import test from 'node:test'
import { callDigest, callNonce, callText, decidedCallHash, decidedCallText, holdsCall } from './call-digest.ts'
import type { CallDescription } from './calls.ts'
import { canonicalJson } from './canonical-json.ts'

const description: CallDescription = {
  agent_id: 'agt_01k9x3v7qmf5v8t2w4y6z8abcd',
  grant_id: 'grt_01k9x3v7qmf5v8t2w4y6z8abcd',
  connection_id: 'con_01k9x3v7qmf5v8t2w4y6z8abcd',
  account: 'ada',
  method: 'POST',
  url: 'https://api.example.com/v1/mail?x=1',
  headers: [['content-type', 'application/json']],
  adds: ['header authorization'],
  aws: null,
  body_sha256: 'RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o',
  body_length: 2,
  access: 'write',
}

/** Each member in turn, changed. */
const changed: CallDescription[] = [
  { ...description, agent_id: 'agt_other' },
  { ...description, grant_id: 'grt_other' },
  { ...description, connection_id: null },
  { ...description, account: 'adа' },
  { ...description, method: 'PUT' },
  { ...description, url: 'https://api.example.com/v1/mail?x=2' },
  { ...description, headers: [...description.headers, ['x-extra', '1']] },
  { ...description, headers: [['content-type', 'text/plain']] },
  { ...description, adds: [] },
  { ...description, aws: { service: 's3', region: 'eu-west-1' } },
  { ...description, body_sha256: 'RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4p' },
  { ...description, body_length: 3 },
  { ...description, access: 'read' },
]

test('the digest is the SHA-256 of the RFC 8785 form, whatever the order of the members', async () => {
  const expected = createHash('sha256').update(canonicalJson(description)).digest('base64url')
  assert.equal(await callDigest(description), expected)
  const reversed = Object.fromEntries(Object.entries(description).reverse())
  assert.equal(await callDigest(reversed), expected)
  assert.equal(callText(reversed), callText(description))
})

test('the digest covers every member, also one that is not known', async () => {
  const others = await Promise.all([...changed, { ...description, later: true }].map(callDigest))
  assert.equal(new Set([await callDigest(description), ...others]).size, others.length + 1)
  assert.deepEqual(
    Object.keys(description).filter((name) => !changed.some((one) => differs(one, name as keyof CallDescription))),
    [],
  )
})

function differs(one: CallDescription, name: keyof CallDescription): boolean {
  return canonicalJson(one[name]) !== canonicalJson(description[name])
}

test('a nonce holds one call and one decision', async () => {
  const nonce = await callNonce(randomBytes(32), description, 900)
  assert.ok(await holdsCall(nonce, description, 900))
  assert.ok(!(await holdsCall(nonce, description, null)))
  assert.ok(!(await holdsCall(nonce, description, 3600)))
  for (const one of changed) assert.ok(!(await holdsCall(nonce, one, 900)), canonicalJson(one))
  const hash = Buffer.from(await decidedCallHash(description, 900))
  assert.deepEqual(Buffer.from(nonce, 'base64url').subarray(32), hash)
})

test('a malformed nonce holds nothing', async () => {
  const nonce = await callNonce(randomBytes(32), description, null)
  const bytes = Buffer.from(nonce, 'base64url')
  const shorter = bytes.subarray(1).toString('base64url')
  const longer = Buffer.concat([bytes, Buffer.of(0)]).toString('base64url')
  for (const other of ['', '.', `${nonce}=`, ` ${nonce}`, shorter, longer, randomBytes(32).toString('base64url')]) {
    assert.ok(!(await holdsCall(other, description, null)), other)
  }
  await assert.rejects(callNonce(randomBytes(31), description, null), RangeError)
})

test('a description cannot bring its own repetition', async () => {
  const hostile = { ...description, repeat_for_seconds: 900 }
  assert.throws(() => decidedCallText(hostile, null), RangeError)
  await assert.rejects(async () => holdsCall('', hostile, 900), RangeError)
})
