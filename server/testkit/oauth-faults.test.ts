/** The faults that the tests' authorization server can raise, as openid-client meets them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { Agent, fetch } from 'undici'
import { discover, refusedWith, signIn } from './oauth-client.ts'
import { oauthPaths, startOAuthServer } from './oauth-server.ts'

const json = { 'content-type': 'application/json' }

test('faults apply as many times as requested, in order', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { refresh_token: token = '' } = await signIn(server)
  const before = server.calls.length
  server.fault.answer(oauthPaths.token, { status: 400, headers: json, body: '{"error":"slow_down"}' }, 1)
  server.fault.answer(oauthPaths.token, { status: 503, headers: { 'content-type': 'text/html' }, body: '<p>no</p>' }, 1)
  server.fault.answer(oauthPaths.token, { status: 302, headers: { location: 'https://other.example/' } }, 1)
  await assert.rejects(oauth.refreshTokenGrant(config, token), refusedWith('slow_down'))
  await assert.rejects(oauth.refreshTokenGrant(config, token), { code: 'OAUTH_RESPONSE_IS_NOT_CONFORM' })
  await assert.rejects(oauth.refreshTokenGrant(config, token), { code: 'OAUTH_RESPONSE_IS_NOT_CONFORM' })
  assert.ok((await oauth.refreshTokenGrant(config, token)).access_token)
  assert.deepEqual(
    server.calls.slice(before).map(({ status }) => status),
    [400, 503, 302, 200],
  )
})

test('a fault without a count stays until it is lifted', async (t) => {
  const server = await startOAuthServer(t)
  const lift = server.fault.answer(oauthPaths.jwks, { status: 500 })
  const ask = async () => (await server.fetch(`${server.issuer}${oauthPaths.jwks}`)).status
  assert.deepEqual([await ask(), await ask()], [500, 500])
  lift()
  assert.equal(await ask(), 200)
})

test('a call can hang, and a connection can be cut, before the provider sees it', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { refresh_token: token = '' } = await signIn(server)
  server.fault.answer(oauthPaths.token, 'hang', 1)
  const stop = new AbortController()
  const hanging = server.fetch(`${server.issuer}${oauthPaths.token}`, { method: 'POST', signal: stop.signal })
  while (server.calls.at(-1)?.status !== 0) await new Promise(setImmediate)
  const hung = server.calls.at(-1)
  await assert.rejects(oauth.refreshTokenGrant(config, 'unknown'), refusedWith('invalid_grant'))
  assert.equal(hung?.status, 0, 'a later call has been answered, this one has not')
  stop.abort()
  await assert.rejects(hanging, { name: 'AbortError' })
  server.fault.answer(oauthPaths.token, 'cut', 1)
  await assert.rejects(oauth.refreshTokenGrant(config, token), TypeError)
  assert.ok((await oauth.refreshTokenGrant(config, token)).access_token, 'the token was not used up')
})

test('a response can be lost after processing, so that the old refresh token is used up', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { refresh_token: token = '' } = await signIn(server)
  server.fault.answer(oauthPaths.token, 'lost', 1)
  await assert.rejects(oauth.refreshTokenGrant(config, token), TypeError)
  await assert.rejects(oauth.refreshTokenGrant(config, token), refusedWith('invalid_grant'))
})

test('a response can be held back after processing', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { refresh_token: token = '' } = await signIn(server)
  const known = server.secrets.size
  const hold = server.fault.hold(oauthPaths.token)
  let isAnswered = false
  const refresh = oauth.refreshTokenGrant(config, token).finally(() => (isAnswered = true))
  await hold.arrived
  assert.ok(server.secrets.size > known, 'new tokens are given out')
  assert.deepEqual([isAnswered, server.calls.at(-1)?.status], [false, 0])
  hold.release()
  assert.ok(await server.accepts((await refresh).access_token))
  assert.ok((await signIn(server)).access_token, 'nothing is held any more')
})

test('a server closes even if a call hangs and a response is held back', async (t) => {
  const server = await startOAuthServer(t)
  server.fault.answer(oauthPaths.userinfo, 'hang')
  const hold = server.fault.hold(oauthPaths.jwks)
  // An agent that the server does not know, so it cannot close its connections.
  const agent = new Agent({ connect: { ca: server.authority.caPem } })
  t.after(() => agent.destroy())
  const ask = (path: string) => fetch(`${server.issuer}${path}`, { dispatcher: agent })
  const ends = Promise.allSettled([ask(oauthPaths.userinfo), ask(oauthPaths.jwks)])
  await hold.arrived
  while (server.calls.length < 2) await new Promise(setImmediate)
  await server.close()
  const isLost = ({ status }: { status: string }) => status === 'rejected'
  assert.ok((await ends).every(isLost))
})

test('a JSON response can be changed: openid-client refuses a foreign issuer', async (t) => {
  const server = await startOAuthServer(t)
  const lift = server.fault.change(oauthPaths.discovery, (body) => ({ ...body, issuer: 'https://other.example' }))
  await assert.rejects(discover(server), { code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' })
  lift()
  server.fault.change(oauthPaths.token, (body) => ({ ...body, expires_in: undefined }))
  assert.equal((await signIn(server)).expires_in, undefined)
})
