import assert from 'node:assert/strict'
import { createHash, sign } from 'node:crypto'
import { test } from 'node:test'
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import { termNames } from '@sallyport/protocol/grant-terms'
import type { Receipt } from '@sallyport/protocol/grants'
import { verifyReceipt } from '@sallyport/protocol/verify-receipt'
import { startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import type { TestDevice } from '../../testkit/device.ts'
import { signedByOpenssl } from '../../testkit/openssl.ts'

type Verdict = 'approve' | 'deny'

async function challenge({ call }: AccessTest, { token }: Pick<TestDevice, 'token'>, id: string, body: object = {}) {
  const reply = await call('POST', `/v4/access-requests/${id}/challenge`, { token, body })
  return reply
}

/** Signs like a device: a challenge for the whole decision, and a signature for one verdict. */
async function signed(test: AccessTest, device: TestDevice, id: string, verdict: Verdict, decision?: object) {
  const { status, text, body } = await challenge(test, device, id, decision)
  if (status !== 201) throw new Error(text)
  return { challenge_id: body.challenge_id as string, signature: device.sign(body.signing_input[verdict]) }
}

function deviceOnly({ call, user }: AccessTest, body: object = { require_device_approval: true }) {
  return call('PATCH', '/v4/auth/me', { token: user.token, body })
}

function codeOf({ body }: { body: any }): [string, string | undefined] {
  return [body.error?.code, body.error?.field]
}

onBothDatabases('signed approvals', (engine) => {
  test('a device approves with its signature over the whole decision', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, read, connectionId, user } = test
    const device = await pairDevice(test, user)
    const id = await asked({ user_id: user.userId })
    const decision = { connection_id: connectionId, allowed_methods: ['GET'], max_calls: 3 }
    const { status, body } = await challenge(test, device, id, { ...decision, colour: 'blue' })
    assert.equal(status, 201)
    assert.equal(body.expires_at, '2026-11-15T12:02:00.000Z')
    const nonce = Buffer.from(body.nonce, 'base64url')
    assert.equal(nonce.length, 64)
    assert.deepEqual(nonce.subarray(32), createHash('sha256').update(canonicalJson(decision)).digest())
    const message = (verdict: Verdict) => `svc-approval.v1.${body.challenge_id}.${body.nonce}.${id}.${verdict}`
    assert.deepEqual(body.signing_input, { approve: message('approve'), deny: message('deny') })
    const signature = { challenge_id: body.challenge_id, signature: device.sign(message('approve')) }
    const grant = await approve(id, { ...decision, ...signature }, device.token)
    assert.equal(grant.status, 201)
    assert.deepEqual([grant.body.allowed_methods, grant.body.max_calls, grant.body.signed], [['GET'], 3, true])
    assert.equal((await read(id)).body.approved_by, user.userId)
  })

  test('a device denies with its signature, the console without one', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, deny, user } = test
    const device = await pairDevice(test, user)
    const id = await asked({ user_id: user.userId })
    assert.deepEqual(codeOf(await deny(id, {}, device.token)), ['device_signature_required', undefined])
    const denied = await deny(id, await signed(test, device, id, 'deny'), device.token)
    assert.deepEqual([denied.status, denied.body.status], [200, 'denied'])
    await deviceOnly(test)
    assert.equal((await deny(await asked())).status, 200)
  })

  test('a signature by the openssl command line is accepted', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, connectionId, user } = test
    const openssl = signedByOpenssl(t)
    const device = await pairDevice(test, user, { publicKey: openssl.publicKey })
    const id = await asked()
    const decision = { connection_id: connectionId }
    const { body } = await challenge(test, device, id, decision)
    const signature = openssl.sign(body.signing_input.approve)
    const grant = await approve(id, { ...decision, challenge_id: body.challenge_id, signature }, device.token)
    assert.equal(grant.status, 201)
  })

  test('a replayed, expired, foreign or malformed signature is refused with its own code', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, deny, read, clock, connectionId, user, logIn } = test
    const device = await pairDevice(test, user)
    const other = await pairDevice(test, user)
    const decision = { connection_id: connectionId }
    const id = await asked()
    const refused = async (signature: object, request = id, token = device.token) =>
      codeOf(await approve(request, { ...decision, ...signature }, token))

    // Replayed: used for one request, sent for it and for another one.
    const used = await signed(test, device, id, 'approve', decision)
    assert.equal((await approve(id, { ...decision, ...used }, device.token)).status, 201)
    assert.deepEqual(await refused(used), ['request_not_pending', undefined])
    const next = await asked()
    assert.deepEqual(await refused(used, next), ['not_found', 'challenge_id'], 'of another request')
    // Expired.
    const late = await signed(test, device, next, 'approve', decision)
    clock.advance(120)
    assert.deepEqual(await refused(late, next), ['expired', 'challenge_id'])
    // Signed by another device of the same user.
    const { body } = await challenge(test, device, next, decision)
    const sent = (signature: string) => refused({ challenge_id: body.challenge_id, signature }, next)
    assert.deepEqual(await sent(other.sign(body.signing_input.approve)), ['invalid_signature', 'signature'])
    // For the other verdict, both ways.
    assert.deepEqual(await sent(device.sign(body.signing_input.deny)), ['invalid_signature', 'signature'])
    const yes = { challenge_id: body.challenge_id, signature: device.sign(body.signing_input.approve) }
    assert.deepEqual(codeOf(await deny(next, yes, device.token)), ['invalid_signature', 'signature'])
    // Not the strict form.
    const der = Buffer.from(yes.signature, 'base64url')
    const message = Buffer.from(body.signing_input.approve)
    const p1363 = sign('sha256', message, { key: device.key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
    const malformed = [
      p1363,
      Buffer.concat([der, Buffer.alloc(1)]).toString('base64url'),
      der.subarray(0, -1).toString('base64url'),
      der.toString('base64'),
      `${yes.signature}=`,
      `${yes.signature}\n`,
      'x',
    ].filter((text) => text !== yes.signature)
    for (const text of malformed) assert.deepEqual(await sent(text), ['invalid_field', 'signature'], text)
    // Of another user's device, who may decide this request too.
    const bob = await logIn({ email: 'bob@example.com' })
    const bobs = await pairDevice(test, bob)
    const his = await signed(test, bobs, next, 'approve', decision)
    assert.deepEqual(await refused(his, next), ['not_found', 'challenge_id'])
    // Of a challenge that was never made.
    assert.deepEqual(await refused({ ...yes, challenge_id: 'chl_none' }, next), ['not_found', 'challenge_id'])
    assert.deepEqual(await refused({ challenge_id: yes.challenge_id }, next), ['missing_field', 'signature'])
    assert.equal((await read(next)).body.status, 'pending')
    // After all that the right one still works, once.
    assert.equal((await approve(next, { ...decision, ...yes }, device.token)).status, 201)
  })

  test('a challenge works once, also with 12 concurrent uses', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, connectionId, user, database } = test
    const device = await pairDevice(test, user)
    const id = await asked()
    const decision = { connection_id: connectionId }
    const body = { ...decision, ...(await signed(test, device, id, 'approve', decision)) }
    const replies = await Promise.all(Array.from({ length: 12 }, () => approve(id, body, device.token)))
    assert.equal(replies.filter(({ status }) => status === 201).length, 1)
    const grants = await database.queries.selectFrom('grants').selectAll().execute()
    assert.equal(grants.length, 1)
    // The challenge itself is used up: it does not work even if its request is pending again.
    await database.queries.updateTable('access_requests').set({ status: 'pending' }).execute()
    const replayed = await approve(id, body, device.token)
    assert.deepEqual(codeOf(replayed), ['challenge_already_used', 'challenge_id'])
  })

  test('a stolen console session cannot widen what a phone signed', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, connect, connectionId, user, read } = test
    const device = await pairDevice(test, user)
    await deviceOnly(test)
    const id = await asked()
    const second = await connect(user, 'ada-at-work')
    const decision = { connection_id: connectionId, allowed_hosts: ['api.acme.example'], max_calls: 1 }
    const signature = await signed(test, device, id, 'approve', decision)
    const changed = [
      { ...decision, max_calls: 2 },
      { ...decision, allowed_hosts: ['api.acme.example', 'mail.acme.example:8443'] },
      { ...decision, connection_id: second },
      { connection_id: connectionId, allowed_hosts: ['api.acme.example'] },
      { connection_id: connectionId },
      { ...decision, expires_at: '2027-01-01T00:00:00Z' },
      { ...decision, allowed_methods: ['GET'] },
      { ...decision, mode: 'allow_all' },
      { ...decision, exceptions: [{ paths: ['/'], action: 'allow' }] },
      { ...decision, max_access: 'write' },
    ]
    for (const body of changed) {
      for (const token of [user.token, device.token]) {
        assert.deepEqual(codeOf(await approve(id, { ...body, ...signature }, token)), ['decision_mismatch', undefined])
      }
    }
    assert.deepEqual(codeOf(await approve(id, decision)), ['device_signature_required', undefined])
    assert.equal((await read(id)).body.status, 'pending')
    // The console may send what the phone signed, as the signature is valid.
    assert.equal((await approve(id, { ...decision, ...signature })).status, 201)
  })

  test("a signature without a decision is accepted through the user's session too", async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, deny, user, call } = test
    const device = await pairDevice(test, user)
    const id = await asked()
    const grant = await approve(id, await signed(test, device, id, 'approve'))
    assert.equal(grant.status, 201, grant.text)
    const receipt = await call('GET', `/v4/grants/${grant.body.grant_id}/receipt`, { token: user.token })
    assert.deepEqual([receipt.body.signed, receipt.body.scope_signed, receipt.body.decision], [true, false, null])
    const other = await asked()
    const wrong = await approve(other, await signed(test, device, other, 'deny'))
    assert.deepEqual(codeOf(wrong), ['invalid_signature', 'signature'])
    const denied = await deny(other, await signed(test, device, other, 'deny'))
    assert.deepEqual([denied.status, denied.body.status], [200, 'denied'])
  })

  test('with device-only approval, a signature without a decision works only from its device', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, user, call } = test
    const device = await pairDevice(test, user)
    const other = await pairDevice(test, user)
    await deviceOnly(test)
    const id = await asked()
    const signature = await signed(test, device, id, 'approve')
    for (const token of [user.token, other.token]) {
      const refused = await approve(id, signature, token)
      assert.deepEqual(codeOf(refused), ['decision_mismatch', undefined])
      assert.match(refused.body.error.message, /has to include the decision/)
    }
    const grant = await approve(id, signature, device.token)
    assert.equal(grant.status, 201)
    const receipt = await call('GET', `/v4/grants/${grant.body.grant_id}/receipt`, { token: user.token })
    assert.deepEqual([receipt.body.signed, receipt.body.scope_signed, receipt.body.decision], [true, false, null])
  })

  test('a device without an enrolled key cannot decide', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, deny, pending, read, user } = test
    const keyless = await pairDevice(test, user, { withKey: false })
    const id = await asked({ user_id: user.userId })
    assert.deepEqual(await pending(keyless), [id])
    assert.equal((await read(id, keyless.token)).body.status, 'pending')
    await pairDevice(test, user)
    await deviceOnly(test)
    const thiefs = await pairDevice(test, user)
    for (const { token } of [keyless, thiefs]) {
      assert.deepEqual(codeOf(await challenge(test, { token }, id)), ['device_key_required', undefined])
      assert.deepEqual(codeOf(await approve(id, {}, token)), ['device_key_required', undefined])
      assert.deepEqual(codeOf(await deny(id, {}, token)), ['device_key_required', undefined])
    }
  })

  test('a revoked device is refused immediately, with its open challenge', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, call, connectionId, user } = test
    const device = await pairDevice(test, user)
    const id = await asked()
    const decision = { connection_id: connectionId }
    const signature = await signed(test, device, id, 'approve', decision)
    await call('DELETE', `/v4/devices/${device.deviceId}`, { token: user.token })
    assert.equal((await approve(id, { ...decision, ...signature }, device.token)).status, 401)
    assert.deepEqual(codeOf(await approve(id, { ...decision, ...signature })), ['invalid_signature', 'signature'])
  })

  test('a receipt verifies offline for every notation of a decision', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, connectionId, user, call } = test
    const device = await pairDevice(test, user)
    const writings = [
      { allowed_hosts: ['api.acme.example:443', 'api.acme.example', '*.eu.files.acme.example'] },
      { allowed_hosts: ['mail.acme.example:8443'], allowed_methods: ['get', 'GET', 'Post'] },
      { allowed_paths: ['/', '/a/', '/%41/%e2%82%ac', '/b/*/%7ec', '/b/*/~c'] },
      { max_calls: 1e9, expires_at: '2027-01-01t00:00:00.123456z' },
      { max_calls: 1, expires_at: '2027-01-01T00:00:00.9999999+05:30' },
      { mode: 'ask_writes', max_access: 'write', exceptions: [] },
      {
        mode: 'ask_all',
        exceptions: [
          { action: 'allow', paths: ['/b/*/%7ec/', '/b/*/~c', '/{credential}/x'], methods: ['get', 'GET'] },
          { paths: ['/'], action: 'deny' },
        ],
      },
    ]
    for (const writing of writings) {
      const id = await asked()
      const decision = { connection_id: connectionId, ...writing }
      const signature = await signed(test, device, id, 'approve', decision)
      const grant = await approve(id, { ...decision, ...signature }, device.token)
      assert.equal(grant.status, 201, grant.text)
      const { body } = await call('GET', `/v4/grants/${grant.body.grant_id}/receipt`, { token: user.token })
      assert.deepEqual(await verifyReceipt(body as Receipt), {
        verdict: 'signed',
        covers: termNames.filter((name) => name in decision),
      })
    }
  })

  test('a receipt has what was signed and lists what was not', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, call, agent, connectionId, user } = test
    const device = await pairDevice(test, user)
    const id = await asked({ methods: ['GET'] })
    const decision = { connection_id: connectionId, allowed_hosts: ['api.acme.example'] }
    const signature = await signed(test, device, id, 'approve', decision)
    const grant = (await approve(id, { ...decision, ...signature }, device.token)).body
    const receiptOf = async (token: string) =>
      (await call('GET', `/v4/grants/${grant.grant_id}/receipt`, { token })).body
    const receipt = await receiptOf(user.token)
    assert.deepEqual(await receiptOf(agent.token), receipt)
    assert.deepEqual([receipt.signed, receipt.scope_signed, receipt.decision], [true, true, decision])
    assert.deepEqual(receipt.unsigned, [
      ...['allowed_methods', 'allowed_paths', 'max_calls', 'expires_at', 'mode', 'exceptions', 'max_access'],
    ])
    assert.equal(receipt.signature, signature.signature)
    assert.equal(
      receipt.signing_input,
      `svc-approval.v1.${signature.challenge_id}.${receipt.challenge.nonce}.${id}.approve`,
    )
    assert.deepEqual(receipt.device.device_id, device.deviceId)
    assert.deepEqual(receipt.grant.allowed_methods, ['GET'])
    const [record] = await recorded(test, 'access_request.approved')
    assert.deepEqual(record?.detail.receipt, receipt)
    const plain = (await approve(await asked())).body
    const unsigned = (await call('GET', `/v4/grants/${plain.grant_id}/receipt`, { token: user.token })).body
    assert.deepEqual([unsigned.signed, unsigned.scope_signed, unsigned.signature], [false, false, null])
  })
})
