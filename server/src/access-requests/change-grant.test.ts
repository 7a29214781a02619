import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Receipt } from '@sallyport/protocol/grants'
import { verifyReceipt } from '@sallyport/protocol/verify-receipt'
import { startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import type { TestDevice } from '../../testkit/device.ts'

const asked = { methods: ['GET', 'POST'], paths: ['/mail'], max_calls: 100 }
const granted = { allowed_methods: ['GET', 'POST'], max_calls: 10, expires_at: '2026-11-20T12:00:00.000Z' }

/** A grant of all that was asked for, but fewer calls. */
async function startGrant(test: AccessTest, decision: object = granted) {
  const { status, text, body } = await test.approve(await test.asked(asked), decision)
  assert.equal(status, 201, text)
  return changing(test, body.grant_id as string)
}

function changing({ call, user }: AccessTest, grantId: string) {
  return {
    grantId,
    change: (body: object, token = user.token) => call('PATCH', `/v4/grants/${grantId}`, { token, body }),
    receipt: async () => (await call('GET', `/v4/grants/${grantId}/receipt`, { token: user.token })).body as Receipt,
    signed: async <Change extends object>(device: TestDevice, change: Change) => {
      const reply = await call('POST', `/v4/grants/${grantId}/challenge`, { token: device.token, body: change })
      assert.equal(reply.status, 201, reply.text)
      const { challenge_id, signing_input } = reply.body as { challenge_id: string; signing_input: string }
      return { ...change, challenge_id, signature: device.sign(signing_input) }
    },
  }
}

function codeOf({ status, body }: { status: number; body: any }): unknown[] {
  return [status, body.error?.code, body.error?.field].filter((one) => one !== undefined)
}

const narrowings: Record<string, unknown> = {
  allowed_hosts: ['api.acme.example'],
  allowed_methods: ['GET'],
  allowed_paths: ['/mail/inbox'],
  max_calls: 5,
  expires_at: '2026-11-19T12:00:00.000Z',
  mode: 'ask_all',
  exceptions: [{ paths: ['/mail/inbox/1'], action: 'deny' }],
  max_access: 'read',
}

onBothDatabases('a change of a grant', (engine) => {
  test('narrows each of its terms, on record, and leaves the others', async (t) => {
    const test = await startAccessTest(t, engine)
    const { grantId, change, receipt } = await startGrant(test)
    for (const [name, value] of Object.entries(narrowings)) {
      const { [name]: earlier, ...others } = (await test.call('GET', '/v4/grants', { token: test.user.token })).body
        .grants[0]
      const { status, text, body } = await change({ [name]: value })
      assert.equal(status, 200, text)
      assert.deepEqual(body, { ...others, [name]: value }, name)
      assert.notDeepEqual(earlier, value)
      assert.deepEqual((await receipt()).grant[name as 'mode'], value)
    }
    const records = await recorded(test, 'grant.changed')
    assert.deepEqual(
      records.map(({ grant_id, user_id, detail }) => [grant_id, user_id, detail.wider]),
      Object.keys(narrowings).map(() => [grantId, test.user.userId, false]),
    )
    assert.equal((records[3]?.detail.before as Receipt['grant'] | undefined)?.max_calls, 10)
    // Nothing changes, so nothing is on record.
    assert.equal((await change(narrowings)).status, 200)
    assert.equal((await recorded(test, 'grant.changed')).length, records.length)
  })

  test('widens it up to what was asked for, by an approval of its own', async (t) => {
    const test = await startAccessTest(t, engine)
    const { change, receipt } = await startGrant(test)
    test.clock.advance(60)
    const wider = { max_calls: 100, expires_at: null }
    const { status, body } = await change(wider)
    assert.deepEqual([status, body.max_calls, body.expires_at], [200, 100, null])
    const { approved_at: at, grant } = await receipt()
    assert.deepEqual([at, grant.max_calls], [test.clock.now().toISOString(), 100])
    const { body: reset } = await change({ max_calls: null, allowed_methods: null, allowed_hosts: null })
    assert.deepEqual([reset.max_calls, reset.allowed_methods], [asked.max_calls, asked.methods], 'what was asked for')
    const refused: [object, string][] = [
      [{ max_calls: 101 }, 'max_calls'],
      [{ allowed_methods: ['GET', 'DELETE'] }, 'allowed_methods.1'],
      [{ allowed_paths: ['/mail', '/admin'] }, 'allowed_paths.1'],
      [{ allowed_hosts: ['evil.example'] }, 'allowed_hosts.0'],
      [{ expires_at: '2026-11-15T11:00:00Z' }, 'expires_at'],
      [{ allowed_hosts: [] }, 'allowed_hosts'],
      [{ connection_id: test.connectionId }, 'connection_id'],
    ]
    for (const [more, field] of refused) assert.deepEqual(codeOf(await change(more)), [400, 'invalid_field', field])
  })

  test('that widens needs a signature of a device if its user approves on devices only', async (t) => {
    const test = await startAccessTest(t, engine)
    const { user, call } = test
    const device = await pairDevice(test, user)
    const { change, signed, receipt } = await startGrant(test)
    await call('PATCH', '/v4/auth/me', { token: user.token, body: { require_device_approval: true } })
    const needed = [403, 'device_signature_required']
    assert.deepEqual(codeOf(await change({ max_calls: 20 })), needed)
    assert.deepEqual(codeOf(await change({ max_calls: 20, allowed_methods: ['GET'] })), needed, 'narrower elsewhere')
    assert.deepEqual(codeOf(await change({ max_calls: 9 }, device.token)), needed, 'a session of a device is no key')
    assert.equal((await change({ max_calls: 9 })).status, 200, 'narrower')

    const other = await signed(device, { max_calls: 20 })
    assert.deepEqual(codeOf(await change({ ...other, max_calls: 21 })), [409, 'decision_mismatch'])
    const twenty = await signed(device, { max_calls: 20 })
    assert.equal((await change(twenty)).body.max_calls, 20)
    assert.deepEqual(codeOf(await change(twenty)), [409, 'challenge_already_used', 'challenge_id'])
    const proof = await receipt()
    assert.deepEqual([proof.signed, proof.decision, proof.grant.max_calls], [true, { max_calls: 20 }, 20])
    assert.deepEqual(await verifyReceipt(proof), { verdict: 'signed', covers: ['max_calls'] })
    assert.equal((await change(await signed(device, { expires_at: null }), device.token)).body.expires_at, null)
    const [first] = await recorded(test, 'grant.changed')
    assert.equal(first?.detail.wider, false)
  })

  test('keeps a signed receipt true: what was signed, and what is left of it', async (t) => {
    const test = await startAccessTest(t, engine)
    const device = await pairDevice(test, test.user)
    const id = await test.asked(asked)
    const decision = { connection_id: test.connectionId, ...granted, mode: 'allow_all', exceptions: [] }
    const { body: challenge } = await test.call('POST', `/v4/access-requests/${id}/challenge`, {
      token: device.token,
      body: decision,
    })
    const signature = device.sign(challenge.signing_input.approve as string)
    const { body } = await test.approve(id, { ...decision, challenge_id: challenge.challenge_id, signature })
    const { change, receipt } = changing(test, body.grant_id as string)
    const signed = await receipt()
    assert.equal((await change(narrowings)).body.signed, true)
    const narrowed = await receipt()
    assert.deepEqual([narrowed.decision, narrowed.approved_at], [signed.decision, signed.approved_at])
    assert.deepEqual(narrowed.grant.exceptions, narrowings['exceptions'])
    assert.equal((await verifyReceipt(narrowed)).verdict, 'signed')
    // Wider again, without a device: nobody signed that.
    assert.equal((await change({ max_calls: 10 })).body.signed, false)
    assert.equal((await verifyReceipt(await receipt())).verdict, 'unsigned')
  })

  test('is its user’s alone, while it is active', async (t) => {
    const test = await startAccessTest(t, engine)
    const { grantId, change } = await startGrant(test)
    const less = { max_calls: 1 }
    const stranger = await test.logIn({ email: 'eve@example.com' })
    assert.deepEqual(codeOf(await change(less, stranger.token)), [404, 'not_found'])
    assert.deepEqual(codeOf(await change(less, test.agent.token)), [403, 'forbidden'])
    const theirs = await pairDevice(test, stranger)
    const path = `/v4/grants/${grantId}/challenge`
    assert.deepEqual(codeOf(await test.call('POST', path, { token: theirs.token, body: less })), [404, 'not_found'])
    test.clock.advance(6 * 86_400)
    assert.deepEqual(codeOf(await change({ expires_at: null })), [403, 'grant_expired'], 'it is not revived')
    const other = await startGrant(test, {})
    await test.call('POST', `/v4/grants/${other.grantId}/revoke`, { token: test.user.token })
    assert.deepEqual(codeOf(await other.change(less)), [403, 'grant_revoked'])
  })

  test('that widens needs what an approval needs: an account that works, an agent and a provider that are active', async (t) => {
    const test = await startAccessTest(t, engine)
    const { change } = await startGrant(test)
    const { queries } = test.database
    await queries.updateTable('connections').set({ status: 'needs_reauth' }).execute()
    assert.deepEqual(codeOf(await change({ max_calls: 11 })), [409, 'connection_needs_reauth', 'connection_id'])
    assert.equal((await change({ max_calls: 9 })).status, 200)
    await queries.updateTable('connections').set({ status: 'active' }).execute()
    await test.call('POST', `/v4/agents/${test.agent.agentId}/disable`, { token: test.adminToken })
    assert.deepEqual(codeOf(await change({ max_calls: 10 })), [409, 'conflict'])
    assert.equal((await change({ max_calls: 8 })).status, 200)
  })
})
