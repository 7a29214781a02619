import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { adasKey, adasNewKey, apiKeyMethod, gracesKey, startEntered } from '../../testkit/entered-credentials.ts'
import { stored } from '../../testkit/stored.ts'

onBothDatabases('connecting with a credential', (engine) => {
  test('a user connects an account with an API key, which calls then carry', async (t) => {
    const { connect, grantOn, upstream, call, user, database } = await startEntered(t, engine)
    const { status, body } = await connect({ api_key: `  ${adasKey}\n` })
    assert.equal(status, 201)
    assert.deepEqual(
      [body.provider, body.auth_method, body.account_label, body.status, body.renewable, body.expires_at],
      ['keys', 'api_key', 'ada', 'active', false, null],
    )
    assert.deepEqual(
      upstream.received.map(({ method, path, headers }) => [
        ...[method, path, headers['x-api-key'], headers['keys-version'], headers.accept],
      ]),
      [['GET', '/me', adasKey, '2026-11-18', 'application/json']],
    )
    const { proxy } = await grantOn(body.connection_id)
    const answer = await proxy({ headers: { X_API_Key: 'my own' } })
    assert.equal(answer.body.status, 200)
    assert.deepEqual(answer.body.dropped_headers, ['x_api_key'])
    const [, sent] = upstream.received
    assert.deepEqual(
      [sent?.headers['x-api-key'], sent?.headers['x_api_key'], sent?.headers.authorization],
      [adasKey, undefined, undefined],
    )
    const listed = await call('GET', '/v4/connections', { token: user.token })
    assert.ok(!listed.text.includes(adasKey))
    const [event] = await recorded({ database }, 'connection.')
    assert.deepEqual([event?.event, event?.detail['auth_method']], ['connection.created', 'api_key'])
  })

  test('a credential that the provider refuses is not stored, and the error has the status', async (t) => {
    const { connect, database } = await startEntered(t, engine)
    const { status, body } = await connect({ api_key: 'sk_live_this-is-nobodys-key' })
    assert.equal(status, 400)
    assert.deepEqual(
      [body.error.code, body.error.field, body.error.upstream_status],
      ['credential_refused', 'credential', 401],
    )
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
  })

  test('an answer that names no account is a refusal; a failing or unreachable provider is 502', async (t) => {
    const answers: { status: number; body: string }[] = [
      { status: 200, body: '{"ok":false,"error":"invalid_auth"}' },
      { status: 200, body: 'not JSON' },
      { status: 302, body: '' },
      { status: 503, body: '{"id":"1"}' },
      { status: 429, body: '' },
    ]
    const { connect, upstream, database } = await startEntered(t, engine, {
      answer: (response) => {
        const { status, body } = answers.shift() ?? { status: 200, body: '{"id":"1"}' }
        response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      },
    })
    const codes = []
    for (let left = answers.length; left > 0; left--) {
      const { status, body } = await connect({ api_key: adasKey })
      codes.push([status, body.error.code, body.error.upstream_status])
    }
    upstream.reset()
    assert.deepEqual(codes, [
      [400, 'credential_refused', 200],
      [400, 'credential_refused', 200],
      [400, 'credential_refused', 302],
      [502, 'provider_unavailable', undefined],
      [502, 'provider_unavailable', undefined],
    ])
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
  })

  test('a malformed credential names the member at fault, and no value is in the answer or the log', async (t) => {
    const { connect, log, upstream, database } = await startEntered(t, engine, {
      settings: { SALLYPORT_LOG_LEVEL: 'debug' },
    })
    const long = `sk_${'x'.repeat(5000)}`
    const cases: [credential: unknown, code: string, field: string][] = [
      [{}, 'missing_field', 'credential.api_key'],
      [{ api_key: '' }, 'invalid_field', 'credential.api_key'],
      [{ api_key: '   ' }, 'invalid_field', 'credential.api_key'],
      [{ api_key: 'short-key' }, 'invalid_field', 'credential.api_key'],
      [{ api_key: `${adasKey}\u0007x` }, 'invalid_field', 'credential.api_key'],
      [{ api_key: `${adasKey}\r\nx-admin: 1` }, 'invalid_field', 'credential.api_key'],
      [{ api_key: `${adasKey}é` }, 'invalid_field', 'credential.api_key'],
      [{ api_key: long }, 'invalid_field', 'credential.api_key'],
      [{ api_key: 5 }, 'invalid_field', 'credential.api_key'],
      [{ api_key: adasKey, password: gracesKey }, 'invalid_field', 'credential.password'],
      [adasKey, 'invalid_field', 'credential'],
    ]
    for (const [credential, code, field] of cases) {
      const { status, body, text } = await connect(credential as object)
      assert.deepEqual([status, body.error.code, body.error.field], [400, code, field], JSON.stringify(credential))
      assert.ok(![adasKey, gracesKey, long.slice(0, 50), 'short-key'].some((one) => text.includes(one)), text)
    }
    const short = await connect({ api_key: 'short-key' })
    assert.match(short.body.error.message, /app password or a longer key/)
    assert.ok(![adasKey, gracesKey, long.slice(0, 50), 'short-key'].some((one) => log.join('').includes(one)))
    assert.deepEqual(upstream.received, [])
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
  })

  test("only people enter credentials, or an admin for a named user; another's connection is not found", async (t) => {
    const { connect, replace, call, registerAgent, logIn, adminToken, user } = await startEntered(t, engine)
    const agent = await registerAgent()
    const { body } = await connect({ api_key: adasKey })
    const grace = await logIn({ email: 'grace@example.com' })
    for (const refused of [
      await connect({ api_key: adasKey }, {}, agent.token),
      await replace(body.connection_id, { api_key: adasNewKey }, agent.token),
      await connect({ api_key: gracesKey }, { user_id: grace.userId }),
    ]) {
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
    }
    const unauthenticated = await call('POST', '/v4/connections', { body: { provider_slug: 'keys', credential: {} } })
    assert.equal(unauthenticated.status, 401)
    const others = await replace(body.connection_id, { api_key: gracesKey }, grace.token)
    assert.deepEqual([others.status, others.body.error.code], [404, 'not_found'])
    assert.equal((await connect({ api_key: gracesKey }, {}, adminToken)).body.error.field, 'user_id')
    assert.equal((await connect({ api_key: gracesKey }, { user_id: 'nobody' }, adminToken)).status, 404)
    const forGrace = await connect(
      { api_key: gracesKey },
      { user_id: grace.userId, label: 'From the operator' },
      adminToken,
    )
    assert.deepEqual([forGrace.status, forGrace.body.account_label], [201, 'From the operator'])
    const hers = await call('GET', '/v4/connections', { token: grace.token })
    assert.deepEqual(
      hers.body.connections.map((one: any) => one.connection_id),
      [forGrace.body.connection_id],
    )
    const his = await call('GET', '/v4/connections', { token: user.token })
    assert.equal(his.body.connections.length, 1)
  })

  test('the provider is asked 10 times an hour per user', async (t) => {
    const { connect, upstream, clock } = await startEntered(t, engine, {
      settings: { SALLYPORT_CONNECTS_PER_HOUR: '100' },
    })
    for (let tries = 0; tries < 10; tries++) {
      assert.equal((await connect({ api_key: `sk_live_a-guess-number-${tries}` })).status, 400)
    }
    const eleventh = await connect({ api_key: adasKey })
    assert.deepEqual([eleventh.status, eleventh.body.error.code], [429, 'rate_limited'])
    assert.equal(upstream.received.length, 10)
    clock.advance(3600)
    assert.equal((await connect({ api_key: adasKey })).status, 201)
  })

  test('an account is connected once; a method that cannot tell accounts apart connects any number', async (t) => {
    const without = {
      kind: 'api_key',
      name: 'unchecked',
      inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }],
    }
    const { connect } = await startEntered(t, engine, { methods: (host) => [apiKeyMethod(host), without] })
    assert.equal((await connect({ api_key: adasKey })).body.error.field, 'auth_method')
    assert.equal((await connect({ api_key: adasKey }, { auth_method: 'password' })).body.error.field, 'auth_method')
    assert.equal((await connect({ api_key: adasKey }, { auth_method: 'oauth2' })).status, 409)
    assert.equal((await connect({ api_key: adasKey }, { auth_method: 'api_key' })).status, 201)
    const again = await connect({ api_key: adasNewKey }, { auth_method: 'api_key' })
    assert.deepEqual([again.status, again.body.error.code, again.body.error.field], [409, 'conflict', 'credential'])
    for (let times = 0; times < 2; times++) {
      const { status, body } = await connect({ api_key: adasKey }, { auth_method: 'unchecked' })
      assert.deepEqual([status, body.account_label], [201, null])
    }
  })

  test('the database holds no credential in plain, and nothing of it after disconnecting', async (t) => {
    const test = await startEntered(t, engine, { settings: { SALLYPORT_LOG_LEVEL: 'debug' } })
    const { connect, call, user, log, database } = test
    const answers = test.keepAnswers()
    const { body } = await connect({ api_key: adasKey })
    const forms = [
      adasKey,
      adasKey.slice(8),
      Buffer.from(adasKey).toString('base64').slice(0, -4),
      Buffer.from(adasKey).toString('hex'),
    ]
    const file = await stored(test)
    assert.ok(file.includes(body.connection_id))
    for (const form of forms) {
      assert.ok(!file.includes(form) && !log.join('').includes(form) && !answers.join('').includes(form))
    }
    const ended = await call('DELETE', `/v4/connections/${body.connection_id}`, { token: user.token })
    assert.deepEqual([ended.body.status, ended.body.remote_revocation], ['revoked', 'unsupported'])
    const row = await database.queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
    assert.deepEqual([row.credential, row.credential_key_id], [null, null])
    assert.equal((await connect({ api_key: adasKey })).status, 201, 'the account can be connected again')
  })

  test('a check by hand finds a key that the provider no longer accepts', async (t) => {
    let isGone = false
    const { connect, call, user, grantOn, replace } = await startEntered(t, engine, {
      answer: (response) => {
        response.writeHead(isGone ? 401 : 200, { 'content-type': 'application/json' }).end('{"id":7,"login":"ada"}')
      },
    })
    const { body } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(body.connection_id)
    const check = () => call('POST', `/v4/connections/${body.connection_id}/check`, { token: user.token })
    assert.equal((await check()).body.status, 'active')
    isGone = true
    assert.equal((await proxy()).body.status, 401, "the upstream's 401 is the answer")
    assert.equal((await check()).body.status, 'needs_reauth')
    assert.equal((await proxy()).body.error.code, 'connection_needs_reauth')
    assert.equal((await replace(body.connection_id, { api_key: adasNewKey })).body.error.code, 'credential_refused')
    isGone = false
    assert.equal((await replace(body.connection_id, { api_key: adasNewKey })).body.status, 'active')
    assert.equal((await proxy()).body.status, 200)
  })
})
