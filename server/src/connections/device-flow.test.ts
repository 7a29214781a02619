import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest, Person } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

const json = { 'content-type': 'application/json' }
const answering = (error: string, status = 400) => ({ status, headers: json, body: JSON.stringify({ error }) })

const begin = ({ call, user }: ConnectionTest, body: object = {}, { token }: Person = user) =>
  call('POST', '/v4/oauth/device/start', { token, body: { provider_slug: slug, ...body } })

async function begun(test: ConnectionTest, body: object = {}, person = test.user) {
  const { status, body: flow, text } = await begin(test, body, person)
  assert.equal(status, 201, text)
  const { call, clock } = test
  const poll = (by = person) =>
    call('POST', '/v4/oauth/device/poll', { token: by.token, body: { device_flow_id: flow.device_flow_id } })
  return { flow, poll, pollLater: (seconds = flow.interval) => (clock.advance(seconds), poll()) }
}

const asked = ({ oauth }: ConnectionTest) => oauth.calls.filter(({ path }) => path === oauthPaths.token).length

onBothDatabases('the device flow', (engine) => {
  test('a user enters the code elsewhere, and polling ends in one connection', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, clock, user } = test
    const { flow, pollLater } = await begun(test)
    assert.deepEqual(Object.keys(flow).sort(), [
      'device_flow_id',
      'expires_at',
      'interval',
      'user_code',
      'verification_uri',
      'verification_uri_complete',
      'warning',
    ])
    assert.equal(flow.verification_uri, `${oauth.issuer}${oauthPaths.device}`)
    assert.ok(flow.verification_uri_complete.includes(flow.user_code))
    assert.equal(Date.parse(flow.expires_at), clock.now().getTime() + 600_000)
    assert.deepEqual((await pollLater()).body, { status: 'pending', interval: flow.interval })
    await oauth.approveDevice(flow.user_code, { account: 'ada' })
    const { status, body } = await pollLater()
    assert.deepEqual([status, body.status], [200, 'connected'])
    const made = await test.connection(body.connection_id)
    assert.deepEqual([made.status, made.account_label, made.renewable], ['active', 'ada@example.com', true])
    const before = asked(test)
    for (let count = 0; count < 3; count++) assert.deepEqual((await pollLater(0)).body, body)
    clock.advance(4000)
    assert.deepEqual((await pollLater(0)).body, body, 'also past its end')
    assert.equal(asked(test), before)
    const [created] = await recorded(test, 'connection.')
    assert.deepEqual([created?.event, created?.user_id], ['connection.created', user.userId])
  })

  test('an early poll gets slow_down without a call to the provider', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, poll, pollLater } = await begun(test)
    const early = { status: 'slow_down', interval: flow.interval }
    assert.deepEqual([(await poll()).body, (await pollLater(flow.interval - 0.001)).body], [early, early])
    assert.equal(asked(test), 0)
    assert.equal((await pollLater(0.001)).body.status, 'pending', 'being early did not cost anything')
    assert.deepEqual((await poll()).body, early)
    assert.equal(asked(test), 1)
  })

  test("only the provider's slow_down increases the interval, by five seconds each", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, pollLater } = await begun(test)
    test.oauth.fault.answer(oauthPaths.token, answering('slow_down'), 2)
    for (const longer of [5, 10]) {
      const interval = Number(flow.interval) + longer
      assert.deepEqual((await pollLater(interval - 5)).body, { status: 'slow_down', interval })
    }
    const before = asked(test)
    const interval = Number(flow.interval) + 10
    assert.deepEqual((await pollLater(interval - 1)).body, { status: 'slow_down', interval })
    assert.equal(asked(test), before)
    assert.deepEqual((await pollLater(1)).body, { status: 'pending', interval })
  })

  test('access_denied and expired_token from the provider are final', async (t) => {
    const test = await startConnectionTest(t, engine)
    const denied = await begun(test)
    await test.oauth.denyDevice(denied.flow.user_code)
    assert.equal((await denied.pollLater()).body.status, 'denied')
    for (const [error, status] of [
      ['expired_token', 'expired'],
      ['invalid_grant', 'expired'],
      ['access_denied', 'denied'],
    ] as const) {
      const { pollLater } = await begun(test)
      test.oauth.fault.answer(oauthPaths.token, answering(error), 1)
      assert.equal((await pollLater()).body.status, status)
      const before = asked(test)
      assert.equal((await pollLater()).body.status, status)
      assert.equal(asked(test), before)
    }
    const rows = await test.database.queries.selectFrom('device_flows').select('device_code').execute()
    assert.ok(
      rows.every(({ device_code }) => device_code === null),
      'their codes are gone',
    )
  })

  test('it expires by our clock, whatever the user does afterwards', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, pollLater } = await begun(test)
    await test.oauth.approveDevice(flow.user_code)
    assert.deepEqual((await pollLater(600)).body, { status: 'expired', interval: flow.interval })
    assert.equal(asked(test), 0)
    assert.equal((await pollLater()).body.status, 'expired')
  })

  test('a token response in flight at expiry still connects', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, poll, pollLater } = await begun(test)
    await test.oauth.approveDevice(flow.user_code)
    test.clock.advance(flow.interval)
    const held = test.oauth.fault.hold(oauthPaths.token)
    const asking = poll()
    await held.arrived
    assert.equal((await pollLater(600)).body.status, 'expired')
    held.release()
    const { body } = await asking
    assert.equal(body.status, 'connected')
    assert.deepEqual((await poll()).body, body)
    assert.equal((await test.connection(body.connection_id)).status, 'active')
  })

  test('of concurrent polls one reaches the provider', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, poll } = await begun(test)
    await test.oauth.approveDevice(flow.user_code)
    test.clock.advance(flow.interval)
    const hold = test.oauth.fault.hold(oauthPaths.token)
    const polls = Array.from({ length: 8 }, () => poll())
    await hold.arrived
    hold.release()
    const ends = (await Promise.all(polls)).map(({ body }) => body.status)
    assert.ok(ends.includes('connected') && ends.every((end) => end === 'connected' || end === 'slow_down'))
    assert.equal(asked(test), 1)
    assert.equal((await test.database.queries.selectFrom('connections').selectAll().execute()).length, 1)
  })

  test('a slow poll prevents a second one', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, poll, pollLater } = await begun(test)
    await test.oauth.approveDevice(flow.user_code)
    test.clock.advance(flow.interval)
    const hold = test.oauth.fault.hold(oauthPaths.userinfo)
    const slow = poll()
    await hold.arrived
    assert.equal((await pollLater(31)).body.status, 'slow_down')
    hold.release()
    assert.equal((await slow).body.status, 'connected')
    assert.equal((await poll()).body.status, 'connected')
  })

  test("another user's device flow is not found", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, logIn, user, adminToken, registerAgent } = test
    const { flow, poll } = await begun(test)
    const bob = await logIn({ email: 'bob@example.com' })
    test.clock.advance(flow.interval)
    assert.deepEqual([(await poll(bob)).status, (await poll(bob)).body.error.field], [404, 'device_flow_id'])
    assert.equal(asked(test), 0)
    const table: [object, number, string][] = [
      [{ device_flow_id: 'dfl_unknown' }, 404, 'not_found'],
      [{}, 400, 'missing_field'],
      [{ device_flow_id: 1 }, 400, 'invalid_field'],
      [{ device_flow_id: flow.device_flow_id, device_code: 'x' }, 400, 'invalid_field'],
    ]
    for (const [body, status, code] of table) {
      const reply = await call('POST', '/v4/oauth/device/poll', { token: user.token, body })
      assert.deepEqual([reply.status, reply.body.error.code], [status, code])
    }
    for (const token of [adminToken, (await registerAgent()).token]) {
      assert.equal((await begin(test, {}, { ...bob, token })).status, 403)
      assert.equal((await poll({ ...bob, token })).status, 403)
    }
  })

  test('a provider without a device endpoint or disabled meanwhile is a conflict', async (t) => {
    const without = await startConnectionTest(t, engine, { oauth: { deviceFlow: false } })
    const refused = await begin(without)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    const test = await startConnectionTest(t, engine)
    const { pollLater } = await begun(test)
    await test.database.queries.updateTable('providers').set({ status: 'disabled' }).execute()
    assert.equal((await pollLater()).body.error.code, 'conflict')
    assert.equal((await begin(test)).body.error.code, 'conflict')
    assert.equal(asked(test), 0)
  })

  test('an outage during a poll is retryable, and the flow continues', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { flow, pollLater } = await begun(test)
    await test.oauth.approveDevice(flow.user_code)
    const outages: Parameters<typeof test.oauth.fault.answer>[1][] = [
      'cut',
      answering('server_error', 500),
      answering('expired_token', 503),
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' },
      { status: 302, headers: { location: 'https://evil.example' } },
      { status: 200, headers: json, body: `{"access_token":"${'x'.repeat(1_100_000)}"}` },
      answering('invalid_client', 401),
    ]
    for (const outage of outages) {
      test.oauth.fault.answer(oauthPaths.token, outage, 1)
      const { status, body } = await pollLater()
      const shown = [status, body.error?.code, body.error?.retryable]
      assert.deepEqual(shown, [502, 'provider_unavailable', true], JSON.stringify(outage).slice(0, 100))
    }
    assert.equal((await pollLater()).body.status, 'connected')
  })

  test('an account that cannot be stored ends the flow with a reason', async (t) => {
    const test = await startConnectionTest(t, engine)
    const id = await test.connect(test.user, 'ada')
    const named = await begun(test, { connection_id: id })
    await test.oauth.approveDevice(named.flow.user_code, { account: 'mallory' })
    const refused = await named.pollLater()
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    assert.match(refused.body.error.message, /wrong_account/)
    assert.equal((await named.pollLater()).body.status, 'denied')
    const same = await begun(test, { connection_id: id })
    await test.oauth.approveDevice(same.flow.user_code, { account: 'ada' })
    assert.equal((await same.pollLater()).body.connection_id, id)
    const events = (await recorded(test, 'connection.')).map(({ event, detail }) => detail.code ?? event)
    assert.deepEqual(events, ['connection.created', 'wrong_account', 'connection.renewed'])
  })
})
