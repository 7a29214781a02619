/** What a device signs covers the whole call, and nothing else can be made of the signature. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callMessage } from '@sallyport/protocol/approval-message'
import type { CallDescription, CallReceipt } from '@sallyport/protocol/calls'
import { verifyCallReceipt } from '@sallyport/protocol/verify-call-receipt'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import type { TestDevice } from '../../testkit/device.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'
import { Secret } from '../platform/secret.ts'
import { decisionHash, digestOf } from './describe-call.ts'
import { heldShown } from './held-call-store.ts'
import type { Shown } from './held-call.ts'

async function challenge({ service }: HeldCallTest, device: TestDevice, callId: string, body?: object) {
  const reply = await service.call('POST', `/v4/calls/${callId}/challenge`, { token: device.token, body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body as { challenge_id: string; nonce: string; signing_input: { approve: string; deny: string } }
}

async function signed(
  test: HeldCallTest,
  device: TestDevice,
  callId: string,
  verdict: 'approve' | 'deny',
  body?: object,
) {
  const { challenge_id, signing_input } = await challenge(test, device, callId, body)
  return { challenge_id, signature: device.sign(signing_input[verdict]) }
}

const changes: { [Member in keyof CallDescription]: CallDescription[Member] } = {
  agent_id: 'agt_01k9x3v7qmf5v8t2w4y6z8abcd',
  grant_id: 'grt_01k9x3v7qmf5v8t2w4y6z8abcd',
  connection_id: 'con_01k9x3v7qmf5v8t2w4y6z8abcd',
  account: 'someone else',
  method: 'DELETE',
  url: 'https://localhost/elsewhere',
  headers: [['x-other', 'header']],
  adds: ['query key'],
  aws: { region: 'us-east-1' },
  body_sha256: 'A'.repeat(43),
  body_length: 1,
  access: 'read',
}

/** As one who can write to the database, and has the key of the vault, would change it. */
async function tamper({ service: { database, vault } }: HeldCallTest, callId: string, agentId: string, shown: Shown) {
  await database.transaction(async (tx) => {
    const place = { row: callId, owner: agentId }
    const { bytes, keyId } = await vault.seal(tx, heldShown, place, new Secret(JSON.stringify(shown)))
    await tx
      .updateTable('held_calls')
      .set({ shown: bytes, shown_key_id: keyId, digest: digestOf(shown.description) })
      .where('call_id', '=', callId)
      .execute()
  })
}

onBothDatabases('a decision that a device signs', (engine) => {
  test('approves the call, and its receipt has all that is needed to verify it', async (t) => {
    const test = await startHeldCalls(t, engine)
    const device = await test.device()
    const id = await test.held()
    const seen = (await test.see(id)).body
    const { challenge_id, nonce, signing_input } = await challenge(test, device, id)
    assert.equal(signing_input.approve, callMessage(challenge_id, nonce, id, 'approve'))
    const hash = decisionHash(seen.description as CallDescription, null)
    assert.deepEqual(Buffer.from(nonce, 'base64url').subarray(32), hash)
    const body = { challenge_id, signature: device.sign(signing_input.approve) }
    assert.equal((await test.approve(id, undefined, device.token)).body.error.code, 'device_signature_required')
    const approved = await test.approve(id, body, device.token)
    assert.deepEqual([approved.status, approved.body.signed], [200, true], approved.text)
    assert.equal((await test.ended(id)).response.status, 200)
    const receipt = (await test.service.call('GET', `/v4/calls/${id}/receipt`, { token: test.user.token })).body
    assert.deepEqual(
      [receipt.verdict, receipt.signed, receipt.signing_input, receipt.signature, receipt.device.device_id],
      ['approve', true, signing_input.approve, body.signature, device.deviceId],
    )
    assert.deepEqual(receipt.description, seen.description)
    assert.deepEqual(receipt.challenge, { challenge_id, nonce })
    assert.equal(receipt.repeat_for_seconds, null)
    assert.deepEqual(await verifyCallReceipt(receipt), { verdict: 'signed' })
    const changed = { ...receipt, description: { ...receipt.description, url: 'https://localhost/other' } }
    assert.equal((await verifyCallReceipt(changed)).verdict, 'invalid')
  })

  test('denies the call, with a receipt too', async (t) => {
    const test = await startHeldCalls(t, engine, { terms: { mode: 'ask_all' } })
    const device = await test.device()
    const id = await test.held({ method: 'GET', body: undefined })
    const repeating = await signed(test, device, id, 'deny', { repeat_for_seconds: 900 })
    assert.equal((await test.deny(id, repeating, device.token)).body.error.code, 'decision_mismatch')
    assert.equal((await test.deny(id, await signed(test, device, id, 'deny'), device.token)).status, 200)
    const { body } = await test.service.call('GET', `/v4/calls/${id}/receipt`, { token: test.user.token })
    assert.deepEqual([body.verdict, await verifyCallReceipt(body as CallReceipt)], ['deny', { verdict: 'signed' }])
    const unsigned = await test.held({ method: 'GET', body: undefined, url: `${test.upstream.url}/2` })
    await test.deny(unsigned)
    const plain = await test.service.call('GET', `/v4/calls/${unsigned}/receipt`, { token: test.user.token })
    assert.deepEqual(await verifyCallReceipt(plain.body as CallReceipt), { verdict: 'unsigned' })
  })

  test('is needed from a console too if the user approves on devices only; a denial is not', async (t) => {
    const test = await startHeldCalls(t, engine)
    const device = await test.device()
    const { call } = test.service
    const required = await call('PATCH', '/v4/auth/me', {
      token: test.user.token,
      body: { require_device_approval: true },
    })
    assert.equal(required.status, 200, required.text)
    const id = await test.held()
    assert.equal((await test.approve(id)).body.error.code, 'device_signature_required')
    const { digest } = (await test.see(id)).body
    const decisions = [{ call_id: id, digest, verdict: 'approve' }]
    const several = await call('POST', '/v4/calls/decide', { token: test.user.token, body: { decisions } })
    assert.equal(several.body.results[0].error.code, 'device_signature_required')
    assert.equal((await test.approve(id, await signed(test, device, id, 'approve'))).status, 200)
    await test.ended(id)
    assert.equal((await test.deny(await test.held({ body: { n: 2 } }))).status, 200)
  })

  test('fails if any member of the description is changed after it was signed', async (t) => {
    const test = await startHeldCalls(t, engine)
    const device = await test.device()
    const id = await test.held()
    const { agentId } = test.agent
    const seen = (await test.see(id)).body
    const { sentence, details, body, reason, description } = seen as Shown
    const shown: Shown = { sentence, details, body, reason, description, repeatScope: null }
    for (const name of Object.keys(changes) as (keyof CallDescription)[]) {
      const proof = await signed(test, device, id, 'approve')
      await tamper(test, id, agentId, { ...shown, description: { ...description, [name]: changes[name] } })
      const after = await test.approve(id, proof, device.token)
      assert.equal(after.body.error?.code, 'decision_mismatch', name)
      // Even if the device had signed it: it is not what would be sent.
      const again = await test.approve(id, await signed(test, device, id, 'approve'), device.token)
      assert.equal(again.body.error?.code, 'decision_mismatch', name)
      await tamper(test, id, agentId, shown)
    }
    assert.equal((await test.see(id)).body.status, 'waiting')
    assert.equal(test.upstream.received.length, 0)
    assert.equal((await test.approve(id, await signed(test, device, id, 'approve'), device.token)).status, 200)
    assert.equal((await test.ended(id)).status, 'done')
  })

  test('counts for one call, verdict, repetition, device and user', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { service, user } = test
    const device = await test.device()
    const sibling = await pairDevice(service, user)
    const stranger = await service.logIn({ email: 'eve@example.com' })
    const strange = await pairDevice(service, stranger)
    const [id, other] = [await test.held(), await test.held({ body: { n: 2 } })]
    const code = async (body: object, callId = id, token = device.token) =>
      (await test.approve(callId, body, token)).body.error?.code as string | undefined
    const proof = await signed(test, device, id, 'approve')
    assert.equal(await code(proof, other), 'not_found', 'of another call')
    assert.equal(await code(await signed(test, device, id, 'deny')), 'invalid_signature', 'of another verdict')
    assert.equal(await code(proof, id, strange.token), 'not_found', 'of another user')
    const theirs = await service.call('POST', `/v4/calls/${id}/challenge`, { token: strange.token })
    assert.equal(theirs.status, 404)
    const { challenge_id, signing_input } = await challenge(test, device, id)
    assert.equal(
      await code({ challenge_id, signature: sibling.sign(signing_input.approve) }),
      'invalid_signature',
      'of another device',
    )
    assert.equal(await code({ ...proof, digest: 'A'.repeat(43) }), 'decision_mismatch')
    service.clock.advance(121)
    assert.equal(await code(proof), 'expired')
    assert.equal(await code(await signed(test, device, id, 'approve')), undefined)
    await test.ended(id)
    assert.equal(test.upstream.received.length, 1)
  })

  test('is taken for several calls together, each with its own, and never for a destructive one', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { service, upstream } = test
    const device = await test.device()
    const ids = [
      await test.held({ body: { n: 1 } }),
      await test.held({ body: { n: 2 } }),
      await test.held({ method: 'DELETE', body: undefined }),
    ]
    const calls = await test.waiting()
    const digestOfCall = (id: string) => calls.find(({ call_id }) => call_id === id).digest as string
    const decisions = await Promise.all(
      ids.map(async (id) => ({
        call_id: id,
        digest: digestOfCall(id),
        verdict: 'approve',
        ...(await signed(test, device, id, 'approve')),
      })),
    )
    const swapped = decisions.map((one, index) => ({ ...one, digest: decisions[(index + 1) % 3]?.digest }))
    const decide = async (body: unknown[]) =>
      (await service.call('POST', '/v4/calls/decide', { token: device.token, body: { decisions: body } })).body
        .results as {
        status: string | null
        error: { code: string } | null
      }[]
    for (const { error } of await decide(swapped)) assert.equal(error?.code, 'decision_mismatch')
    const results = await decide(decisions)
    assert.deepEqual(
      results.map(({ status, error }) => [status, error?.code]),
      [
        ['approved', undefined],
        ['approved', undefined],
        [null, 'invalid_field'],
      ],
    )
    for (const id of ids.slice(0, 2)) await test.ended(id)
    assert.equal(upstream.received.length, 2)
    assert.deepEqual(
      (await test.waiting()).map(({ call_id }) => call_id),
      [ids[2]],
    )
    assert.equal(
      (await test.approve(ids[2] ?? '', await signed(test, device, ids[2] ?? '', 'approve'), device.token)).status,
      200,
    )
    await test.ended(ids[2] ?? '')
    assert.deepEqual(upstream.received.map(({ method }) => method).sort(), ['DELETE', 'POST', 'POST'])
  })
})
