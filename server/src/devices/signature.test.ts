import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { approvalMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { temporaryFolder } from '../../testkit/databases.ts'
import { newDeviceKey } from '../../testkit/device.ts'
import { ServiceError } from '../platform/errors.ts'
import { readDeviceKey, thumbprintOf } from './device-key.ts'
import { isSignedBy, readSignature } from './signature.ts'

interface Vector {
  name: string
  challenge_id: string
  nonce: string
  decision: string | null
  access_request_id: string
  verdict: Verdict
  message: string
  signature: string
  code?: string
}

const file = new URL('../../../protocol/vectors/approval-signature.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  public_key_jwk: DeviceKey
  thumbprint: string
  accepted: Vector[]
  refused: Vector[]
}

/** The code that this text is refused with; undefined where it is a signature of the message. */
function judge(key: DeviceKey, message: string, signature: string): string | undefined {
  try {
    return isSignedBy(key, message, readSignature(signature)) ? undefined : 'invalid_signature'
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    assert.equal(error.field, 'signature')
    return error.code
  }
}

test('message, nonce and thumbprint match the vectors', () => {
  assert.equal(thumbprintOf(readDeviceKey(vectors.public_key_jwk)), vectors.thumbprint)
  assert.ok(vectors.accepted.length >= 3)
  for (const one of [...vectors.accepted, ...vectors.refused]) {
    assert.equal(
      approvalMessage(one.challenge_id, one.nonce, one.access_request_id, one.verdict),
      one.message,
      one.name,
    )
    const covered = Buffer.from(one.nonce, 'base64url').subarray(32)
    const hash = one.decision === null ? '' : createHash('sha256').update(one.decision).digest('hex')
    assert.equal(covered.toString('hex'), hash, one.name)
  }
})

test('signatures are accepted or refused as the vectors say', () => {
  for (const { name, message, signature } of vectors.accepted) {
    assert.equal(judge(vectors.public_key_jwk, message, signature), undefined, name)
  }
  assert.ok(vectors.refused.length >= 8)
  for (const { name, message, signature, code } of vectors.refused) {
    assert.equal(judge(vectors.public_key_jwk, message, signature), code, name)
  }
})

const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
const below = `${order.slice(0, -2)}50`
const one = '020101'
const body = (...parts: string[]) => {
  const inner = parts.join('')
  return `30${(inner.length / 2).toString(16).padStart(2, '0')}${inner}`
}

test("a signature is DER of two integers between 1 and the curve's order", () => {
  for (const hex of [body(one, one), body('02017f', '02020080'), body(`022100${below}`, `022100${below}`)]) {
    assert.equal(readSignature(Buffer.from(hex, 'hex').toString('base64url')).toString('hex'), hex)
  }
})

const malformed: Record<string, string> = {
  nothing: '',
  'a tag alone': '30',
  'an empty sequence': body(),
  'one integer': body(one),
  'three integers': body(one, one, one),
  'a set': body(one, one).replace(/^30/, '31'),
  'a bit string in place of an integer': body('030101', one),
  'a byte after the end': `${body(one, one)}00`,
  'a byte after the integers, within the sequence': body(one, one, '00'),
  'a sequence that says it is longer': body(one, one).replace(/^3006/, '3007'),
  'a sequence that says it is shorter': body(one, one).replace(/^3006/, '3005'),
  'a long form of length': `308106${one}${one}`,
  'an indefinite length': `3080${one}${one}0000`,
  'a long form of length in an integer': body('02810101', one),
  'an integer without a byte': body('0200', one),
  'an integer that says it is longer than what is left': body(one, '022001'),
  'a zero r': body('020100', one),
  'a zero s': body(one, '020100'),
  'a negative r': body('0201ff', one),
  'a negative s': body(one, '020180'),
  'a needless zero before r': body('02020001', one),
  'a needless zero before s': body(one, '0202007f'),
  'two zeros before s': body(one, `0222000080${'00'.repeat(31)}`),
  'r that is the order': body(`022100${order}`, one),
  's that is the order': body(one, `022100${order}`),
  'an integer of 34 bytes': body(one, `022201${'00'.repeat(33)}`),
  'P1363 of 64 bytes that begin like a sequence': `303e${'02'.repeat(62)}`,
}

test('every other form is refused before any key is used', () => {
  for (const [name, hex] of Object.entries(malformed)) {
    const text = Buffer.from(hex, 'hex').toString('base64url')
    assert.throws(() => readSignature(text), { code: 'invalid_field', field: 'signature' }, name)
  }
})

test('only canonical base64url is accepted', () => {
  // 70 bytes: two characters short of a full group, so that there is room for padding and for stray bits.
  const der = Buffer.from(body(`0220${'7f'.repeat(32)}`, `0220${'7f'.repeat(32)}`), 'hex')
  const text = der.toString('base64url')
  assert.equal(text.length % 4, 2)
  assert.ok(readSignature(text))
  const stray = `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) + 1)}`
  assert.deepEqual(Buffer.from(stray, 'base64url'), der)
  for (const other of [
    `${text}==`,
    ` ${text}`,
    `${text}\n`,
    `${text.slice(0, 9)} ${text.slice(9)}`,
    stray,
    `${text}.`,
  ]) {
    assert.throws(() => readSignature(other), { code: 'invalid_field' }, JSON.stringify(other))
  }
  const slashes = Buffer.from(body('0203' + '7fffff', '0203' + '7fffff'), 'hex')
  assert.match(slashes.toString('base64'), /[/+]/)
  assert.ok(readSignature(slashes.toString('base64url')))
  assert.throws(() => readSignature(slashes.toString('base64').replaceAll('=', '')), { code: 'invalid_field' })
})

test('a signature is valid only for its own key and text', () => {
  const device = newDeviceKey()
  const signature = device.sign('svc-approval.v1.a.b.c.approve')
  assert.equal(judge(device.publicKey, 'svc-approval.v1.a.b.c.approve', signature), undefined)
  assert.equal(judge(device.publicKey, 'svc-approval.v1.a.b.c.deny', signature), 'invalid_signature')
  assert.equal(judge(newDeviceKey().publicKey, 'svc-approval.v1.a.b.c.approve', signature), 'invalid_signature')
})

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('a signature by the openssl command line is accepted', (t) => {
  if (!hasOpenssl()) {
    t.skip('there is no openssl command on this machine')
    return
  }
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', path('key.pem')])
  const spki = execFileSync('openssl', ['ec', '-in', path('key.pem'), '-pubout', '-outform', 'DER'], {
    stdio: 'pipe',
  })
  const [x, y] = [spki.subarray(-64, -32), spki.subarray(-32)].map((half) => half.toString('base64url'))
  const message = approvalMessage('chl_1', 'n0nce', 'arq_2', 'approve')
  writeFileSync(path('message'), message)
  const signature = execFileSync('openssl', ['dgst', '-sha256', '-sign', path('key.pem'), path('message')])
  const key = readDeviceKey({ kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' })
  assert.equal(judge(key, message, signature.toString('base64url')), undefined)
})

test('a key that is not on the curve or has non-canonical coordinates is refused', () => {
  const { publicKey } = newDeviceKey()
  const coordinate = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url')
  const p = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
  // Where x is 0, y is a square root of the curve's b.
  const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn
  const root = power(b, (p + 1n) / 4n, p)
  const atZero: DeviceKey = { ...publicKey, x: coordinate(0n), y: coordinate(root) }
  assert.deepEqual(readDeviceKey(atZero), atZero)
  const wrong: DeviceKey[] = [
    { ...publicKey, y: publicKey.x },
    { ...publicKey, x: coordinate(0n), y: coordinate(0n) },
    { ...atZero, x: coordinate(p) },
    { ...publicKey, x: coordinate(2n ** 256n - 1n) },
  ]
  for (const key of wrong) {
    assert.throws(() => readDeviceKey(key), { code: 'invalid_field', field: 'public_key_jwk' })
  }
})

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  let square = base % modulus
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

test('signatures of decisions on held calls match the vectors', () => {
  const calls = new URL('../../../protocol/vectors/call-approval.json', import.meta.url)
  const { public_key_jwk, text, digest, decisions } = JSON.parse(readFileSync(calls, 'utf8'))
  assert.equal(createHash('sha256').update(text).digest('base64url'), digest)
  assert.equal(decisions.length, 3)
  for (const { name, nonce, decided_text, message, signature } of decisions) {
    assert.equal(judge(public_key_jwk, message, signature), undefined, name)
    const hash = createHash('sha256').update(decided_text).digest('hex')
    assert.equal(Buffer.from(nonce, 'base64url').subarray(32).toString('hex'), hash, name)
  }
})
