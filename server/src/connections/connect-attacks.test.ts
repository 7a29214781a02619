/** Attacks on the OAuth callback. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

const invalidState = { error: 'invalid_state' }

const isConnected = async ({ database }: ConnectionTest) =>
  (await database.queries.selectFrom('connections').select('connection_id').execute()).length > 0

const exchanges = ({ oauth }: ConnectionTest) => oauth.calls.filter(({ path }) => path === oauthPaths.token).length

type Twist = ['set' | 'append', string, string] | ['delete', string]

/** The address with other parameters. */
function twisted(callback: string, ...twists: Twist[]): string {
  const url = new URL(callback)
  for (const [how, name, value = ''] of twists) {
    if (how === 'delete') url.searchParams.delete(name)
    else url.searchParams[how](name, value)
  }
  return url.href
}

function atSlug(callback: string, name: string): string {
  return Object.assign(new URL(callback), { pathname: `/v4/oauth/callback/${name}` }).href
}

onBothDatabases('attacks on a connect', (engine) => {
  test('the warning about a proposed provider shows its domain, not its name', async (t) => {
    const test = await startConnectionTest(t, engine, { oauth: { registration: true } })
    const { call, oauth, user } = test
    const agent = await test.registerAgent()
    const body = { provider_name: 'Your bank', slug: 'bank', issuer_url: oauth.issuer, scopes: ['openid'] }
    assert.equal((await call('POST', '/v4/providers/proposals', { token: agent.token, body })).body.status, 'active')
    const startAt = async (path: string, name: string) =>
      (await call('POST', path, { token: user.token, body: { provider_slug: name } })).body
    for (const path of ['/v4/oauth/connect/start', '/v4/oauth/device/start']) {
      assert.equal((await startAt(path, slug)).warning, null)
      const { warning } = await startAt(path, 'bank')
      assert.match(
        warning,
        /^An agent proposed this provider.* It belongs to localhost:\d+: continue only if you trust/,
      )
    }
    const authorizationUrl = (await startAt('/v4/oauth/connect/start', 'bank')).authorization_url
    await test.follow(await oauth.approve(authorizationUrl, { account: 'ada' }), user.cookie)
    const { connections } = (await call('GET', '/v4/connections', { token: user.token })).body
    assert.deepEqual([connections[0].provider, connections[0].verified], ['bank', false])
  })

  test('of many callbacks with the same state exactly one connects', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const callback = await oauth.approve(await start(user))
    const landings = await Promise.all(Array.from({ length: 8 }, () => follow(callback, user.cookie)))
    const connected = landings.filter(({ params }) => params['connection_id'] !== undefined)
    assert.equal(connected.length, 1)
    for (const { params } of landings) if (!params['connection_id']) assert.deepEqual(params, invalidState)
    assert.equal(exchanges(test), 1)
    assert.deepEqual((await follow(callback, user.cookie)).params, invalidState)
  })

  test('a state expires after ten minutes', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow, clock } = test
    const [inTime, tooLate] = [await oauth.approve(await start(user)), await oauth.approve(await start(user))]
    clock.advance(599.999)
    assert.ok((await follow(inTime, user.cookie)).params['connection_id'])
    clock.advance(0.001)
    const before = exchanges(test)
    assert.deepEqual((await follow(tooLate, user.cookie)).params, invalidState)
    assert.equal(exchanges(test), before)
  })

  test('a wrong, missing or repeated state is refused and consumes nothing', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, start, follow } = test
    const callback = await oauth.approve(await start(user))
    const state = new URL(callback).searchParams.get('state') ?? ''
    const table: Twist[] = [
      ['set', 'state', `${state.slice(0, -1)}_`],
      ['set', 'state', state.toUpperCase()],
      ['set', 'state', ''],
      ['set', 'state', 'x'.repeat(8000)],
      ['set', 'state', "' or 1=1 --\u0000"],
      ['delete', 'state'],
      ['append', 'state', state],
      ['append', 'state', 'another'],
    ]
    for (const one of [...table.map((twist) => twisted(callback, twist)), callback.split('?', 1)[0] ?? '']) {
      const { status, path, params } = await follow(one, user.cookie)
      assert.deepEqual([status, path, params], [302, '/', invalidState], one.slice(0, 200))
    }
    assert.equal(exchanges(test), 0)
    const { pathname, search } = new URL(callback)
    // A prefetch, such as by a mail scanner, does not use up the state.
    const head = await call('HEAD', pathname + search, { headers: { cookie: user.cookie } })
    assert.equal(head.status, 405)
    assert.equal((await call('POST', pathname + search, { headers: { cookie: user.cookie } })).status, 405)
    assert.ok((await follow(callback, user.cookie)).params['connection_id'], 'the state still works')
  })

  test("mix-up attack: a response on another provider's callback is refused", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, adminToken, start, follow } = test
    const honest = { client_id: oauth.client.clientId, client_secret: oauth.client.clientSecret }
    const body = { provider_name: 'Other', slug: 'other', issuer_url: oauth.issuer, ...honest }
    assert.equal((await call('POST', '/v4/providers', { token: adminToken, body })).status, 201)
    const callback = await oauth.approve(await start(user))
    for (const wrong of ['other', 'unknown']) {
      const mixed = atSlug(await oauth.approve(await start(user)), wrong)
      assert.deepEqual((await follow(mixed, user.cookie)).params, invalidState)
      const straight = atSlug(mixed, slug)
      assert.deepEqual((await follow(straight, user.cookie)).params, invalidState, 'it is used up')
    }
    assert.equal(exchanges(test), 0)
    assert.ok((await follow(callback, user.cookie)).params['connection_id'])
  })

  test('mix-up attack: a response with another issuer, none or two is refused (RFC 9207)', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const table: Twist[] = [
      ['set', 'iss', 'https://evil.example'],
      ['set', 'iss', `${oauth.issuer}/`],
      ['append', 'iss', 'https://evil.example'],
      ['delete', 'iss'],
    ]
    for (const twist of table) {
      const callback = twisted(await oauth.approve(await start(user)), twist)
      assert.deepEqual((await follow(callback, user.cookie)).params, { error: 'invalid_response' })
    }
    // A forged refusal is no refusal either.
    const forged = twisted(await oauth.deny(await start(user)), ['set', 'iss', 'https://evil.example'])
    assert.deepEqual((await follow(forged, user.cookie)).params, { error: 'invalid_response' })
    assert.equal(exchanges(test), 0)
  })

  test('a provider without iss support may leave iss out, but a wrong one is refused', async (t) => {
    const test = await startConnectionTest(t, engine, { oauth: { issParameter: false } })
    const { oauth, user, start, follow } = test
    const wrong = twisted(await oauth.approve(await start(user)), ['set', 'iss', 'https://evil.example'])
    assert.deepEqual((await follow(wrong, user.cookie)).params, { error: 'invalid_response' })
    assert.ok(await test.connect())
  })

  test('a missing, repeated, foreign or used code connects nothing', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const used = new URL(await oauth.approve(await start(user)))
    await follow(used.href, user.cookie)
    await test.database.queries.deleteFrom('connections').execute()
    const table: [string, Twist][] = [
      ['invalid_response', ['delete', 'code']],
      ['invalid_response', ['append', 'code', 'another']],
      ['token_refused', ['set', 'code', used.searchParams.get('code') ?? '']],
      ['token_refused', ['set', 'code', 'invented?by=mallory']],
      ['invalid_response', ['set', 'response', 'a.b.c']],
      ['invalid_response', ['set', 'id_token', 'a.b.c']],
    ]
    for (const [error, twist] of table) {
      const callback = twisted(await oauth.approve(await start(user)), twist)
      assert.deepEqual((await follow(callback, user.cookie)).params, { error }, twist.join(' '))
    }
    assert.ok(!(await isConnected(test)))
    const codes = (await recorded(test, 'connection.refused')).map(({ detail }) => detail.code)
    assert.deepEqual(
      codes,
      table.map(([error]) => error),
    )
  })

  test('a code with a question mark is sent unchanged', async (t) => {
    const { oauth, user, start, follow } = await startConnectionTest(t, engine)
    const callback = await oauth.approve(await start(user))
    await follow(callback.replace(/code=[^&]+/, 'code=one?two?three'), user.cookie)
    assert.ok(oauth.secrets.has('one?two?three'))
  })

  test("a denial is reported as such, and the provider's text is never repeated", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const denied = await follow(await oauth.deny(await start(user, { redirect_after: '/back?a=1' })), user.cookie)
    assert.deepEqual([denied.path, denied.params], ['/back', { a: '1', error: 'access_denied' }])
    const odd = [
      'server_error',
      'temporarily_unavailable',
      'invalid_scope',
      '<script>alert(1)</script>',
      '\r\nx: y',
      '%00',
    ]
    for (const error of odd) {
      const callback = twisted(
        await oauth.deny(await start(user)),
        ['set', 'error', error],
        ['set', 'error_description', 'the-innermost-text'],
        ['set', 'error_uri', 'https://evil.example/the-innermost-text'],
      )
      const { params, reply } = await follow(callback, user.cookie)
      assert.deepEqual(params, { error: 'provider_error' }, error)
      assert.ok(!JSON.stringify([reply.headers, reply.text]).includes('innermost'))
    }
    assert.ok(!test.log.join('').includes('innermost'))
    assert.ok(!JSON.stringify(await recorded(test)).includes('innermost'))
    assert.ok(!test.log.join('').includes('alert(1)'))
    assert.equal(exchanges(test), 0)
  })

  test("opening an attacker's authorization link connects nothing", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user: attacker, start, follow, logIn } = test
    const victim = await logIn({ email: 'victim@example.com' })
    const link = await start(attacker, { redirect_after: '/collect' })
    const callback = await oauth.approve(link, { account: 'victim' })
    const landed = await follow(callback, victim.cookie)
    assert.deepEqual([landed.path, landed.params, landed.cookie], ['/', { error: 'wrong_user' }, undefined])
    assert.ok(!(await isConnected(test)))
    assert.equal(exchanges(test), 0, 'the code was never exchanged')
    assert.deepEqual((await follow(callback, attacker.cookie)).params, invalidState, 'nor can it be afterwards')
    const [refused] = await recorded(test, 'connection.')
    assert.deepEqual(
      [refused?.event, refused?.user_id, refused?.detail.code],
      ['connection.refused', attacker.userId, 'wrong_user'],
    )
    assert.ok(!JSON.stringify(await recorded(test, 'connection.')).includes(victim.userId))
  })

  test("an attacker's callback in a victim's browser connects nothing", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user: attacker, start, follow, logIn } = test
    const victim = await logIn({ email: 'victim@example.com' })
    await start(victim)
    const callback = await oauth.approve(await start(attacker), { account: 'attacker' })
    assert.deepEqual((await follow(callback, victim.cookie)).params, { error: 'wrong_user' })
    // With the state of the victim's own flow, the attacker's code does not match the PKCE verifier.
    const own = new URL(await start(victim)).searchParams.get('state') ?? ''
    const callbackOfAttacker = await oauth.approve(await start(attacker), { account: 'attacker' })
    const swapped = twisted(callbackOfAttacker, ['set', 'state', own])
    assert.deepEqual((await follow(swapped, victim.cookie)).params, { error: 'token_refused' })
    assert.ok(!(await isConnected(test)))
  })
})
