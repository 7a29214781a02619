/** The behaviour of the tests' authorization server, seen by openid-client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { oauthPaths, startOAuthServer } from './oauth-server.ts'
import type { OAuthServer } from './oauth-server.ts'
import { authorize, discover, refusedWith, signIn, trusting } from './oauth-client.ts'

test('a user signs in and allows, and the code is exchanged for tokens that the API accepts', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { url, finish } = await authorize(config, 'openid email')
  const callback = await server.approve(url, { account: 'grace' })
  assert.equal(new URL(callback).searchParams.get('iss'), server.issuer)
  const tokens = await finish(callback)

  assert.equal(tokens.claims()?.sub, 'grace')
  assert.equal(tokens.claims()?.['email'], undefined, 'the claims are asked for, as at most providers')
  const claims = await oauth.fetchUserInfo(config, tokens.access_token, 'grace')
  assert.deepEqual(claims, { sub: 'grace', email: 'grace@example.com', email_verified: true })
  const whoami = await callApi(server, 'GET', '/api/whoami', tokens.access_token)
  assert.deepEqual(whoami, [200, { sub: 'grace', client_id: server.client.clientId, scope: 'openid email' }])
})

test("the API's echo returns the call, and an unknown token is refused", async (t) => {
  const server = await startOAuthServer(t)
  const { access_token: token } = await signIn(server)
  const [status, echo] = await callApi(server, 'POST', '/api/echo', token, 'a body')
  assert.equal(status, 200)
  assert.deepEqual([echo.sub, echo.body, echo.headers.authorization], ['ada', 'a body', `Bearer ${token}`])
  assert.equal((await callApi(server, 'GET', '/api/whoami', 'unknown'))[0], 401)
})

test('accounts have the configured claims, optionally in the ID token too', async (t) => {
  const accounts = { eve: { email: 'eve@example.net', email_verified: false } }
  const server = await startOAuthServer(t, { accounts, emailInIdToken: true })
  const tokens = await signIn(server, { account: 'eve', scope: 'openid email profile' })
  const claims = tokens.claims()
  assert.deepEqual([claims?.['email'], claims?.['email_verified']], ['eve@example.net', false])
  assert.equal(claims?.['name'], undefined)
})

test('a client without OpenID gets a refresh token and no ID token', async (t) => {
  const server = await startOAuthServer(t)
  const tokens = await signIn(server, { scope: 'read' })
  assert.equal(tokens.scope, 'read')
  assert.equal(tokens.id_token, undefined)
  assert.ok(tokens.refresh_token)
})

test('a user who denies is sent back with access_denied', async (t) => {
  const server = await startOAuthServer(t)
  const { url, finish } = await authorize(await discover(server))
  const callback = await server.deny(url)
  const { searchParams } = new URL(callback)
  assert.deepEqual([searchParams.get('error'), searchParams.get('code')], ['access_denied', null])
  await assert.rejects(finish(callback), { name: 'AuthorizationResponseError', error: 'access_denied' })
})

test('a request without an S256 challenge is sent back, one with a foreign redirect URI is not', async (t) => {
  const server = await startOAuthServer(t)
  const { url } = await authorize(await discover(server))
  const bare = new URL(url)
  bare.searchParams.delete('code_challenge')
  bare.searchParams.delete('code_challenge_method')
  assert.equal(new URL(await server.approve(bare)).searchParams.get('error'), 'invalid_request')

  url.searchParams.set('redirect_uri', 'https://other.example/callback')
  await assert.rejects(server.approve(url), /redirect_uri/)
  await server.setRedirectUris(['https://other.example/callback'])
  assert.match(await server.approve(url), /^https:\/\/other\.example\/callback\?code=/)
})

test('a code works once, and its second use revokes the tokens of the first', async (t) => {
  const server = await startOAuthServer(t)
  const { url, finish } = await authorize(await discover(server))
  const callback = await server.approve(url)
  const tokens = await finish(callback)
  await assert.rejects(finish(callback), refusedWith('invalid_grant'))
  assert.equal(await server.accepts(tokens.access_token), false)
})

test('a refresh rotates the refresh token, and reuse of the old one revokes the family', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const first = await signIn(server)
  const second = await oauth.refreshTokenGrant(config, first.refresh_token ?? '')
  assert.notEqual(second.refresh_token, first.refresh_token)
  assert.equal(await server.accepts(second.access_token), true)
  await assert.rejects(oauth.refreshTokenGrant(config, first.refresh_token ?? ''), refusedWith('invalid_grant'))
  await assert.rejects(oauth.refreshTokenGrant(config, second.refresh_token ?? ''), refusedWith('invalid_grant'))
})

test('of concurrent refreshes with one token only one succeeds', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { refresh_token: token = '' } = await signIn(server)
  const ends = await Promise.allSettled([1, 2, 3, 4].map(() => oauth.refreshTokenGrant(config, token)))
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected', 'rejected'])
})

test('without rotation a refresh token stays the same', async (t) => {
  const server = await startOAuthServer(t, { rotateRefreshToken: false })
  const config = await discover(server)
  const { refresh_token: refreshToken = '' } = await signIn(server)
  const refresh = async () => (await oauth.refreshTokenGrant(config, refreshToken)).refresh_token
  assert.deepEqual([await refresh(), await refresh()], [refreshToken, refreshToken])
})

test("revoking an account's grants stops its refreshes only", async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const [ada, grace] = [await signIn(server, { account: 'ada' }), await signIn(server, { account: 'grace' })]
  await server.endGrants('ada')
  await assert.rejects(oauth.refreshTokenGrant(config, ada.refresh_token ?? ''), refusedWith('invalid_grant'))
  assert.equal(await server.accepts(ada.access_token), false)
  assert.ok((await oauth.refreshTokenGrant(config, grace.refresh_token ?? '')).access_token)
})

test('an access token expires', async (t) => {
  const server = await startOAuthServer(t, { accessTokenSeconds: 1 })
  const tokens = await signIn(server)
  assert.equal(tokens.expires_in, 1)
  while (await server.accepts(tokens.access_token)) await new Promise((resolve) => setTimeout(resolve, 100))
  const config = await discover(server)
  await assert.rejects(oauth.fetchUserInfo(config, tokens.access_token, 'ada'), { status: 401 })
})

test('a revoked token is refused from then on', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const tokens = await signIn(server)
  await oauth.tokenRevocation(config, tokens.refresh_token ?? '')
  await assert.rejects(oauth.refreshTokenGrant(config, tokens.refresh_token ?? ''), refusedWith('invalid_grant'))
  assert.equal((await oauth.tokenIntrospection(config, tokens.access_token)).active, false)
})

test('anyone may register a client, and the client manages itself', async (t) => {
  const server = await startOAuthServer(t)
  const metadata = { redirect_uris: ['https://client.example/callback'], client_name: 'One more' }
  const config = await oauth.dynamicClientRegistration(new URL(server.issuer), metadata, undefined, trusting(server))
  const registered = config.clientMetadata() as unknown as Record<string, string>
  const {
    client_secret: secret = '',
    registration_client_uri: uri = '',
    registration_access_token: token = '',
  } = registered
  assert.ok(server.secrets.has(secret) && server.secrets.has(token))
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await server.fetch(uri, { method: 'DELETE', headers })).status, 204)
  assert.equal((await server.fetch(uri, { headers })).status, 401)
})

test('a server that requires an initial access token refuses registration without it', async (t) => {
  const server = await startOAuthServer(t, { registration: { initialAccessToken: 'let-me-in' } })
  const register = (initialAccessToken?: string) =>
    oauth.dynamicClientRegistration(
      new URL(server.issuer),
      { redirect_uris: ['https://client.example/callback'] },
      undefined,
      { ...trusting(server), ...(initialAccessToken !== undefined && { initialAccessToken }) },
    )
  await assert.rejects(register(), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE', status: 401 })
  await assert.rejects(register('wrong'), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE', status: 401 })
  assert.ok((await register('let-me-in')).clientMetadata().client_id)
})

test('features that are turned off are not in the metadata', async (t) => {
  const server = await startOAuthServer(t, { registration: false, revocation: false, deviceFlow: false })
  const metadata = (await discover(server)).serverMetadata()
  const { registration_endpoint: registration, revocation_endpoint: revocation } = metadata
  assert.deepEqual(
    [registration, revocation, metadata.device_authorization_endpoint],
    [undefined, undefined, undefined],
  )
})

test('a server may omit iss from the response unless its metadata promises it', async (t) => {
  const silent = await startOAuthServer(t, { issParameter: false })
  const { url, finish } = await authorize(await discover(silent))
  const callback = await silent.approve(url)
  assert.equal(new URL(callback).searchParams.has('iss'), false)
  assert.ok((await finish(callback)).access_token)

  const server = await startOAuthServer(t)
  const second = await authorize(await discover(server))
  const altered = new URL(await server.approve(second.url))
  altered.searchParams.delete('iss')
  await assert.rejects(second.finish(altered.href), { code: 'OAUTH_INVALID_RESPONSE' })
  altered.searchParams.set('iss', 'https://other.example')
  await assert.rejects(second.finish(altered.href), { code: 'OAUTH_INVALID_RESPONSE' })
})

test('two servers share nothing, and neither writes to the console', async (t) => {
  const lines = (['warn', 'info', 'error'] as const).map((level) => t.mock.method(console, level).mock)
  const [one, other] = [await startOAuthServer(t), await startOAuthServer(t)]
  const tokens = await signIn(one)
  assert.equal(await one.accepts(tokens.access_token), true)
  assert.equal(await other.accepts(tokens.access_token), false)
  assert.equal(other.calls.length, 0)
  assert.deepEqual(
    lines.flatMap(({ calls }) => calls.map((call) => call.arguments)),
    [],
  )
})

test('every call and every secret is recorded', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { url, finish, verifier } = await authorize(config)
  const callback = await server.approve(url)
  const tokens = await finish(callback)
  await assert.rejects(oauth.refreshTokenGrant(config, 'unknown'), refusedWith('invalid_grant'))
  assert.deepEqual(
    server.calls.filter(({ path }) => path === oauthPaths.token),
    [
      { method: 'POST', path: '/token', grantType: 'authorization_code', status: 200 },
      { method: 'POST', path: '/token', grantType: 'refresh_token', status: 400 },
    ],
  )
  const code = new URL(callback).searchParams.get('code')
  const secrets = [tokens.access_token, tokens.refresh_token, tokens.id_token, code, verifier]
  for (const secret of [...secrets, server.client.clientSecret]) assert.ok(server.secrets.has(secret ?? ''))
})

async function callApi(server: OAuthServer, method: string, path: string, token: string, body?: string) {
  const headers = { authorization: `Bearer ${token}` }
  const reply = await server.fetch(`${server.issuer}${path}`, { method, headers, ...(body !== undefined && { body }) })
  return [reply.status, await reply.json()] as [number, any]
}
