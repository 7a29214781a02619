import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { callMessage } from './approval-message.ts'
import { callDigest, callNonce, callText, decidedCallText, holdsCall } from './call-digest.ts'
import type { CallDescription, CallReceipt } from './calls.ts'
import { verifyCallReceipt } from './verify-call-receipt.ts'

type Jwk = NonNullable<CallReceipt['device']>['public_key_jwk']

const file = new URL('../vectors/call-approval.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  public_key_jwk: Jwk
  description: CallDescription
  text: string
  digest: string
  decisions: {
    name: string
    challenge_id: string
    nonce: string
    call_id: string
    verdict: 'approve' | 'deny'
    repeat_for_seconds: number | null
    decided_text: string
    message: string
    signature: string
  }[]
}

const receipts = vectors.decisions.map(
  ({ challenge_id, nonce, call_id, verdict, repeat_for_seconds, message, signature }): CallReceipt => ({
    call_id,
    verdict,
    signed: true,
    signing_input: message,
    signature,
    challenge: { challenge_id, nonce },
    description: vectors.description,
    repeat_for_seconds,
    device: { device_id: 'dev_01k9x3v7qmf5v8t2w4y6z8abcd', public_key_jwk: vectors.public_key_jwk },
    decided_by: 'usr_01k9x3v7qmf5v8t2w4y6z8abcd',
    decided_at: '2026-11-15T12:00:00.000Z',
  }),
)
const [approval, repeated, denial] = receipts as [CallReceipt, CallReceipt, CallReceipt]
const unsigned: CallReceipt = {
  ...approval,
  signed: false,
  signing_input: null,
  signature: null,
  challenge: null,
  device: null,
}

test('texts, digests, nonces and messages match the vectors', async () => {
  const { description, decisions } = vectors
  assert.equal(callText(description), vectors.text)
  assert.equal(await callDigest(description), vectors.digest)
  assert.equal(decisions.length, 3)
  for (const one of decisions) {
    assert.equal(decidedCallText(description, one.repeat_for_seconds), one.decided_text)
    assert.ok(await holdsCall(one.nonce, description, one.repeat_for_seconds), one.name)
    assert.equal(callMessage(one.challenge_id, one.nonce, one.call_id, one.verdict), one.message)
  }
})

test('a receipt of an approval or a denial verifies without the service', async () => {
  for (const receipt of receipts) assert.deepEqual(await verifyCallReceipt(receipt), { verdict: 'signed' })
  assert.deepEqual(await verifyCallReceipt(unsigned), { verdict: 'unsigned' })
  assert.deepEqual(await verifyCallReceipt({ ...unsigned, verdict: 'deny' }), { verdict: 'unsigned' })
})

test('a receipt whose call was changed is invalid, whichever member it is', async () => {
  const { description } = vectors
  const names = Object.keys(description) as (keyof CallDescription)[]
  assert.equal(names.length, 12)
  for (const name of names) {
    const other = otherThan(description[name])
    const check = await verifyCallReceipt({ ...approval, description: { ...description, [name]: other } })
    assert.equal(check.verdict, 'invalid', name)
    const without = Object.fromEntries(Object.entries(description).filter(([other]) => other !== name))
    assert.equal((await verifyCallReceipt({ ...approval, description: without })).verdict, 'invalid', name)
  }
  assert.equal((await verifyCallReceipt({ ...approval, description: { ...description, more: 1 } })).verdict, 'invalid')
})

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  return typeof value === 'string' ? `${value}x` : Array.isArray(value) ? [] : {}
}

test('a receipt with any other change is invalid', async () => {
  const { challenge, device } = approval
  if (!challenge || !device) throw new Error('the vector is signed')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) as Jwk
  const cases: [string, CallReceipt][] = [
    ['another call', { ...approval, call_id: 'cal_01k9x3v7qmf5v8t2w4y6z8abcx' }],
    ['another verdict', { ...approval, verdict: 'deny' }],
    ['a denial as an approval', { ...denial, verdict: 'approve' }],
    ['a repetition that was not signed', { ...approval, repeat_for_seconds: 900 }],
    ['a repetition that was signed, left out', { ...repeated, repeat_for_seconds: null }],
    ['a denial that repeats', { ...denial, repeat_for_seconds: 900 }],
    ['another challenge', { ...approval, challenge: { ...challenge, challenge_id: 'chl_01k9x3v7qmf5v8t2w4y6z8abcx' } }],
    ['another nonce', { ...approval, challenge: repeated.challenge }],
    ['a nonce with a dot', { ...approval, challenge: { ...challenge, nonce: `${challenge.nonce}.` } }],
    ['another text', { ...approval, signing_input: repeated.signing_input }],
    ['another signature', { ...approval, signature: repeated.signature }],
    ['a signature with padding', { ...approval, signature: `${approval.signature}=` }],
    ['a signature that is none', { ...approval, signature: 'AAAA' }],
    ['another key', { ...approval, device: { ...device, public_key_jwk: other } }],
    ['a key that is none', { ...approval, device: { ...device, public_key_jwk: { ...other, x: 'AAAA' } } }],
    ['a part missing', { ...approval, challenge: null }],
    ['a device missing', { ...approval, device: null }],
    ['a claim of no signature', { ...approval, signed: false }],
    ['a claim of a signature', { ...unsigned, signed: true }],
  ]
  for (const [what, receipt] of cases) assert.equal((await verifyCallReceipt(receipt)).verdict, 'invalid', what)
})

test('a nonce without the hash of the call is not enough', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const device = { device_id: 'dev_1', public_key_jwk: publicKey.export({ format: 'jwk' }) as Jwk }
  const signedOver = (nonce: string): CallReceipt => {
    const signing_input = callMessage('chl_1', nonce, approval.call_id, 'approve')
    const signature = sign('sha256', Buffer.from(signing_input), privateKey).toString('base64url')
    return { ...approval, signing_input, signature, challenge: { challenge_id: 'chl_1', nonce }, device }
  }
  const nonce = await callNonce(new Uint8Array(32), vectors.description, null)
  assert.deepEqual(await verifyCallReceipt(signedOver(nonce)), { verdict: 'signed' })
  for (const wrong of [Buffer.alloc(32), Buffer.alloc(64), Buffer.from(nonce, 'base64url').subarray(0, 63)]) {
    assert.equal((await verifyCallReceipt(signedOver(wrong.toString('base64url')))).verdict, 'invalid')
  }
})

test('anything but a receipt is invalid, without throwing', async () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
  const others: unknown[] = [null, undefined, {}, [], 'a receipt', 5]
  for (const description of [null, [], 'a', 5, { a: '\ud800' }, { deep }, { repeat_for_seconds: null }])
    others.push({ ...approval, description })
  for (const name of Object.keys(approval)) {
    if (name.startsWith('decided_')) continue
    for (const value of [undefined, 5, [], {}, '\ud800']) others.push({ ...approval, [name]: value })
  }
  for (const [index, one] of others.entries()) {
    assert.equal((await verifyCallReceipt(one as CallReceipt)).verdict, 'invalid', String(index))
  }
})
