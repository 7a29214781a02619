import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { recorded } from '../../testkit/audit.ts'
import { startCallbackReceiver } from '../../testkit/callback-receiver.ts'
import { only, verified } from '../../testkit/callbacks.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import { reaching } from '../../testkit/providers.ts'
import { Secret } from '../platform/secret.ts'

const host = 'localhost:8787'
const echoUrl = `http://${host}/v4/sandbox/echo`

function askSandbox({ ask }: AccessTest, body: object = {}) {
  return ask({ provider: 'sandbox', ...body })
}

function proxy({ call, agent }: AccessTest, grantId: string, members: object = {}) {
  const body = { grant_id: grantId, method: 'GET', url: echoUrl, ...members }
  return call('POST', '/v4/proxy', { token: agent.token, body })
}

async function grantsOf({ call, agent }: AccessTest) {
  const { body } = await call('GET', '/v4/grants', { token: agent.token })
  return body.grants as { grant_id: string; status: string; access_request_id: string | null }[]
}

/** Fails the test if it does not happen. */
async function until(isSo: () => boolean): Promise<void> {
  for (let times = 0; !isSo(); times++) {
    assert.ok(times < 1000, 'it does not come about')
    await sleep(10)
  }
}

onBothDatabases('an access request for the sandbox', (engine) => {
  test('is approved immediately, and its grant calls the echo with the token redacted', async (t) => {
    const test = await startAccessTest(t, engine)
    const { agent, read, call } = test
    const { status, body, headers } = await askSandbox(test, { reason: 'To try it out.' })
    assert.equal(status, 201)
    assert.equal(body.status, 'approved')
    assert.match(body.grant_id, /^grt_[0-9a-z]{26}$/)
    assert.deepEqual(
      [body.provider, body.provider_name, body.verified, body.api_hosts, body.approved_by, body.decided_at],
      ['sandbox', 'Sandbox', true, [host], null, '2026-11-15T12:00:00.000Z'],
    )
    assert.deepEqual((await read(body.access_request_id)).body, body)
    const grant = only(await grantsOf(test)) as unknown as Record<string, unknown>
    assert.deepEqual(
      [grant['grant_id'], grant['kind'], grant['status'], grant['access_request_id'], grant['expires_at']],
      [body.grant_id, 'sandbox', 'active', body.access_request_id, '2026-11-15T13:00:00.000Z'],
    )
    const called = await proxy(test, body.grant_id)
    assert.equal(called.body.body.headers.authorization, 'Bearer [REDACTED]')
    const other = await proxy(test, body.grant_id, { url: 'https://api.acme.example/' })
    assert.equal(other.body.error.code, 'host_not_allowed')
    const records = await recorded(test, '')
    const mine = records.filter(({ request_id }) => request_id === headers['x-request-id'])
    assert.deepEqual(
      mine.map(({ event, agent_id, user_id, grant_id, detail }) => [event, agent_id, user_id, grant_id, detail]),
      [
        [
          'access_request.created',
          agent.agentId,
          null,
          null,
          { access_request_id: body.access_request_id, provider: 'sandbox' },
        ],
        ['sandbox.started', agent.agentId, null, body.grant_id, {}],
        [
          'access_request.approved',
          agent.agentId,
          null,
          body.grant_id,
          { access_request_id: body.access_request_id, by: 'sandbox' },
        ],
      ],
    )
    const listed = await call('GET', '/v4/providers')
    assert.deepEqual(
      listed.body.providers.map(({ slug }: { slug: string }) => slug),
      ['acme'],
      'it is not a provider',
    )
  })

  test('sends its callback, signed like any other', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const test = await startAccessTest(t, engine, reaching(receiver))
    const { body } = await askSandbox(test, { callback_url: receiver.url.href })
    await test.app.catchUp()
    const delivered = only(receiver.received)
    assert.deepEqual(verified(new Secret(body.callback_secret), delivered, test.clock.now()), {
      event: 'access_request.approved',
      access_request_id: body.access_request_id,
      status: 'approved',
      grant_id: body.grant_id,
      provider: 'sandbox',
      agent_id: test.agent.agentId,
    })
    assert.equal((await test.read(body.access_request_id)).body.callback.status, 'delivered')
  })

  test("slow receivers of other agents do not delay a user decision's callback", async (t) => {
    const slow = await startCallbackReceiver(t, { fault: 'holds' })
    const quick = await startCallbackReceiver(t)
    const test = await startAccessTest(t, engine, {
      ...reaching(slow),
      SALLYPORT_EGRESS_ALLOW: `${slow.host},${quick.host}`,
      SALLYPORT_REGISTRATIONS_PER_MINUTE: '100',
    })
    const strangers = 12
    for (let count = 0; count < strangers; count++) {
      const { token } = await test.registerAgent(`stranger ${count}`)
      await test.ask({ provider: 'sandbox', callback_url: slow.url.href }, token)
    }
    await until(() => slow.held() === 5)
    const id = await test.asked({ callback_url: quick.url.href })
    await test.approve(id)
    await until(() => quick.received.length === 1)
    assert.equal(slow.received.length, 5, 'all of them together have as many under way as one agent')
    slow.letGo()
    await test.app.catchUp()
    assert.equal(slow.received.length, strangers)
  })

  test('narrows its grant as requested, and is refused if the echo does not fit', async (t) => {
    const test = await startAccessTest(t, engine)
    const narrow = { hosts: [host], methods: ['get'], paths: ['/v4/sandbox'], max_calls: 1 }
    const { body } = await askSandbox(test, narrow)
    assert.deepEqual([body.hosts, body.methods, body.paths, body.max_calls], [[host], ['GET'], ['/v4/sandbox'], 1])
    const { grant_id: grantId } = body
    assert.equal((await proxy(test, grantId, { method: 'POST' })).body.error.code, 'method_not_allowed')
    const outside = `http://${host}/v4/sandbox/other`
    assert.equal((await proxy(test, grantId, { url: outside })).body.error.code, 'path_not_allowed')
    assert.equal((await proxy(test, grantId)).status, 200)
    assert.equal((await proxy(test, grantId)).body.error.code, 'grant_exhausted')
    const before = await grantsOf(test)
    const wrong: [string, object][] = [
      ['hosts.0', { hosts: ['api.acme.example'] }],
      ['hosts.1', { hosts: [host, 'localhost'] }],
      ['paths', { paths: ['/other', '/v4/sandbox/echo/deeper'] }],
      ['paths.0', { paths: ['relative'] }],
      ['methods.0', { methods: ['TRACE'] }],
      ['max_calls', { max_calls: 0 }],
      ['callback_url', { callback_url: 'http://plain.example/' }],
    ]
    for (const [field, members] of wrong) {
      const reply = await askSandbox(test, members)
      assert.deepEqual([reply.status, reply.body.error?.field], [400, field], reply.text)
    }
    assert.deepEqual(await grantsOf(test), before, 'nothing was started')
  })

  test('cannot be decided, cancelled or muted, whatever user it names', async (t) => {
    const test = await startAccessTest(t, engine)
    const { user, agent, call, approve, deny, cancel, read, pending } = test
    const device = await pairDevice(test, user)
    const { body } = await askSandbox(test, { user_id: user.userId })
    const { access_request_id: id } = body
    assert.equal(body.user_hint, user.userId)
    assert.deepEqual(await pending(), [])
    const challenge = () => call('POST', `/v4/access-requests/${id}/challenge`, { token: device.token })
    for (const reply of [await approve(id), await deny(id, { block: true }), await cancel(id), await challenge()]) {
      assert.deepEqual([reply.status, reply.body.error.code], [409, 'request_not_pending'])
    }
    const mute = await call('POST', `/v4/muted-agents/${agent.agentId}/block`, { token: user.token })
    assert.equal(mute.status, 404, 'its agent never asked this user')
    const pushes = await test.database.queries.selectFrom('pushes').selectAll().execute()
    assert.deepEqual(pushes, [], 'no phone rings')
    const records = await recorded(test, 'access_request.')
    assert.deepEqual(
      records.map(({ user_id }) => user_id),
      [null, null],
    )
    const seen = (await read(id, user.token)).body
    assert.deepEqual([seen.status, seen.grant_id, seen.approved_by], ['approved', null, null])
    assert.deepEqual((await call('GET', '/v4/grants', { token: user.token })).body.grants, [])
    assert.equal((await proxy(test, body.grant_id)).status, 200)
    assert.equal((await call('POST', `/v4/grants/${body.grant_id}/revoke`, { token: agent.token })).status, 200)
    assert.equal((await proxy(test, body.grant_id)).body.error.code, 'grant_revoked')
  })

  test("replaces the agent's previous sandbox, within the limits of both", async (t) => {
    const settings = { SALLYPORT_SANDBOX_STARTS_PER_HOUR: '3', SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '4' }
    const test = await startAccessTest(t, engine, settings)
    const { call, agent } = test
    const first = await call('POST', '/v4/sandbox/start', { token: agent.token })
    const second = await askSandbox(test)
    assert.equal((await proxy(test, first.body.grant_id)).body.error.code, 'grant_revoked')
    const third = await askSandbox(test)
    assert.equal((await proxy(test, second.body.grant_id)).body.error.code, 'grant_revoked')
    assert.equal((await proxy(test, third.body.grant_id)).status, 200)
    const refused = await askSandbox(test)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1200'], 'of sandboxes')
    assert.equal((await proxy(test, third.body.grant_id)).status, 200, 'the refused one ended nothing')
    const events = (await recorded(test, 'access_request.created')).length
    assert.equal(events, 2, 'and left nothing')
    test.clock.advance(1200)
    const statuses = []
    for (let count = 0; count < 4; count++) statuses.push((await test.ask()).status)
    assert.ok(statuses.includes(429), 'the sandbox’s requests count among the agent’s')
    assert.equal((await askSandbox(test)).status, 429, 'of access requests')
  })

  test('of ten concurrent ones and ten sandbox starts exactly one grant is usable', async (t) => {
    const test = await startAccessTest(t, engine)
    const { call, agent } = test
    const start = () => call('POST', '/v4/sandbox/start', { token: agent.token })
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? askSandbox(test) : start())),
    )
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
    const usable = (await grantsOf(test)).filter(({ status }) => status === 'active')
    assert.equal((await proxy(test, only(usable).grant_id)).status, 200)
  })

  test('is deleted with its sandbox a day after the end, and its callback too', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const test = await startAccessTest(t, engine, reaching(receiver))
    const { app, clock, database, asked, read } = test
    const other = await asked()
    const { body } = await askSandbox(test, { callback_url: receiver.url.href })
    await askSandbox(test)
    await app.catchUp()
    const count = async () => {
      const tables = ['access_requests', 'grants', 'sandboxes', 'callbacks'] as const
      const rows = tables.map((table) => database.queries.selectFrom(table).selectAll().execute())
      return (await Promise.all(rows)).map(({ length }) => length)
    }
    clock.advance(3600 + 86_400)
    await app.sweep()
    assert.deepEqual(await count(), [3, 2, 1, 1])
    clock.advance(0.001)
    await app.sweep()
    assert.deepEqual(await count(), [1, 0, 0, 0])
    assert.equal((await read(body.access_request_id)).status, 404)
    assert.equal((await read(other)).body.status, 'expired')
    assert.equal((await askSandbox(test)).body.status, 'approved')
  })

  test('its slug is reserved, but an existing provider keeps it', async (t) => {
    const test = await startAccessTest(t, engine)
    const { call, adminToken, agent, providerId, database } = test
    const create = { provider_name: 'Mine', slug: 'sandbox', issuer_url: 'https://acme.example', client_id: 'x' }
    const created = await call('POST', '/v4/providers', { token: adminToken, body: create })
    assert.deepEqual([created.status, created.body.error?.code, created.body.error?.field], [409, 'slug_taken', 'slug'])
    const named = await call('POST', '/v4/providers', {
      token: adminToken,
      body: { ...create, slug: undefined, provider_name: 'Sandbox!' },
    })
    assert.equal(named.body.error?.code, 'slug_taken')
    for (const proposal of [{ provider_name: 'Sandbox' }, { provider_name: 'Mine', slug: 'sandbox' }]) {
      const body = { ...proposal, issuer_url: 'https://acme.example' }
      const proposed = await call('POST', '/v4/providers/proposals', { token: agent.token, body })
      assert.deepEqual([proposed.status, proposed.body.error?.code], [409, 'slug_taken'])
    }
    // As if it had been created by a version that did not reserve the name.
    await database.queries
      .updateTable('providers')
      .set({ slug: 'sandbox' })
      .where('provider_id', '=', providerId)
      .execute()
    const { body } = await askSandbox(test)
    assert.deepEqual([body.status, body.provider_name, body.grant_id], ['pending', 'Acme', null])
    assert.equal((await test.approve(body.access_request_id)).status, 201)
  })
})
