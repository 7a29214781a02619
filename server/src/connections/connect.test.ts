import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { createConnectionStore } from './connection-store.ts'
import { createFormerTokenStore } from './former-token-store.ts'

const list = async ({ call, user }: ConnectionTest) =>
  (await call('GET', '/v4/connections', { token: user.token })).body.connections as Record<string, any>[]

/** The tokens as stored, which only the vault can decrypt. */
async function tokensOf({ database, vault, user }: ConnectionTest, connectionId: string) {
  const connections = createConnectionStore(vault)
  const connection = await connections.findOfUser(database.queries, user.userId, connectionId)
  assert.ok(connection)
  const { accessToken, refreshToken } = await connections.tokens(database.queries, connection)
  return { access: accessToken?.reveal() ?? '', refresh: refreshToken?.reveal() ?? '', connection }
}

onBothDatabases('connecting', (engine) => {
  test('a user consents and gets a connection with working tokens and its account', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const page = new URL(await start(user, { redirect_after: '/done?tab=1' }))
    assert.equal(page.origin + page.pathname, `${oauth.issuer}${oauthPaths.authorization}`)
    const sent = Object.fromEntries(page.searchParams)
    assert.deepEqual(
      [sent['response_type'], sent['code_challenge_method'], sent['client_id'], sent['redirect_uri']],
      ['code', 'S256', oauth.client.clientId, `${test.config.baseUrl.origin}/v4/oauth/callback/${slug}`],
    )
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(sent[name] ?? '', /^[\w-]{43}$/)
    assert.equal(new Set([sent['state'], sent['nonce'], sent['code_challenge']]).size, 3)

    const landed = await follow(await oauth.approve(page), user.cookie)
    assert.deepEqual([landed.status, landed.path], [302, '/done'])
    assert.deepEqual(Object.keys(landed.params), ['tab', 'connection_id'])
    assert.equal(landed.reply.headers['referrer-policy'], 'no-referrer')
    const id = landed.params['connection_id'] ?? ''
    const { access, refresh, connection } = await tokensOf(test, id)
    assert.ok(await oauth.accepts(access))
    assert.ok(oauth.secrets.has(refresh))
    assert.deepEqual([connection.accountId, connection.accountLabel], ['ada', 'ada@example.com'])
    const [created] = await recorded(test, 'connection.')
    assert.deepEqual([created?.event, created?.user_id], ['connection.created', user.userId])
    assert.equal(created?.detail.connection_id, id)
  })

  test('a listed consent page may be http on loopback; all else stays https', async (t) => {
    const page = 'http://127.0.0.1:8788/auth'
    const test = await startConnectionTest(t, engine, {
      provider: { authorization_url: page },
      hosts: ['127.0.0.1:8788'],
    })
    const opened = new URL(await test.start(test.user))
    assert.equal(opened.origin + opened.pathname, page)
    const consented = await test.oauth.approve(`${test.oauth.issuer}/auth${opened.search}`)
    const { params } = await test.follow(consented, test.user.cookie)
    assert.match(params['connection_id'] ?? '', /^con_/)
  })

  test('the code is sent with the PKCE verifier of its challenge', async (t) => {
    const { oauth, user, start, follow } = await startConnectionTest(t, engine)
    const page = await start(user)
    const challenge = new URL(page).searchParams.get('code_challenge')
    assert.ok(![...oauth.secrets].some((secret) => hash(secret) === challenge), 'nobody has seen the verifier')
    await follow(await oauth.approve(page), user.cookie)
    assert.ok([...oauth.secrets].some((secret) => hash(secret) === challenge))
  })

  test('two accounts of one provider are two connections with their labels', async (t) => {
    const test = await startConnectionTest(t, engine)
    const ids = [await test.connect(test.user, 'ada')]
    test.clock.advance(1)
    ids.push(await test.connect(test.user, 'grace'))
    const found = (await list(test)).map((one) => [one['connection_id'], one['account_label'], one['status']])
    assert.deepEqual(found, [
      [ids[1], 'grace@example.com', 'active'],
      [ids[0], 'ada@example.com', 'active'],
    ])
  })

  test('connecting the same account again renews the connection, and its old token stays redacted', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { user, connect, database, vault, clock } = test
    const id = await connect()
    const before = await tokensOf(test, id)
    clock.advance(60)
    assert.equal(await connect(), id)
    const after = await tokensOf(test, id)
    assert.notEqual(after.access, before.access)
    assert.notEqual(after.refresh, before.refresh)
    assert.equal((await list(test)).length, 1)
    const former = await createFormerTokenStore(vault).listOf(database.queries, id, clock.now())
    assert.deepEqual(
      former.map((secret) => secret.reveal()),
      [before.access],
    )
    const events = (await recorded(test, 'connection.')).map(({ event }) => event)
    assert.deepEqual(events, ['connection.created', 'connection.renewed'])
    assert.equal(await connect(user, 'ada', { connection_id: id }), id, 'named, too')
  })

  test("another user's consent to the same account is a separate connection", async (t) => {
    const test = await startConnectionTest(t, engine)
    const bob = await test.logIn({ email: 'bob@example.com' })
    const ids = [await test.connect(), await test.connect(bob)]
    assert.notEqual(ids[0], ids[1])
    assert.equal((await test.connection(ids[1] ?? '', bob)).status, 'active')
    assert.equal(await test.connection(ids[1] ?? ''), undefined)
  })

  test('reconnecting never switches a connection to another account', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { user, oauth, connect, start, follow } = test
    const [ada, grace] = [await connect(user, 'ada'), await connect(user, 'grace')]
    const before = await tokensOf(test, ada)
    for (const account of ['grace', 'mallory']) {
      const callback = await oauth.approve(await start(user, { connection_id: ada }), { account })
      assert.deepEqual((await follow(callback, user.cookie)).params, { error: 'wrong_account' }, account)
    }
    assert.deepEqual(await tokensOf(test, ada), before)
    assert.equal((await list(test)).length, 2)
    const [refused] = await recorded(test, 'connection.refused')
    assert.deepEqual([refused?.detail.code, refused?.user_id], ['wrong_account', user.userId])
    assert.equal((await test.connection(grace)).status, 'active')
  })

  test('concurrent consents to one account end in one connection', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const callbacks: string[] = []
    for (let count = 0; count < 5; count++) callbacks.push(await oauth.approve(await start(user)))
    const landings = await Promise.all(callbacks.map((callback) => follow(callback, user.cookie)))
    const ids = new Set(landings.map(({ params }) => params['connection_id']))
    assert.equal(ids.size, 1)
    assert.equal((await list(test)).length, 1)
    const events = (await recorded(test, 'connection.')).map(({ event }) => event).sort()
    assert.deepEqual(events, ['connection.created', ...Array<string>(4).fill('connection.renewed')])
    const former = await test.database.queries.selectFrom('former_tokens').select('former_token_id').execute()
    assert.equal(former.length, 4, 'each token that was replaced is remembered')
  })

  test('concurrent renewals remember every replaced token, also without a known account', async (t) => {
    const test = await startConnectionTest(t, engine, { provider: { scopes: ['read'] } })
    const { oauth, user, start, follow, connect, database, vault, clock } = test
    const id = await connect()
    const { access, connection } = await tokensOf(test, id)
    assert.equal(connection.accountId, null)
    const callbacks: string[] = []
    for (let count = 0; count < 5; count++)
      callbacks.push(await oauth.approve(await start(user, { connection_id: id })))
    const landings = await Promise.all(callbacks.map((callback) => follow(callback, user.cookie)))
    assert.ok(landings.every(({ params }) => params['connection_id'] === id))
    const former = await createFormerTokenStore(vault).listOf(database.queries, id, clock.now())
    const known = new Set([...former.map((secret) => secret.reveal()), (await tokensOf(test, id)).access])
    assert.equal(known.size, 6)
    assert.ok(known.has(access))
  })

  test('an invalid start is refused, naming the member', async (t) => {
    const { call, user, connect, logIn, adminToken, registerAgent } = await startConnectionTest(t, engine)
    const id = await connect()
    const begin = (body: object, token = user.token) => call('POST', '/v4/oauth/connect/start', { token, body })
    const table: [object, number, string, string][] = [
      [{}, 400, 'missing_field', 'provider_slug'],
      [{ provider_slug: 'unknown' }, 404, 'not_found', 'provider_slug'],
      [{ provider_id: 'prv_unknown' }, 404, 'not_found', 'provider_id'],
      [{ provider_slug: slug, provider_id: 'prv_unknown' }, 404, 'not_found', 'provider_id'],
      [{ provider_slug: slug, redirect_to: '/' }, 400, 'invalid_field', 'redirect_to'],
      [{ provider_slug: slug, redirect_after: '//evil.example' }, 400, 'invalid_field', 'redirect_after'],
      [{ provider_slug: slug, redirect_after: '/.//evil.example' }, 400, 'invalid_field', 'redirect_after'],
      [{ provider_slug: slug, redirect_after: 1 }, 400, 'invalid_field', 'redirect_after'],
      [{ provider_slug: slug, scopes: ['a b'] }, 400, 'invalid_field', 'scopes.0'],
      [{ provider_slug: slug, scopes: 'read' }, 400, 'invalid_field', 'scopes'],
      [{ connection_id: 'con_unknown' }, 404, 'not_found', 'connection_id'],
      [{ connection_id: id, provider_slug: 'unknown' }, 404, 'not_found', 'provider_slug'],
    ]
    for (const [body, status, code, field] of table) {
      const reply = await begin(body)
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [status, code, field], reply.text)
    }
    const bob = await logIn({ email: 'bob@example.com' })
    assert.equal((await begin({ connection_id: id }, bob.token)).body.error.field, 'connection_id')
    const agent = await registerAgent()
    for (const token of [adminToken, agent.token]) {
      assert.equal((await begin({ provider_slug: slug }, token)).body.error.code, 'forbidden')
      const resumed = await call('GET', '/v4/oauth/resume', { token })
      assert.equal(resumed.body.error.code, 'forbidden')
    }
    assert.equal((await call('POST', '/v4/oauth/connect/start', { body: {} })).status, 401)
  })

  test('starts are limited per user and hour, for both flows together', async (t) => {
    const { call, user, logIn, clock } = await startConnectionTest(t, engine, {
      settings: { SALLYPORT_CONNECTS_PER_HOUR: '3' },
    })
    const body = { provider_slug: slug }
    const begin = (how: string, { token } = user) => call('POST', `/v4/oauth/${how}/start`, { token, body })
    const ends = [await begin('connect'), await begin('device'), await begin('connect'), await begin('connect')]
    assert.deepEqual(
      ends.map(({ status }) => status),
      [200, 201, 200, 429],
    )
    assert.ok(Number(ends[3]?.headers['retry-after']) > 0)
    assert.equal((await begin('device')).body.error.code, 'rate_limited')
    assert.equal((await begin('connect', await logIn({ email: 'bob@example.com' }))).status, 200)
    clock.advance(1200)
    assert.equal((await begin('connect')).status, 200)
  })

  test('a provider that was disabled or deleted meanwhile is not called', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, start, follow, database, providerId } = test
    const disabled = await oauth.approve(await start(user))
    const deleted = await oauth.approve(await start(user))
    const change = (members: object) =>
      database.queries.updateTable('providers').set(members).where('provider_id', '=', providerId).execute()
    await change({ status: 'disabled' })
    assert.deepEqual((await follow(disabled, user.cookie)).params, { error: 'provider_disabled' })
    const again = await call('POST', '/v4/oauth/connect/start', { token: user.token, body: { provider_slug: slug } })
    assert.equal(again.body.error.code, 'conflict')
    await change({ slug: null, deleted_at: 1 })
    assert.deepEqual((await follow(deleted, user.cookie)).params, { error: 'invalid_state' })
    assert.ok(!oauth.calls.some(({ path }) => path === oauthPaths.token))
    assert.deepEqual(await list(test), [])
  })

  test('disabling the provider or user during the token request prevents the connection', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, start, follow, database, adminToken, logIn } = test
    const bob = await logIn({ email: 'bob@example.com' })
    const meanwhile = async (person: typeof user, act: () => Promise<unknown>) => {
      const callback = await oauth.approve(await start(person))
      const hold = oauth.fault.hold(oauthPaths.token)
      const landing = follow(callback, person.cookie)
      await hold.arrived
      await act()
      hold.release()
      return (await landing).params
    }
    const ended = await meanwhile(bob, () => call('POST', `/v4/users/${bob.userId}/disable`, { token: adminToken }))
    assert.deepEqual(ended, { error: 'invalid_state' })
    const disabled = await meanwhile(user, () =>
      database.queries.updateTable('providers').set({ status: 'disabled' }).execute(),
    )
    assert.deepEqual(disabled, { error: 'provider_disabled' })
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
  })
})

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
