/** Invalid and malicious token responses of a provider. Nothing is stored unless all of it is valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

const json = { 'content-type': 'application/json' }
const html = { 'content-type': 'text/html' }
const now = () => Math.floor(Date.now() / 1000)

/**
 * The id token with other claims. Its signature is not checked: it came over TLS from its issuer (OIDC Core §3.1.3.7).
 */
function withClaims(idToken: string, change: object): string {
  const [head = '', claims = '', signature = ''] = idToken.split('.')
  const changed = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), ...change }
  return [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.')
}

async function comeBack({ oauth, user, start, follow }: ConnectionTest): Promise<Record<string, string>> {
  return (await follow(await oauth.approve(await start(user)), user.cookie)).params
}

const kept = ({ database }: ConnectionTest) => database.queries.selectFrom('connections').selectAll().execute()

onBothDatabases("a provider's response", (engine) => {
  test('an id token with another nonce, client, issuer or time is refused', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { oauth } = test
    const table: object[] = [
      { nonce: 'of-another-flow' },
      { nonce: undefined },
      { aud: 'another-client' },
      { aud: [oauth.client.clientId, 'another-client'], azp: 'another-client' },
      { aud: [oauth.client.clientId, 'another-client'] },
      { iss: 'https://evil.example' },
      { iss: undefined },
      { exp: now() - 3600 },
      { exp: undefined },
      { iat: undefined },
      { sub: undefined },
      { sub: 1815 },
    ]
    for (const change of table) {
      const lift = oauth.fault.change(oauthPaths.token, (body) => ({
        ...body,
        id_token: withClaims(body.id_token, change),
      }))
      assert.deepEqual(await comeBack(test), { error: 'invalid_response' }, JSON.stringify(change))
      lift()
    }
    for (const idToken of [undefined, '', 'no-token']) {
      const lift = oauth.fault.change(oauthPaths.token, (body) => ({ ...body, id_token: idToken }))
      assert.deepEqual(await comeBack(test), { error: 'invalid_response' }, String(idToken))
      lift()
    }
    assert.deepEqual(await kept(test), [])
  })

  test('an invalid token response connects nothing', async (t) => {
    const test = await startConnectionTest(t, engine)
    const table: [string, (body: any) => unknown][] = [
      ['invalid_response', (body) => ({ ...body, access_token: undefined })],
      ['invalid_response', (body) => ({ ...body, access_token: 1_234_567_890_123_456 })],
      ['invalid_response', (body) => ({ ...body, access_token: '' })],
      ['invalid_response', (body) => ({ ...body, token_type: 'mac' })],
      ['invalid_response', (body) => ({ ...body, refresh_token: 1 })],
      ['invalid_response', (body) => ({ ...body, expires_in: -1 })],
      ['invalid_response', (body) => ({ ...body, scope: ['read'] })],
      ['weak_token', (body) => ({ ...body, access_token: 'x'.repeat(15) })],
      ['weak_token', (body) => ({ ...body, refresh_token: 'x'.repeat(15) })],
      ['weak_token', (body) => ({ ...body, access_token: 'x'.repeat(16_385) })],
      ['weak_token', (body) => ({ ...body, refresh_token: 'x'.repeat(16_385) })],
    ]
    for (const [error, change] of table) {
      const lift = test.oauth.fault.change(oauthPaths.token, change)
      assert.deepEqual(await comeBack(test), { error }, String(change))
      lift()
    }
    assert.deepEqual(await kept(test), [])
    assert.deepEqual(await test.database.queries.selectFrom('former_tokens').selectAll().execute(), [])
  })

  test('a provider that is down or does not speak OAuth is unavailable', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { fault } = test.oauth
    const table: Parameters<typeof fault.answer>[1][] = [
      'cut',
      'lost',
      { status: 500, headers: json, body: '{"error":"invalid_grant"}' },
      { status: 429, headers: json, body: '{"error":"slow_down"}' },
      { status: 503, headers: html, body: '<h1>maintenance</h1>' },
      { status: 200, headers: html, body: '<h1>sign in first</h1>' },
      { status: 200, headers: json, body: '{"access_token":' },
      { status: 200, headers: json, body: '' },
      { status: 204 },
      { status: 302, headers: { location: 'https://evil.example/token' } },
      { status: 307, headers: { location: `${test.oauth.issuer}/token` } },
      { status: 200, headers: json, body: `{"access_token":"${'x'.repeat(1_048_576)}","token_type":"bearer"}` },
      { status: 200, headers: { ...json, 'content-encoding': 'x-unknown' }, body: '{}' },
    ]
    for (const instead of table) {
      const lift = fault.answer(oauthPaths.token, instead)
      assert.deepEqual(await comeBack(test), { error: 'provider_unavailable' }, JSON.stringify(instead).slice(0, 200))
      lift()
    }
    const refusals: [string, string][] = [
      ['invalid_grant', 'token_refused'],
      ['invalid_client', 'provider_error'],
      ['<b>odd</b>', 'provider_error'],
    ]
    for (const [error, code] of refusals) {
      fault.answer(oauthPaths.token, { status: 400, headers: json, body: JSON.stringify({ error }) }, 1)
      assert.deepEqual(await comeBack(test), { error: code })
    }
    assert.deepEqual(await kept(test), [])
    const callback = await test.oauth.approve(await test.start(test.user))
    await test.oauth.close()
    assert.deepEqual((await test.follow(callback, test.user.cookie)).params, { error: 'provider_unavailable' })
  })

  test('an account id that cannot be stored is left out, and odd labels are cleaned', async (t) => {
    const test = await startConnectionTest(t, engine, { oauth: { emailInIdToken: true } })
    const table: [object, string | null, string | null][] = [
      [{ sub: 'ada\u0000', email: 'a@example.com' }, null, null],
      [{ sub: 'x'.repeat(256), email: 'a@example.com' }, null, null],
      [{ sub: 'x'.repeat(255), email: 'a@example.com' }, 'x'.repeat(255), 'a@example.com'],
      [{ sub: '\ud800', email: 'a@example.com' }, null, null],
      [{ sub: 'one', email: 'ada\u0000\u202e\n@example.com' }, 'one', 'ada@example.com'],
      [{ sub: 'two', email: `${'x'.repeat(300)}@example.com` }, 'two', 'x'.repeat(200)],
      [{ sub: 'three', email: '\u200b', name: { toString: 1 }, preferred_username: 'ada' }, 'three', 'ada'],
      [{ sub: 'four', email: `x${'𝒳'.repeat(250)}` }, 'four', `x${'𝒳'.repeat(99)}`],
    ]
    for (const [claims, accountId, label] of table) {
      const lift = test.oauth.fault.change(oauthPaths.token, (body) => ({
        ...body,
        id_token: withClaims(body.id_token, claims),
      }))
      const { connection_id: id = '' } = await comeBack(test)
      lift()
      const row = (await kept(test)).find(({ connection_id }) => connection_id === id)
      assert.deepEqual([row?.account_id, row?.account_label], [accountId, label], JSON.stringify(claims).slice(0, 100))
    }
  })

  test('only valid scopes of a provider are kept', async (t) => {
    const test = await startConnectionTest(t, engine)
    const endless = Array.from({ length: 1000 }, (_, index) => `s${index}`).join(' ')
    const table: [unknown, number][] = [
      ['read write', 2],
      ['read,write read', 2],
      [`read ${'x'.repeat(201)} \u0000bad b\u202ead "quoted"`, 1],
      [endless, 100],
    ]
    for (const [scope, count] of table) {
      const lift = test.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, scope }))
      const { connection_id: id = '' } = await comeBack(test)
      lift()
      assert.equal((await test.connection(id)).scopes.length, count, String(scope).slice(0, 40))
    }
  })

  test('if userinfo fails or has another subject, only the label is missing', async (t) => {
    const test = await startConnectionTest(t, engine)
    const lifts = [
      () => test.oauth.fault.answer(oauthPaths.userinfo, { status: 500 }),
      () => test.oauth.fault.change(oauthPaths.userinfo, () => ({ sub: 'mallory', email: 'mallory@example.com' })),
      () => test.oauth.fault.answer(oauthPaths.userinfo, { status: 200, headers: html, body: '<p>' }),
    ]
    for (const raise of lifts) {
      const lift = raise()
      const { connection_id: id = '' } = await comeBack(test)
      lift()
      assert.equal((await test.connection(id)).account_label, null)
    }
    const { connection_id: id = '' } = await comeBack(test)
    assert.equal((await test.connection(id)).account_label, 'ada@example.com')
    assert.equal((await kept(test)).length, 1, 'it was one account all along')
  })
})
