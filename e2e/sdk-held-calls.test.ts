/** Calls that a person has to approve, with the SDK: its fetch, a library that is given it, and a device. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Octokit } from '@octokit/core'
import { callDigest } from '@sallyport/protocol/call-digest'
import { createAgentClient, createDeviceClient, generateDeviceKey, pairDevice, verifyCallReceipt } from '@sallyport/sdk'
import type { AgentClient, FetchOptions, SallyportError, UserClient, WaitingCall } from '@sallyport/sdk'
import { sharedAgentSide } from './agent-side.ts'
import { deciding, failure, startHeldAgent } from './held-agent.ts'
import type { HeldAgent } from './held-agent.ts'
import { eventually } from './running-service.ts'

/** Long enough for every decision here. The calls that expire are made first and looked at last. */
const heldSeconds = 25
const shared = sharedAgentSide({ SALLYPORT_HELD_CALL_SECONDS: String(heldSeconds) })

describe('a call that a person has to approve', () => {
  let agent: AgentClient
  let user: UserClient
  let grantId: string
  let reached: HeldAgent['reached']
  let statusOf: HeldAgent['statusOf']
  /** How the calls ended that nobody decided on. */
  let expired: Promise<[Response, SallyportError, number | null]>
  before(async () => {
    const side = shared()
    const held = await startHeldAgent(side)
    ;({ agent, user, grantId, reached, statusOf } = held)
    expired = Promise.all([
      agent.fetch(grantId)(at('/hello?expires')),
      failure(agent.proxy({ grant_id: grantId, method: 'GET', url: at('/hello?expires-too') })),
      side
        .home({ SALLYPORT_AGENT_TOKEN: held.token })
        .run(['call', '-g', grantId, at('/hello?expires-as-well')])
        .then(({ code }) => code),
    ])
    expired.catch(() => undefined)
  })
  const at = (path: string) => shared().upstream(path)
  const approving = () => deciding(({ callId }) => user.calls.approve(callId))

  describe("the SDK's fetch", () => {
    test('waits, tells where the person decides, and returns the response', async () => {
      const told: WaitingCall[] = []
      const { onWaiting, made } = approving()
      const fetch = agent.fetch(grantId, {
        reason: 'To say hello',
        onWaiting: (call) => {
          told.push(call)
          onWaiting(call)
        },
      })
      const response = await fetch(at('/anything?a'), { method: 'POST', body: 'a=1', headers: { accept: 'text/x' } })
      await made()
      const [call] = told
      assert.equal(told.length, 1)
      assert.match(call?.callId ?? '', /^cal_/)
      assert.equal(call?.approvalUrl, `${shared().base}/approve-call/${call?.callId}`)
      assert.ok(Date.parse(call.expiresAt) > Date.now())
      const sent = (await response.json()) as { method: string; headers: Record<string, string>; body: string }
      assert.deepEqual([response.status, response.url, response.redirected], [200, at('/anything?a'), false])
      assert.deepEqual([sent.method, sent.headers['accept'], atob(sent.body)], ['POST', 'text/x', 'a=1'])
      assert.match(response.headers.get('x-sallyport-audit-id') ?? '', /^aud_/)
      assert.equal((await user.calls.get(call.callId)).reason, 'To say hello')
      assert.equal(reached('/anything?a'), 1)
    })

    test('a reason in a header is shown to the person and does not reach the API', async () => {
      const { onWaiting, made } = deciding(async ({ callId }) => {
        assert.equal((await user.calls.get(callId)).reason, 'To look')
        await user.calls.approve(callId)
      })
      const headers = { 'x-sallyport-reason': 'To look' }
      const sent = await (await agent.fetch(grantId, { onWaiting })(at('/anything?why'), { headers })).text()
      await made()
      assert.ok(!/reason|To look/.test(sent), sent)
    })

    test('bytes, text, no content and an error of the API are the response that they would have been', async () => {
      const { onWaiting } = approving()
      const fetch = agent.fetch(grantId, { onWaiting })
      const [bytes, text, missing, head] = await Promise.all([
        fetch(at('/binary')).then(async (response) => Buffer.from(await response.arrayBuffer()).toString('hex')),
        fetch(at('/hello')).then((response) => response.text()),
        fetch(at('/missing')).then((response) => [response.status, response.headers.get('content-type')]),
        fetch(at('/hello'), { method: 'HEAD' }).then((response) => [response.status, response.body]),
      ])
      assert.equal(bytes, '00ff1b5b33316d0a')
      assert.deepEqual([text, missing, head], ['hello', [404, 'application/json'], [200, null]])
    })

    test('a redirect is followed by the SDK, as a call of its own', async () => {
      const { onWaiting } = approving()
      const response = await agent.fetch(grantId, { onWaiting })(at('/redirect?to=/hello'))
      assert.deepEqual([await response.text(), response.redirected], ['hello', true])
    })

    /** How a call can end without a response. */
    const refused = async (options: FetchOptions, path: string) => {
      const response = await agent.fetch(grantId, options)(at(path))
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      assert.equal(response.headers.get('x-sallyport-error'), error['code'])
      assert.equal(response.headers.get('x-should-retry'), 'false')
      assert.equal(reached(path), 0)
      return { status: response.status, ...error } as { status: number } & Record<string, unknown>
    }

    test("a denial is a 403 with the person's words", async () => {
      const { onWaiting } = deciding(({ callId }) => user.calls.deny(callId, { reason: 'not this one' }))
      const { status, code, message } = await refused({ onWaiting }, '/hello?denied')
      assert.deepEqual([status, code], [403, 'call_denied'])
      assert.match(String(message), /not this one/)
      const again = await refused({}, '/hello?denied')
      assert.equal(again['code'], 'call_denied', 'an equal call is not asked about again')
      const other = deciding(({ callId }) => user.calls.deny(callId, { reason: 'nor this' }))
      const call = { grant_id: grantId, method: 'GET', url: at('/hello?denied-too') }
      const thrown = await failure(agent.proxy(call, { onWaiting: other.onWaiting }))
      assert.deepEqual([thrown.code, thrown.status, thrown.denialReason], ['call_denied', 403, 'nor this'])
    })

    test('after waitMs the call stays open, is no denial, and its response comes later', async () => {
      const { status, code, message, call_id: callId, approval_url: url } = await refused({ waitMs: 0 }, '/hello?later')
      assert.deepEqual([status, code], [503, 'approval_pending'])
      assert.equal(url, `${shared().base}/approve-call/${String(callId)}`)
      assert.ok(String(message).includes(url) && /neither made nor denied/.test(String(message)))
      const thrown = await failure(agent.calls.wait(String(callId), { waitMs: 1 }))
      assert.deepEqual([thrown.code, thrown.call?.callId], ['approval_pending', callId])
      assert.ok((await agent.calls.list({ status: 'waiting' }).all()).some(({ call_id }) => call_id === callId))
      const waiting = agent.calls.wait(String(callId))
      await user.calls.approve(String(callId))
      assert.equal((await waiting).body, 'hello')
      assert.equal((await agent.calls.wait(String(callId))).body, 'hello', 'it is kept')
      assert.equal((await failure(agent.calls.cancel(String(callId)))).code, 'call_not_waiting')
    })

    test('a call whose grant is revoked ends as cancelled', async () => {
      const { token, grantId } = await shared().admitted({ mode: 'ask_writes' })
      const other = createAgentClient({ baseUrl: shared().base, token })
      assert.equal(await (await other.fetch(grantId)(at('/hello'))).text(), 'hello', 'a read runs')
      const { onWaiting } = deciding(() => user.grants.revoke(grantId))
      const call = { grant_id: grantId, method: 'POST', url: at('/hello?revoked') }
      assert.equal((await failure(other.proxy(call, { onWaiting }))).code, 'call_cancelled')
    })

    test('an abort cancels the call, so that it can no longer be approved', async () => {
      for (const how of ['fetch', 'proxy'] as const) {
        const controller = new AbortController()
        const { signal } = controller
        let callId = ''
        const onWaiting = (call: WaitingCall) => {
          ;({ callId } = call)
          controller.abort(new Error('no more'))
        }
        const url = at(`/hello?aborted-${how}`)
        const call =
          how === 'fetch'
            ? agent.fetch(grantId, { onWaiting })(url, { signal })
            : agent.proxy({ grant_id: grantId, method: 'GET', url }, { signal, onWaiting })
        await assert.rejects(call, /no more/)
        assert.equal(await statusOf(callId), 'cancelled')
        assert.equal((await failure(user.calls.approve(callId))).code, 'call_not_waiting')
        assert.equal(reached(`aborted-${how}`), 0)
      }
    })

    test('equal calls are one call, which the last to give up cancels', async () => {
      const controllers = [new AbortController(), new AbortController(), new AbortController()]
      const ids = new Set<string>()
      let told = 0
      const calls = controllers.map(({ signal }) =>
        agent.fetch(grantId, {
          onWaiting: ({ callId }) => {
            ids.add(callId)
            told++
          },
        })(at('/hello?shared'), { signal }),
      )
      for (const call of calls) call.catch(() => undefined)
      await eventually(() => told === 3, 'not all wait')
      const [callId = ''] = ids
      assert.equal(ids.size, 1)
      controllers[0]?.abort()
      await assert.rejects(calls[0] ?? assert.fail(), { name: 'AbortError' })
      assert.equal(await statusOf(callId), 'waiting')
      await user.calls.approve(callId)
      assert.deepEqual(await Promise.all(calls.slice(1).map(async (call) => (await call).text())), ['hello', 'hello'])
      assert.equal(reached('/hello?shared'), 1)
    })

    test('many calls wait at once, and one decision settles them', async () => {
      const { token, grantId } = await shared().admitted({ mode: 'ask_all' })
      const other = createAgentClient({ baseUrl: shared().base, token })
      const ids: string[] = []
      const fetch = other.fetch(grantId, { onWaiting: ({ callId }) => ids.push(callId) })
      const calls = Array.from({ length: 20 }, (_, at) => fetch(shared().upstream(`/hello?many-${at}`)))
      await eventually(() => ids.length === 20, 'not all wait')
      const shown = (await user.calls.list({ status: 'waiting', limit: 50 }).all()).filter(({ call_id }) =>
        ids.includes(call_id),
      )
      const decisions = shown.map(({ call_id, digest }) => ({ call_id, digest, verdict: 'approve' as const }))
      const { results } = await user.calls.decide(decisions)
      assert.deepEqual(results.map(({ error }) => error).filter(Boolean), [])
      const texts = await Promise.all(calls.map(async (call) => (await call).text()))
      assert.deepEqual(new Set(texts), new Set(['hello']))
      assert.equal(reached('/hello?many-'), 20)
    })

    test('an idempotency key holds for a call that waits', async () => {
      const { onWaiting } = approving()
      const call = { grant_id: grantId, method: 'POST', url: at('/anything?keyed') }
      const options = { idempotencyKey: 'key-of-a-held-call', onWaiting }
      const first = await agent.proxy(call, options)
      const second = await agent.proxy(call, options)
      assert.deepEqual([first.audit_id, reached('/anything?keyed')], [second.audit_id, 1])
    })

    test('a library that is given it only waits longer', async () => {
      const { onWaiting } = approving()
      const octokit = new Octokit({ baseUrl: at(''), request: { fetch: agent.fetch(grantId, { onWaiting }) } })
      const { data } = await octokit.request('POST /repos/ada/notes/issues', { title: 'Broken' })
      const { method, body } = data as { method: string; body: string }
      assert.deepEqual([method, JSON.parse(atob(body))], ['POST', { title: 'Broken' }])
      const denying = deciding(({ callId }) => user.calls.deny(callId, { reason: 'leave it' }))
      const denied = new Octokit({
        baseUrl: at(''),
        request: { fetch: agent.fetch(grantId, { onWaiting: denying.onWaiting }) },
      })
      await assert.rejects(denied.request('DELETE /repos/ada/notes'), (error: { status: number; message: string }) => {
        assert.equal(error.status, 403)
        return /leave it/.test(JSON.stringify(error))
      })
    })
  })

  describe('a device', () => {
    test('signs the call that it shows and no other, and the receipt verifies', async () => {
      const baseUrl = shared().base
      const key = await generateDeviceKey()
      const { pairing_code: pairingCode } = await user.devices.createPairingCode()
      const { session_token: sessionToken } = await pairDevice({ baseUrl, pairingCode, key, deviceName: 'Desk' })
      const device = createDeviceClient({ baseUrl, sessionToken, key })
      const { onWaiting, made } = deciding(async ({ callId }) => {
        const call = await device.calls.get(callId)
        const wrong = { ...call, description: { ...call.description, url: at('/hello?other') } }
        assert.equal((await failure(device.calls.approve(wrong))).code, 'unexpected_answer')
        const forged = { ...wrong, digest: await callDigest(wrong.description) }
        assert.equal((await failure(device.calls.approve(forged))).code, 'unexpected_answer')
        assert.equal((await device.calls.approve(call)).signed, true)
        const receipt = await user.calls.receipt(callId)
        assert.equal((await verifyCallReceipt(receipt)).verdict, 'signed')
        const cli = shared().home({ SALLYPORT_SESSION_TOKEN: shared().personToken })
        const printed = await cli.run(['receipt', 'show', callId])
        const verified = await cli.run(['receipt', 'verify', '-'], { input: printed.stdout })
        assert.equal(verified.code, 0, verified.stderr)
        assert.match(verified.stdout, /signed[^]*Decision {3}approved[^]*GET .*hello\?signed/)
        const other = printed.stdout.replace('hello?signed', 'hello?other')
        assert.equal((await cli.run(['receipt', 'verify', '-'], { input: other })).code, 9)
      })
      assert.equal(await (await agent.fetch(grantId, { onWaiting })(at('/hello?signed'))).text(), 'hello')
      await made()
    })
  })

  test('a call that nobody decides on expires, which is no denial', async () => {
    const [response, thrown, exitCode] = await expired
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    assert.deepEqual([response.status, error.code], [410, 'call_expired'])
    assert.match(error.message, /It was not denied/)
    assert.deepEqual([thrown.code, thrown.retryable, exitCode], ['call_expired', false, 5])
    assert.equal(reached('/hello?expires'), 0)
  })
})
