import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('access requests', (engine) => {
  test('an agent creates a request and gets the link for the user', async (t) => {
    const { ask, agent, config, user, read } = await startAccessTest(t, engine)
    const { status, body } = await ask({
      hosts: ['api.acme.example'],
      methods: ['get', 'POST'],
      paths: ['/mail/*/drafts'],
      max_calls: 100,
      reason: 'To sort your mail.\n\tNothing else.',
      user_id: 'ada+x@example.com',
    })
    assert.equal(status, 201)
    const { access_request_id: id } = body
    assert.deepEqual(body, {
      access_request_id: id,
      status: 'pending',
      agent: {
        agent_id: agent.agentId,
        name: 'Mail helper',
        registered_at: '2026-11-15T12:00:00.000Z',
        registration: null,
      },
      history: null,
      provider: 'acme',
      provider_name: 'Acme',
      verified: true,
      api_hosts: ['api.acme.example', '*.files.acme.example', 'mail.acme.example:8443'],
      abilities: [],
      hosts: ['api.acme.example'],
      methods: ['GET', 'POST'],
      paths: ['/mail/*/drafts'],
      max_calls: 100,
      reason: 'To sort your mail.\n\tNothing else.',
      user_hint: 'ada+x@example.com',
      approval_url: `${config.baseUrl.origin}/approve-proxy/${id}?user=ada%2Bx%40example.com`,
      created_at: '2026-11-15T12:00:00.000Z',
      expires_at: '2026-11-16T12:00:00.000Z',
      decided_at: null,
      approved_by: null,
      denial_reason: null,
      grant_id: null,
      callback: null,
    })
    assert.match(id, /^arq_[0-9a-z]{26}$/)
    assert.deepEqual((await read(id)).body, body)
    const plain = await ask()
    assert.equal(plain.body.approval_url, `${config.baseUrl.origin}/approve-proxy/${plain.body.access_request_id}`)
    assert.equal((await read(plain.body.access_request_id, user.token)).body.callback, null)
  })

  test('for a preset that nobody has used yet, the agent is told what the person does first', async (t) => {
    const { ask, config } = await startAccessTest(t, engine)
    const { error } = (await ask({ provider: 'github' })).body
    assert.deepEqual([error.code, error.field], ['not_found', 'provider'])
    assert.ok(error.message.includes(`Ask the person to connect one at ${config.baseUrl.origin}/connections,`))
    assert.doesNotMatch((await ask({ provider: 'nobody' })).body.error.message, /connections/)
  })

  test('an invalid request is refused, naming the member', async (t) => {
    const { ask, call, agent, adminToken, providerId } = await startAccessTest(t, engine)
    const wrong: [string, string, object][] = [
      ['not_found', 'provider', { provider: 'nobody' }],
      ['invalid_field', 'hosts.0', { hosts: ['evil.example'] }],
      ['invalid_field', 'hosts.1', { hosts: ['api.acme.example', 'acme.example'] }],
      ['invalid_field', 'hosts.0', { hosts: ['api.acme.example:8443'] }],
      ['invalid_field', 'hosts.0', { hosts: ['mail.acme.example'] }],
      ['invalid_field', 'hosts.0', { hosts: ['*.acme.example'] }],
      ['invalid_field', 'hosts.0', { hosts: ['files.acme.example'] }],
      ['invalid_field', 'hosts.0', { hosts: ['API.acme.example'] }],
      ['invalid_field', 'hosts.0', { hosts: ['api.acme.example.'] }],
      ['invalid_field', 'hosts.0', { hosts: ['https://api.acme.example'] }],
      ['invalid_field', 'hosts', { hosts: [] }],
      ['invalid_field', 'methods.0', { methods: ['TRACE'] }],
      ['invalid_field', 'methods.1', { methods: ['GET', 'con nect'] }],
      ['invalid_field', 'paths.0', { paths: ['mail'] }],
      ['invalid_field', 'paths.0', { paths: ['/a/../b'] }],
      ['invalid_field', 'max_calls', { max_calls: 0 }],
      ['invalid_field', 'max_calls', { max_calls: 1.5 }],
      ['invalid_field', 'reason', { reason: 'x'.repeat(1001) }],
      ['invalid_field', 'reason', { reason: 'send \u202emoney' }],
      ['invalid_field', 'user_id', { user_id: '' }],
      ['invalid_url', 'callback_url', { callback_url: 'http://agent.example/done' }],
      ['invalid_url', 'callback_url', { callback_url: 'nonsense' }],
      ['address_not_allowed', 'callback_url', { callback_url: 'https://169.254.169.254/latest' }],
      ['invalid_field', 'host', { host: ['api.acme.example'] }],
    ]
    for (const [code, field, body] of wrong) {
      const { error } = (await ask(body)).body
      assert.deepEqual([error?.code, error?.field], [code, field], JSON.stringify(body))
    }
    const { error } = (await call('POST', '/v4/access-requests', { token: agent.token, body: {} })).body
    assert.deepEqual([error.code, error.field], ['missing_field', 'provider'])
    await call('POST', `/v4/providers/${providerId}/disable`, { token: adminToken })
    assert.equal((await ask()).body.error.code, 'conflict')
  })

  test('a request can be read by its own agent only', async (t) => {
    const { asked, read, cancel, registerAgent, adminToken } = await startAccessTest(t, engine)
    const id = await asked()
    const other = await registerAgent()
    for (const answer of [read(id, other.token), cancel(id, other.token), read('arq_none'), cancel('arq_none')]) {
      assert.equal((await answer).body.error.code, 'not_found')
    }
    assert.equal((await read(id, adminToken)).body.error.code, 'forbidden')
    assert.equal((await read(id)).body.status, 'pending')
  })

  test('a user hint matches one user or none, and the response does not tell which', async (t) => {
    const test = await startAccessTest(t, engine)
    const { ask, user, logIn, call, adminToken, pending, read, deny, approve, connect } = test
    const other = await logIn({ email: 'bob@example.com', name: 'Ada' })
    const gone = await logIn({ email: 'gone@example.com' })
    await call('POST', `/v4/users/${gone.userId}/disable`, { token: adminToken })
    const hints = [user.userId, 'ADA@example.com', 'nobody@example.com', 'Ada', 'owner', 'gone@example.com']
    const replies = []
    for (const user_id of hints) replies.push(await ask({ user_id }))
    const shapes = replies.map(({ status, body }) => {
      const { access_request_id: id, user_hint: hint, approval_url: url, ...rest } = body
      assert.ok(url.endsWith(`/approve-proxy/${id}?user=${encodeURIComponent(hint)}`), url)
      return [status, rest]
    })
    for (const shape of shapes) assert.deepEqual(shape, shapes[0])
    const ids = replies.map(({ body }) => body.access_request_id as string)
    assert.deepEqual((await pending()).sort(), ids.slice(0, 2).sort())
    const meant = (await recorded(test, 'access_request.created')).map(({ user_id }) => user_id)
    assert.deepEqual(meant, [user.userId, user.userId, null, null, null, null])
    assert.deepEqual(await pending(other), [])
    const [forNobody = '', ...alsoForNobody] = ids.slice(2)
    const connection_id = await connect(other, 'bob')
    assert.equal((await approve(forNobody, { connection_id }, other.token)).status, 201, 'anyone with the link')
    for (const id of alsoForNobody) {
      assert.equal((await read(id, user.token)).body.status, 'pending')
      assert.equal((await deny(id, {}, other.token)).body.status, 'denied')
    }
    assert.equal((await read(ids[0] ?? '', other.token)).body.error.code, 'not_found')
    assert.equal((await read(ids[0] ?? '', user.token)).body.status, 'pending')
  })

  test("pending lists this user's open requests, newest first, in pages", async (t) => {
    const { asked, user, clock, call, cancel, pending, registerAgent, adminToken } = await startAccessTest(t, engine)
    const ids = []
    for (let count = 0; count < 4; count++) {
      ids.push(await asked({ user_id: user.userId }))
      clock.advance(1)
    }
    await asked()
    await cancel(ids[1] ?? '')
    const disabled = await registerAgent('disabled later')
    await asked({ user_id: user.userId }, disabled.token)
    await call('POST', `/v4/agents/${disabled.agentId}/disable`, { token: adminToken })
    assert.deepEqual(await pending(), [ids[3], ids[2], ids[0]])
    const page = (query: string) => call('GET', `/v4/access-requests/pending${query}`, { token: user.token })
    const first = await page('?limit=2')
    const second = await page(`?limit=2&cursor=${first.body.next_cursor}`)
    assert.deepEqual(
      [...first.body.access_requests, ...second.body.access_requests].map((one) => one.access_request_id),
      [ids[3], ids[2], ids[0]],
    )
    assert.equal(second.body.next_cursor, null)
    clock.advance(86_400)
    assert.deepEqual(await pending(), [])
  })

  test('an agent has at most 20 pending requests, also with concurrent ones', async (t) => {
    const { ask, cancel, clock } = await startAccessTest(t, engine)
    const replies = await Promise.all(Array.from({ length: 28 }, () => ask()))
    const created = replies.filter(({ status }) => status === 201)
    assert.equal(created.length, 20)
    const refused = replies.find(({ status }) => status !== 201)
    assert.deepEqual([refused?.status, refused?.body.error.code], [429, 'rate_limited'])
    await cancel(created[0]?.body.access_request_id)
    assert.equal((await ask()).status, 201)
    assert.equal((await ask()).status, 429)
    clock.advance(86_400)
    assert.equal((await ask()).status, 201, 'those that expired no longer count')
  })

  test('an agent can create at most 30 requests an hour', async (t) => {
    const { ask, cancel, registerAgent } = await startAccessTest(t, engine)
    for (let count = 0; count < 30; count++) {
      const { body } = await ask()
      await cancel(body.access_request_id)
    }
    const { status, body, headers } = await ask()
    assert.deepEqual([status, body.error.code, Number(headers['retry-after']) > 60], [429, 'rate_limited', true])
    const other = await registerAgent()
    assert.equal((await ask({}, other.token)).status, 201)
  })

  test('creation, cancellation and decision are recorded with their callers', async (t) => {
    const test = await startAccessTest(t, engine)
    const { asked, cancel, approve, deny, agent, user } = test
    const ids = [await asked({ user_id: user.userId }), await asked(), await asked()]
    await cancel(ids[0] ?? '')
    const grant = (await approve(ids[1] ?? '')).body
    await deny(ids[2] ?? '')
    const records = await recorded(test, 'access_request.')
    assert.deepEqual(
      records.map(({ event, agent_id, user_id, grant_id, detail }) => [
        event,
        agent_id,
        user_id,
        grant_id,
        detail.access_request_id,
      ]),
      [
        ['access_request.created', agent.agentId, user.userId, null, ids[0]],
        ['access_request.created', agent.agentId, null, null, ids[1]],
        ['access_request.created', agent.agentId, null, null, ids[2]],
        ['access_request.cancelled', agent.agentId, user.userId, null, ids[0]],
        ['access_request.approved', agent.agentId, user.userId, grant.grant_id, ids[1]],
        ['access_request.denied', agent.agentId, user.userId, null, ids[2]],
      ],
    )
  })

  test('requests without a grant are deleted a week after they expire, with their callbacks', async (t) => {
    const { asked, approve, clock, app, database } = await startAccessTest(t, engine)
    await asked({ callback_url: 'https://agent.example/done' })
    const approved = await asked()
    await approve(approved)
    clock.advance(8 * 86_400)
    await app.sweep()
    assert.equal((await database.queries.selectFrom('access_requests').selectAll().execute()).length, 2)
    clock.advance(1)
    await app.sweep()
    const left = await database.queries.selectFrom('access_requests').select('access_request_id').execute()
    assert.deepEqual(
      left.map(({ access_request_id }) => access_request_id),
      [approved],
    )
    assert.equal((await database.queries.selectFrom('callbacks').selectAll().execute()).length, 0)
  })
})

test('a user cannot find requests by guessing ids', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token } = await service.logIn()
  for (const id of ['arq_00000000000000000000000000', 'x', '%00', 'pending/x']) {
    const { status } = await service.call('GET', `/v4/access-requests/${id}`, { token })
    assert.ok(status === 404 || status === 400, id)
  }
})
