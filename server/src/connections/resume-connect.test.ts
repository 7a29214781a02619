/** A callback in a browser without a session is stored encrypted until the user signs in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest, Person } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

const invalidState = { error: 'invalid_state' }
const exchanges = ({ oauth }: ConnectionTest) => oauth.calls.filter(({ path }) => path === oauthPaths.token).length
const flowsOf = ({ database }: ConnectionTest) => database.queries.selectFrom('connect_flows').selectAll().execute()

/** The pair that a browser would send back. */
const pairOf = (cookie: string | undefined) => cookie?.split(';')[0] ?? ''

/** Consent in a browser without a session. */
async function comeBackUnknown({ oauth, start, follow }: ConnectionTest, person: Person, account = 'ada') {
  const callback = await oauth.approve(await start(person, { redirect_after: '/done' }), { account })
  const landed = await follow(callback)
  return { callback, landed, waiting: pairOf(landed.cookie) }
}

function resume({ follow, config }: ConnectionTest, ...cookies: string[]) {
  return follow(`${config.baseUrl.origin}/v4/oauth/resume`, cookies.join('; '))
}

onBothDatabases('a callback that waits for sign-in', (engine) => {
  test('a user who started with a bearer token signs in, resumes and is connected', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { user, logIn } = test
    const { landed, waiting } = await comeBackUnknown(test, user)
    assert.deepEqual([landed.status, landed.path, landed.params], [302, '/', { connect: 'waiting' }])
    assert.equal(exchanges(test), 0, 'the code is not exchanged for somebody unknown')
    const { cookie } = await logIn({ email: 'ada@example.com' })
    const resumed = await resume(test, cookie, waiting)
    assert.equal(resumed.path, '/done')
    const id = resumed.params['connection_id'] ?? ''
    assert.equal((await test.connection(id)).account_label, 'ada@example.com')
    assert.match(String(resumed.reply.headers['set-cookie']), /^svc_connect=;.*Path=\/v4\/oauth/, 'the cookie goes')
  })

  test('two such cookies, one planted by a sibling domain, are both ignored', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { waiting } = await comeBackUnknown(test, test.user)
    const { cookie } = await test.logIn({ email: 'ada@example.com' })
    const resumed = await resume(test, cookie, waiting, waiting)
    assert.deepEqual(resumed.params, invalidState)
    assert.equal(exchanges(test), 0)
  })

  test('the cookie is HttpOnly, Lax, for the OAuth paths only, and lasts ten minutes', async (t) => {
    const plain = await startConnectionTest(t, engine)
    const { landed } = await comeBackUnknown(plain, plain.user)
    const attributes = (landed.cookie ?? '').split('; ').slice(1).sort()
    assert.deepEqual(attributes, ['HttpOnly', 'Max-Age=600', 'Path=/v4/oauth', 'SameSite=Lax'])
    assert.match(pairOf(landed.cookie), /^svc_connect=sp_connect_\w{40,}$/)
    const secure = await startConnectionTest(t, engine, {
      settings: { SALLYPORT_BASE_URL: 'https://sallyport.example' },
    })
    assert.match((await comeBackUnknown(secure, secure.user)).landed.cookie ?? '', /; Secure/)
  })

  test('it is stored encrypted: neither code nor cookie is readable in the table', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { callback, waiting } = await comeBackUnknown(test, test.user)
    const [flow] = await flowsOf(test)
    assert.ok(flow?.answer && flow.waiting_hash)
    const text = Object.values(flow)
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n')
    const { searchParams } = new URL(callback)
    for (const secret of [searchParams.get('code'), searchParams.get('state'), waiting.split('=')[1]]) {
      assert.ok(secret && !text.includes(secret))
    }
  })

  test("a victim who signs in after opening an attacker's link connects nothing", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { user: attacker, logIn } = test
    const { callback, waiting } = await comeBackUnknown(test, attacker, 'victim')
    const victim = await logIn({ email: 'victim@example.com' })
    const resumed = await resume(test, victim.cookie, waiting)
    assert.deepEqual([resumed.path, resumed.params], ['/', { error: 'wrong_user' }])
    const [flow] = await flowsOf(test)
    assert.deepEqual([flow?.answer, flow?.answer_key_id, flow?.waiting_hash], [null, null, null], 'the code is gone')
    assert.deepEqual((await resume(test, attacker.cookie, waiting)).params, invalidState)
    assert.deepEqual((await test.follow(callback, attacker.cookie)).params, invalidState)
    assert.equal(exchanges(test), 0)
    const [refused] = await recorded(test, 'connection.')
    assert.deepEqual([refused?.detail.code, refused?.user_id], ['wrong_user', attacker.userId])
  })

  test("an attacker cannot resume a victim's callback in their own browser", async (t) => {
    const test = await startConnectionTest(t, engine)
    const { user: attacker } = test
    const { waiting } = await comeBackUnknown(test, attacker, 'victim')
    for (const cookie of ['', 'svc_connect=', `svc_connect=sp_connect_${'x'.repeat(49)}`, waiting.slice(0, -1)]) {
      assert.deepEqual((await resume(test, attacker.cookie, cookie)).params, invalidState, cookie)
    }
    assert.equal(exchanges(test), 0)
  })

  test('resuming without a session is refused and consumes nothing', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { waiting } = await comeBackUnknown(test, test.user)
    assert.equal((await resume(test, waiting)).reply.body.error.code, 'unauthenticated')
    assert.equal((await test.call('HEAD', '/v4/oauth/resume', { headers: { cookie: waiting } })).status, 405)
    assert.ok((await resume(test, test.user.cookie, waiting)).params['connection_id'])
  })

  test('of concurrent resumes one connects, and later ones do not', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { waiting } = await comeBackUnknown(test, test.user)
    const ends = await Promise.all(Array.from({ length: 8 }, () => resume(test, test.user.cookie, waiting)))
    assert.equal(ends.filter(({ params }) => params['connection_id'] !== undefined).length, 1)
    for (const { params } of ends) if (!params['connection_id']) assert.deepEqual(params, invalidState)
    assert.deepEqual((await resume(test, test.user.cookie, waiting)).params, invalidState)
    assert.equal(exchanges(test), 1)
  })

  test('it waits no longer than ten minutes from the start', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { waiting } = await comeBackUnknown(test, test.user)
    test.clock.advance(600)
    assert.deepEqual((await resume(test, test.user.cookie, waiting)).params, invalidState)
    test.clock.advance(0.001)
    await test.app.sweep()
    assert.deepEqual(await flowsOf(test), [])
  })

  test('a user who was disabled meanwhile cannot resume', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { call, oauth, user, start, follow, adminToken } = test
    const callback = await oauth.approve(await start(user))
    await call('POST', `/v4/users/${user.userId}/disable`, { token: adminToken })
    const landed = await follow(callback, user.cookie)
    assert.deepEqual(landed.params, { connect: 'waiting' })
    const resumed = await resume(test, user.cookie, pairOf(landed.cookie))
    assert.equal(resumed.reply.body.error.code, 'unauthenticated')
    assert.equal(exchanges(test), 0)
  })

  test('a denial waits like any other callback and is shown to its user', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth, user, start, follow } = test
    const landed = await follow(await oauth.deny(await start(user)))
    assert.deepEqual(landed.params, { connect: 'waiting' })
    assert.deepEqual((await resume(test, user.cookie, pairOf(landed.cookie))).params, { error: 'access_denied' })
  })
})
