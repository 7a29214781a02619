import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import test from 'node:test'
import { approvalMessage } from './approval-message.ts'
import { canonicalJson } from './canonical-json.ts'
import { toP1363 } from './ecdsa-signature.ts'
import { termNames } from './grant-terms.ts'
import type { GrantException, Receipt } from './grants.ts'
import { verifyReceipt } from './verify-receipt.ts'

const device = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const accessRequestId = 'arq_01k9x3v7qmf5v8t2w4y6z8abcd'
const challengeId = 'chl_01k9x3v7qmf5v8t2w4y6z8abcd'

const terms: Receipt['grant'] = {
  connection_id: 'con_01k9x3v7qmf5v8t2w4y6z8abcd',
  allowed_hosts: ['api.example.com', 'files.example.com'],
  allowed_methods: ['GET'],
  allowed_paths: ['/v1/mail'],
  max_calls: 10,
  expires_at: '2026-11-16T12:00:00.000Z',
  mode: 'ask_writes',
  exceptions: [
    { paths: ['/v1/mail/drafts'], action: 'allow' },
    { paths: ['/v1/mail'], methods: ['DELETE'], action: 'deny' },
  ],
  max_access: 'write',
}
/** What a service stored that did not know the last three. */
const later: readonly string[] = ['mode', 'exceptions', 'max_access']
const earlierTerms = without(terms, later)

function without<T extends object>(value: T, names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T
}

const unsignedReceipt: Receipt = {
  grant_id: 'grt_01k9x3v7qmf5v8t2w4y6z8abcd',
  access_request_id: accessRequestId,
  verdict: 'approve',
  signed: false,
  scope_signed: false,
  signing_input: null,
  signature: null,
  challenge: null,
  decision: null,
  device: null,
  approved_by: 'usr_01k9x3v7qmf5v8t2w4y6z8abcd',
  approved_at: '2026-11-15T12:00:00.000Z',
  grant: terms,
  unsigned: [...termNames],
}

function jwkOf({ publicKey }: typeof device): NonNullable<Receipt['device']>['public_key_jwk'] {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { kty: 'EC', crv: 'P-256', x, y }
}

/** What a device makes of a decision: the nonce that the service gives it for that, and its signature in DER. */
function signed(decision: Receipt['decision'], granted: Partial<Receipt['grant']> = {}): Receipt {
  const hash = decision === null ? Buffer.alloc(0) : createHash('sha256').update(canonicalJson(decision)).digest()
  const nonce = Buffer.concat([randomBytes(32), hash]).toString('base64url')
  const signing_input = approvalMessage(challengeId, nonce, accessRequestId, 'approve')
  return {
    ...unsignedReceipt,
    signed: true,
    scope_signed: decision !== null,
    signing_input,
    signature: sign('sha256', Buffer.from(signing_input), device.privateKey).toString('base64url'),
    challenge: { challenge_id: challengeId, nonce },
    decision,
    device: { device_id: 'dev_01k9x3v7qmf5v8t2w4y6z8abcd', public_key_jwk: jwkOf(device) },
    grant: { ...terms, ...granted },
    unsigned: unsignedReceipt.unsigned.filter((name) => !(name in (decision ?? {}))),
  }
}

test('a receipt says which terms the signature covers', async () => {
  assert.deepEqual(await verifyReceipt(unsignedReceipt), { verdict: 'unsigned', covers: [] })
  assert.deepEqual(await verifyReceipt(signed(null)), { verdict: 'signed', covers: [] })
  const some = { connection_id: terms.connection_id, max_calls: 10 }
  assert.deepEqual(await verifyReceipt(signed(some)), { verdict: 'signed', covers: ['connection_id', 'max_calls'] })
  const all = await verifyReceipt(signed({ ...terms }))
  assert.deepEqual([all.verdict, all.covers.length, all.problem], ['signed', 9, undefined])
})

test('a grant may be narrower than what was signed, or the same in another notation', async () => {
  const cases: [object, Partial<Receipt['grant']>][] = [
    [{ allowed_hosts: ['API.example.com:443', '*.example.com'] }, { allowed_hosts: ['api.example.com'] }],
    [{ allowed_hosts: ['*.example.com'] }, { allowed_hosts: ['a.b.example.com'] }],
    [{ allowed_methods: ['get', 'POST'] }, { allowed_methods: ['GET'] }],
    [{ allowed_methods: null }, { allowed_methods: null }],
    [{ allowed_paths: null }, { allowed_paths: ['/v1'] }],
    [{ allowed_paths: ['/v1/%7ea/'] }, { allowed_paths: ['/v1/~a'] }],
    [{ max_calls: 10 }, { max_calls: 9 }],
    [{ max_calls: null }, { max_calls: null }],
    [{ expires_at: '2026-11-16T13:00:00+01:00' }, { expires_at: '2026-11-16T12:00:00.000Z' }],
    [{ mode: 'allow_all' }, { mode: 'ask_writes' }],
    [{ mode: 'ask_writes' }, { mode: 'ask_all' }],
    [{ max_access: 'write' }, { max_access: 'read' }],
    [{ max_access: null }, { max_access: 'write' }],
    [{ exceptions: [] }, { exceptions: [] }],
    [
      { exceptions: [{ action: 'deny', paths: ['/v1/%7ea/', '/v1/~a', '/{credential}/b'], methods: ['get', 'GET'] }] },
      { exceptions: [{ paths: ['/v1/~a', '/%7Bcredential%7D/b'], methods: ['GET'], action: 'deny' }] },
    ],
  ]
  for (const [decision, granted] of cases) {
    const { verdict, problem } = await verifyReceipt(signed({ ...decision }, granted))
    assert.equal(verdict, 'signed', `${JSON.stringify(decision)} ${problem}`)
  }
})

const denial: GrantException = { paths: ['/v1/mail', '/v1/files'], methods: ['DELETE'], action: 'deny' }
const exceptionChanges = [
  { action: 'ask' as const },
  { action: 'allow' as const },
  { paths: ['/v1/mail'] },
  { paths: ['/v1/files', '/v1/mail'] },
  { methods: ['PUT'] },
  { methods: ['DELETE', 'PUT'] },
  { hosts: ['files.example.com'] },
]

test('a receipt that was stored before grants could ask still verifies', async () => {
  const earlier = (receipt: Receipt): Receipt => ({
    ...receipt,
    grant: earlierTerms,
    unsigned: receipt.unsigned.filter((name) => !later.includes(name)),
  })
  assert.equal((await verifyReceipt(earlier(unsignedReceipt))).verdict, 'unsigned')
  assert.equal((await verifyReceipt(earlier(signed(null)))).verdict, 'signed')
  const { verdict, covers } = await verifyReceipt(earlier(signed({ ...earlierTerms })))
  assert.deepEqual([verdict, covers.length], ['signed', 6])

  // None that was stored since passes for one.
  for (const decision of [
    { mode: 'ask_all' },
    { mode: 'ask_writes' },
    { max_access: 'read' },
    { exceptions: [denial] },
  ]) {
    assert.equal((await verifyReceipt(earlier(signed({ ...decision })))).verdict, 'invalid', JSON.stringify(decision))
  }
  const since = signed({ ...earlierTerms })
  assert.deepEqual(since.unsigned, later)
  assert.equal((await verifyReceipt(since)).verdict, 'signed')
  assert.equal(
    (await verifyReceipt({ ...since, unsigned: [] })).verdict,
    'invalid',
    'it hides that they are not signed',
  )
  for (const name of later) {
    const unsigned = since.unsigned.filter((one) => one !== name)
    const stripped = { ...since, grant: without(since.grant, [name]), unsigned }
    assert.equal((await verifyReceipt(stripped)).verdict, 'invalid', `without ${name}`)
  }
})

test('a grant wider than what was signed makes its receipt invalid', async () => {
  const cases: [object, Partial<Receipt['grant']>][] = [
    [{ connection_id: 'con_other' }, {}],
    [{ allowed_hosts: ['api.example.com'] }, { allowed_hosts: ['api.example.com', 'evil.example'] }],
    [{ allowed_hosts: ['api.example.com'] }, { allowed_hosts: ['*.example.com'] }],
    [{ allowed_hosts: ['*.example.com'] }, { allowed_hosts: ['example.com'] }],
    [{ allowed_hosts: ['*.example.com'] }, { allowed_hosts: ['evilexample.com'] }],
    [{ allowed_hosts: ['api.example.com'] }, { allowed_hosts: ['api.example.com:8443'] }],
    [{ allowed_hosts: null }, {}],
    [{ allowed_methods: ['GET'] }, { allowed_methods: ['GET', 'DELETE'] }],
    [{ allowed_methods: ['GET'] }, { allowed_methods: null }],
    [{ allowed_paths: ['/v1/mail'] }, { allowed_paths: ['/v1'] }],
    [{ allowed_paths: ['/v1/mail'] }, { allowed_paths: null }],
    [{ max_calls: 10 }, { max_calls: 11 }],
    [{ max_calls: 10 }, { max_calls: null }],
    [{ expires_at: '2026-11-16T12:00:00.000Z' }, { expires_at: '2026-11-16T12:00:00.001Z' }],
    [{ expires_at: '2026-11-16T12:00:00.000Z' }, { expires_at: null }],
    [{ expires_at: 'soon' }, {}],
    [{ mode: 'ask_all' }, { mode: 'ask_writes' }],
    [{ mode: 'ask_all' }, { mode: 'allow_all' }],
    [{ mode: 'ask_writes' }, { mode: 'allow_all' }],
    [{ mode: 'ask_writes' }, { mode: 'none' as 'allow_all' }],
    [{ mode: 'none' }, { mode: 'none' as 'allow_all' }],
    [{ mode: null }, { mode: 'allow_all' }],
    [{ max_access: 'read' }, { max_access: 'write' }],
    [{ max_access: 'read' }, { max_access: null }],
    [{ max_access: 'write' }, { max_access: null }],
    [{ max_access: 'none' }, { max_access: 'write' }],
    [{ exceptions: [] }, {}],
    [{ exceptions: terms.exceptions }, { exceptions: [] }],
    [{ exceptions: terms.exceptions }, { exceptions: terms.exceptions?.slice(0, 1) ?? [] }],
    ...exceptionChanges.map((change): [object, Partial<Receipt['grant']>] => [
      { exceptions: [denial] },
      { exceptions: [{ ...denial, ...change }] },
    ]),
    [{ exceptions: [denial] }, { exceptions: [{ paths: denial.paths, action: 'deny' }] }],
  ]
  for (const [decision, granted] of cases) {
    const { verdict, problem } = await verifyReceipt(signed({ ...decision }, granted))
    assert.equal(verdict, 'invalid', JSON.stringify([decision, granted]))
    assert.match(problem ?? '', /was granted otherwise/)
  }
})

test('a receipt with any change is invalid', async () => {
  const good = signed({ ...terms })
  const nonce = good.challenge?.nonce ?? ''
  const again = signed({ ...terms })
  const scopeless = signed(null)
  const p1363 = sign('sha256', Buffer.from(good.signing_input ?? ''), {
    key: device.privateKey,
    dsaEncoding: 'ieee-p1363',
  }).toString('base64url')
  const cases: [string, Receipt][] = [
    ['another request', { ...good, access_request_id: 'arq_other' }],
    ['another challenge', { ...good, challenge: { challenge_id: 'chl_other', nonce } }],
    ['another nonce', { ...good, challenge: again.challenge }],
    ['another text', { ...good, signing_input: again.signing_input }],
    ['another signature', { ...good, signature: again.signature }],
    ['a signature that is none', { ...good, signature: 'AAAA' }],
    ['a signature in another form', { ...good, signature: p1363 }],
    ['a signature with padding', { ...good, signature: `${good.signature}=` }],
    ['another key', { ...good, device: { device_id: 'dev_1', public_key_jwk: jwkOf(other) } }],
    [
      'a key that is none',
      { ...good, device: { device_id: 'dev_1', public_key_jwk: { ...jwkOf(device), x: 'AAAA' } } },
    ],
    ['a wider decision', { ...good, decision: { ...terms, max_calls: 1000 } }],
    ['no decision', { ...good, decision: null, scope_signed: false, unsigned: unsignedReceipt.unsigned }],
    ['a decision that was not signed', { ...scopeless, decision: { ...terms }, scope_signed: true, unsigned: [] }],
    ['less unsigned than there is', { ...scopeless, unsigned: [] }],
    ['more unsigned than there is', { ...good, unsigned: ['max_calls'] }],
    ['a claim of scope', { ...scopeless, scope_signed: true }],
    ['a part missing', { ...good, signature: null }],
    ['a device missing', { ...good, device: null }],
    ['a claim of no signature', { ...good, signed: false }],
    ['a claim of a signature', { ...unsignedReceipt, signed: true }],
    ['a nonce with a dot', { ...good, challenge: { challenge_id: challengeId, nonce: `${nonce}.` } }],
  ]
  assert.equal((await verifyReceipt(good)).verdict, 'signed')
  for (const [what, receipt] of cases) assert.equal((await verifyReceipt(receipt)).verdict, 'invalid', what)
})

test('a signed denial does not pass for an approval', async () => {
  const good = signed(null)
  const text = approvalMessage(challengeId, good.challenge?.nonce ?? '', accessRequestId, 'deny')
  const signature = sign('sha256', Buffer.from(text), device.privateKey).toString('base64url')
  assert.equal((await verifyReceipt({ ...good, signature })).verdict, 'invalid')
  assert.equal((await verifyReceipt({ ...good, signature, signing_input: text })).verdict, 'invalid')
  const honest = { ...good, signature, signing_input: text, verdict: 'deny' } as unknown as Receipt
  assert.equal((await verifyReceipt(honest)).verdict, 'invalid', 'though it says that it is one')
})

test('anything but a receipt is invalid, without throwing', async () => {
  const good = signed({ ...terms })
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
  const others: unknown[] = [null, {}, [], 'a receipt', { ...good, unsigned: null }, { ...good, grant: null }]
  for (const decision of [undefined, 5, { reason: '\ud800' }, { deep }])
    others.push({ ...good, decision, unsigned: [] })
  for (const [index, one] of others.entries()) {
    assert.equal((await verifyReceipt(one as Receipt)).verdict, 'invalid', String(index))
  }
})

test('only strict DER of two positive integers is converted to P1363', () => {
  const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
  const small = toP1363(hex('3006 020101 020102'))
  assert.deepEqual([small?.length, small?.[31], small?.[63]], [64, 1, 2])
  const high = 'ff'.repeat(32)
  assert.equal(Buffer.from(toP1363(hex(`3046 022100${high} 022100${high}`)) ?? []).toString('hex'), high + high)
  const wrong = [
    '',
    '30',
    '3000',
    '3006 020101 020102 00',
    '3007 020101 020102',
    '3005 020101 020102',
    '308106 020101 020102',
    '3106 020101 020102',
    '3006 030101 020102',
    '3005 0200 020102',
    '3006 020100 020102',
    '3006 020181 020102',
    '3007 02020001 020102',
    '3003 020101',
    '3009 020101 020102 020103',
    `3046 022101${high} 022100${high}`,
    `3048 02220000${high} 022200${high}00`,
  ]
  for (const text of wrong) assert.equal(toP1363(hex(text)), undefined, text)
})
