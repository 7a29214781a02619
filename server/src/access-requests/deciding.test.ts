import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import type { AccessTest } from '../../testkit/access-requests.ts'
import { startCallbackReceiver } from '../../testkit/callback-receiver.ts'
import { verified } from '../../testkit/callbacks.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, reaching } from '../../testkit/providers.ts'
import type { Reply } from '../../testkit/service.ts'
import { Secret } from '../platform/secret.ts'

/** How a request gets into each state, and every transition that can be tried from there. */
const into: Record<string, (test: AccessTest, id: string) => Promise<unknown>> = {
  pending: () => Promise.resolve(),
  approved: ({ approve }, id) => approve(id),
  denied: ({ deny }, id) => deny(id),
  cancelled: ({ cancel }, id) => cancel(id),
  expired: ({ clock }) => {
    clock.advance(86_400)
    return Promise.resolve()
  },
}
const moves: Record<string, (test: AccessTest, id: string) => Promise<Reply>> = {
  approve: ({ approve }, id) => approve(id),
  deny: ({ deny }, id) => deny(id, { reason: 'No.' }),
  cancel: ({ cancel }, id) => cancel(id),
}
const outcomes: Record<string, Record<string, [status: number, becomes: string]>> = {
  pending: { approve: [201, 'approved'], deny: [200, 'denied'], cancel: [200, 'cancelled'] },
  approved: { approve: [409, 'approved'], deny: [409, 'approved'], cancel: [409, 'approved'] },
  denied: { approve: [409, 'denied'], deny: [409, 'denied'], cancel: [409, 'denied'] },
  cancelled: { approve: [409, 'cancelled'], deny: [409, 'cancelled'], cancel: [200, 'cancelled'] },
  expired: { approve: [409, 'expired'], deny: [409, 'expired'], cancel: [409, 'expired'] },
}

onBothDatabases('deciding', (engine) => {
  test("every state allows exactly the transitions of the contract's table", async (t) => {
    const test = await startAccessTest(t, engine, { SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000' })
    for (const [state, reach] of Object.entries(into)) {
      for (const [move, make] of Object.entries(moves)) {
        const [status, becomes] = outcomes[state]?.[move] ?? []
        const id = await test.asked()
        await reach(test, id)
        assert.equal((await test.read(id)).body.status, state)
        const before = await test.read(id)
        const reply = await make(test, id)
        assert.equal(reply.status, status, `${move} from ${state}`)
        if (status === 409) {
          assert.equal(reply.body.error.code, 'request_not_pending')
          assert.deepEqual((await test.read(id)).body, before.body, `${move} changed what was ${state}`)
        }
        const { body } = await test.read(id)
        assert.equal(body.status, becomes)
        assert.equal(body.grant_id !== null, becomes === 'approved')
        assert.equal(body.approved_by, becomes === 'approved' ? test.user.userId : null)
        assert.equal(body.decided_at === null, becomes === 'expired')
      }
    }
  })

  test('a request is decided by the user it names, or by anyone with the link if it names none', async (t) => {
    const { asked, approve, deny, read, logIn, user, connect, connectionId } = await startAccessTest(t, engine)
    const bob = await logIn({ email: 'bob@example.com' })
    const forAda = await asked({ user_id: user.userId })
    for (const reply of [await approve(forAda, {}, bob.token), await deny(forAda, {}, bob.token)]) {
      assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'])
    }
    assert.equal((await approve(forAda)).status, 201)

    const open = await asked()
    assert.equal((await approve(open, { connection_id: connectionId }, bob.token)).body.error.field, 'connection_id')
    const his = await connect(bob, 'bob')
    const { body } = await approve(open, { connection_id: his }, bob.token)
    assert.equal((await read(open)).body.approved_by, bob.userId)
    assert.equal((await read(open)).body.grant_id, body.grant_id)
    const seen = (await read(open, user.token)).body
    assert.deepEqual([seen.status, seen.grant_id, seen.approved_by], ['approved', null, null])
  })

  test('agents, admins, anonymous callers and other sites cannot approve', async (t) => {
    const { asked, approve, deny, read, agent, adminToken, call, connectionId, user } = await startAccessTest(t, engine)
    const id = await asked()
    for (const token of [agent.token, adminToken]) {
      assert.equal((await approve(id, {}, token)).body.error.code, 'forbidden')
      assert.equal((await deny(id, {}, token)).body.error.code, 'forbidden')
    }
    const body = { connection_id: connectionId }
    const path = `/v4/access-requests/${id}/approve`
    assert.equal((await call('POST', path, { body })).status, 401)
    assert.equal((await call('GET', path, { token: user.token })).status, 405)
    const cookie = { cookie: user.cookie, origin: 'https://evil.example' }
    assert.equal((await call('POST', path, { body, headers: cookie })).body.error.code, 'cross_site_request')
    assert.equal((await read(id)).body.status, 'pending')
  })

  test('without further terms the grant is what was requested', async (t) => {
    const { asked, approve, agent, connectionId, clock } = await startAccessTest(t, engine)
    const asksFor = { hosts: ['*.files.acme.example'], methods: ['GET'], paths: ['/a'], max_calls: 5 }
    const id = await asked({ ...asksFor, reason: 'x' })
    const { status, body } = await approve(id)
    assert.equal(status, 201)
    assert.deepEqual(
      [body.allowed_hosts, body.allowed_methods, body.allowed_paths, body.max_calls],
      [['*.files.acme.example'], ['GET'], ['/a'], 5],
    )
    assert.deepEqual(
      [body.status, body.agent.agent_id, body.connection_id, body.access_request_id, body.provider],
      ['active', agent.agentId, connectionId, id, 'acme'],
    )
    assert.deepEqual([body.created_at, body.expires_at, body.calls], [clock.now().toISOString(), null, 0])
    const wide = (await approve(await asked())).body
    assert.deepEqual(wide.allowed_hosts, ['api.acme.example', 'mail.acme.example:8443'], 'nobody wrote the wildcard')
    assert.deepEqual([wide.allowed_methods, wide.allowed_paths, wide.max_calls], [null, null, null])
  })

  test('an approval can narrow everything and widen nothing', async (t) => {
    const { asked, approve, read } = await startAccessTest(t, engine, { SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000' })
    const asksFor = {
      hosts: ['api.acme.example', '*.files.acme.example'],
      methods: ['GET', 'POST'],
      paths: ['/mail', '/repos/*/issues'],
      max_calls: 10,
    }
    const id = await asked(asksFor)
    const wider: [string, object][] = [
      ['allowed_hosts.0', { allowed_hosts: ['mail.acme.example:8443'] }],
      ['allowed_hosts.1', { allowed_hosts: ['api.acme.example', 'evil.example'] }],
      ['allowed_hosts.0', { allowed_hosts: ['*.acme.example'] }],
      ['allowed_hosts.0', { allowed_hosts: ['api.acme.example:444'] }],
      ['allowed_hosts', { allowed_hosts: [] }],
      ['allowed_methods.0', { allowed_methods: ['DELETE'] }],
      ['allowed_methods.0', { allowed_methods: ['TRACE'] }],
      ['allowed_methods', { allowed_methods: [] }],
      ['allowed_paths.0', { allowed_paths: ['/'] }],
      ['allowed_paths.0', { allowed_paths: ['/mailbox'] }],
      ['allowed_paths.0', { allowed_paths: ['/repos/*'] }],
      ['allowed_paths.0', { allowed_paths: ['/mail/../admin'] }],
      ['max_calls', { max_calls: 11 }],
      ['expires_at', { expires_at: '2026-11-15T12:00:00Z' }],
      ['expires_at', { expires_at: 'tomorrow' }],
      ['expires_at', { expires_at: '2026-11-14T12:00:00Z' }],
      ['allowed_host', { allowed_host: ['api.acme.example'] }],
      ['scope', { scope: 'all' }],
    ]
    for (const [field, body] of wider) {
      const { status, body: answer } = await approve(id, body)
      assert.deepEqual([status, answer.error?.code, answer.error?.field], [400, 'invalid_field', field], field)
    }
    assert.equal((await read(id)).body.status, 'pending')
    const { body } = await approve(id, {
      allowed_hosts: ['a.b.files.acme.example'],
      allowed_methods: ['get'],
      allowed_paths: ['/mail/drafts', '/repos/mine/issues/'],
      max_calls: 3,
      expires_at: '2026-11-16T13:00:00+01:00',
    })
    assert.deepEqual(
      [body.allowed_hosts, body.allowed_methods, body.allowed_paths, body.max_calls, body.expires_at],
      [['a.b.files.acme.example'], ['GET'], ['/mail/drafts', '/repos/mine/issues'], 3, '2026-11-16T12:00:00.000Z'],
    )
    const free = (await approve(await asked(), { allowed_hosts: ['*.files.acme.example'] })).body
    assert.deepEqual(free.allowed_hosts, ['*.files.acme.example'], 'the approver wrote the wildcard')
  })

  test('an expiry past the year 9999 is refused, as the grant could not be listed', async (t) => {
    const { asked, approve, call, user, agent } = await startAccessTest(t, engine)
    const id = await asked()
    const refused = await approve(id, { expires_at: '9999-12-31T23:59:59-01:00' })
    assert.deepEqual([refused.status, refused.body.error.field], [400, 'expires_at'], refused.text)
    assert.equal((await approve(id, { expires_at: '9999-12-31T23:59:59.999Z' })).status, 201)
    for (const { token } of [user, agent]) {
      const listed = await call('GET', '/v4/grants', { token })
      assert.equal(listed.body.grants[0].expires_at, '9999-12-31T23:59:59.999Z')
    }
  })

  test("the connection must be the user's own, active and of that provider", async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, connect, logIn, call, user, connectionId, adminToken, database, read } = test
    const id = await asked()
    const bob = await logIn({ email: 'bob@example.com' })
    const his = await connect(bob, 'bob')
    const refused = async (body: object) => {
      const { error } = (await approve(id, body)).body
      return [error?.code, error?.field]
    }
    assert.deepEqual(await refused({ connection_id: undefined }), ['missing_field', 'connection_id'])
    assert.deepEqual(await refused({ connection_id: his }), ['not_found', 'connection_id'])
    assert.deepEqual(await refused({ connection_id: 'con_none' }), ['not_found', 'connection_id'])
    const elsewhere = await call('POST', '/v4/providers', {
      token: adminToken,
      body: { ...acme, ...client, provider_name: 'Other' },
    })
    const other = await test.asked({ provider: elsewhere.body.slug })
    const { error } = (await approve(other)).body
    assert.deepEqual([error.code, error.field], ['invalid_field', 'connection_id'])

    const setStatus = (status: 'active' | 'needs_reauth') =>
      database.queries.updateTable('connections').set({ status }).where('connection_id', '=', connectionId).execute()
    await setStatus('needs_reauth')
    assert.deepEqual(await refused({}), ['connection_needs_reauth', 'connection_id'])
    await setStatus('active')
    await call('DELETE', `/v4/connections/${connectionId}`, { token: user.token })
    assert.deepEqual(await refused({}), ['not_found', 'connection_id'])
    assert.equal((await read(id)).body.status, 'pending')
  })

  test('nothing is granted to a disabled agent or for an inactive provider', async (t) => {
    const { asked, approve, call, agent, adminToken, providerId, read, user } = await startAccessTest(t, engine)
    const id = await asked()
    await call('POST', `/v4/providers/${providerId}/disable`, { token: adminToken })
    assert.equal((await approve(id)).body.error.code, 'conflict')
    await call('POST', `/v4/providers/${providerId}/enable`, { token: adminToken })
    await call('POST', `/v4/agents/${agent.agentId}/disable`, { token: adminToken })
    assert.equal((await approve(id)).body.error.code, 'conflict')
    assert.equal((await read(id, user.token)).body.status, 'pending')
  })

  test('of concurrent decisions one wins, with one grant and one callback', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, approve, deny, cancel, read, database } = test
    const id = await asked({ callback_url: 'https://agent.example/done' })
    const decide = [approve, deny, cancel]
    const replies = await Promise.all(Array.from({ length: 8 }, () => decide.map((one) => one(id))).flat())
    const won = replies.filter(({ status }) => status < 300)
    const lost = replies.filter(({ body }) => body.error?.code === 'request_not_pending')
    const { status } = (await read(id)).body
    // Cancelling what is cancelled is no error.
    assert.equal(won.length, status === 'cancelled' ? 8 : 1)
    assert.equal(won.length + lost.length, 24)
    const grants = await database.queries.selectFrom('grants').selectAll().execute()
    assert.equal(grants.length, status === 'approved' ? 1 : 0)
  })

  test('both decisions are sent to the callback, and the agent sees the delivery status', async (t) => {
    const receiver = await startCallbackReceiver(t)
    const test = await startAccessTest(t, engine, reaching(receiver))
    const { ask, approve, deny, cancel, read, app, agent, clock } = test
    const decide = async (move: (id: string) => Promise<Reply>) => {
      const {
        access_request_id: id,
        callback_secret: secret,
        callback,
      } = (await ask({ callback_url: receiver.url.href })).body
      assert.deepEqual(callback, { status: 'waiting', attempts: 0, last_error: null })
      const { grant_id: grantId = null } = (await move(id)).body
      await app.catchUp()
      const told = receiver.received.splice(0).map((one) => verified(new Secret(secret), one, clock.now()))
      return { id, grantId, told, callback: (await read(id)).body.callback }
    }
    for (const [status, move] of [
      ['approved', approve],
      ['denied', deny],
    ] as const) {
      const { id, grantId, told, callback } = await decide(move)
      const rest = { provider: 'acme', agent_id: agent.agentId }
      const event = { event: `access_request.${status}`, access_request_id: id, status, grant_id: grantId, ...rest }
      assert.deepEqual([told, callback], [[event], { status: 'delivered', attempts: 1, last_error: null }])
      assert.equal(grantId !== null, status === 'approved')
    }
    const cancelled = await decide(cancel)
    assert.deepEqual([cancelled.told, cancelled.callback], [[], null])
  })

  test('a denial passes its reason to the agent, and ignores unknown members', async (t) => {
    const { asked, deny, read, ask } = await startAccessTest(t, engine)
    const id = await asked()
    assert.equal((await deny(id, { reason: 'Not now.', mood: 'bad' })).body.denial_reason, 'Not now.')
    assert.equal((await read(id)).body.denial_reason, 'Not now.')
    const plain = (await ask()).body.access_request_id
    assert.equal((await deny(plain)).body.status, 'denied')
    const bad = (await ask()).body.access_request_id
    assert.equal((await deny(bad, { reason: 'x'.repeat(1001) })).body.error.field, 'reason')
    assert.equal((await deny(bad, { challenge_id: 'chl_1' })).body.error.field, 'signature')
  })
})
