import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGitHubServer } from '../../testkit/github-server.ts'
import { githubPaths } from '../../testkit/github-site.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { reaching, startProviderTest } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'

const nobody = { client_id: 'nobody', client_secret: 'a-secret-that-nobody-has' }
const path = '/v4/providers/test-client'

test('a client that the provider does not know is refused, and a known one accepted', async (t) => {
  const { oauth, create, asAdmin, call, registerAgent } = await startProviderTest(t, 'sqlite')
  const { clientId: client_id, clientSecret: client_secret } = oauth.client
  const { body: provider } = await create({ provider_name: 'Acme', issuer_url: oauth.issuer, ...nobody })
  const { provider_id } = provider
  const result = async (body: object) => {
    const reply = await asAdmin('POST', path, { provider_id, ...body })
    assert.equal(reply.status, 200, reply.text)
    return [reply.body.result, reply.body.error]
  }
  assert.deepEqual(await result({}), ['refused', 'unauthorized'])
  assert.deepEqual(await result({ client_id, client_secret }), ['accepted', 'invalid_grant'])
  const other = 'another-secret-of-its-own'
  assert.deepEqual(await result({ client_id, client_secret: other }), ['refused', 'unauthorized'])
  // Nothing was stored.
  assert.deepEqual(await result({}), ['refused', 'unauthorized'])

  // A server that looks at the code first answers alike for a client that can't exist.
  const headers = { 'content-type': 'application/json' }
  const lift = oauth.fault.answer(oauthPaths.token, { status: 400, headers, body: '{"error":"invalid_grant"}' })
  assert.deepEqual(await result({ client_id, client_secret }), ['unknown', 'invalid_grant'])
  assert.deepEqual(await result({}), ['unknown', 'invalid_grant'])
  lift()
  const failing = oauth.fault.answer(oauthPaths.token, { status: 503 })
  const away = await asAdmin('POST', path, { provider_id })
  assert.deepEqual([away.status, away.body.error.code], [502, 'provider_unavailable'])
  failing()

  const { token } = await registerAgent()
  assert.equal((await call('POST', path, { token, body: { provider_id } })).status, 403)
  assert.equal((await call('POST', path, { body: { provider_id } })).status, 401)
})

test('GitHub has errors of its own, with status 200', async (t) => {
  const github = await startGitHubServer(t)
  const service = await startService(t, 'sqlite', reaching(github))
  const asAdmin = (method: string, at: string, body: object) =>
    service.call(method, at, { token: service.adminToken, body })
  const { body: provider } = await asAdmin('POST', '/v4/providers', {
    ...{ preset: 'github', authorization_url: github.origin + githubPaths.authorization },
    ...{ token_url: github.origin + githubPaths.token, ...nobody },
  })
  const { provider_id } = provider
  const result = async (body: object) => (await asAdmin('POST', path, { provider_id, ...body })).body
  assert.deepEqual(await result({}), { result: 'refused', error: 'incorrect_client_credentials' })
  const { clientId: client_id, clientSecret: client_secret } = github.client
  assert.deepEqual(await result({ client_id, client_secret }), { result: 'accepted', error: 'bad_verification_code' })
})

test('it has to be said which client, and no address can be named', async (t) => {
  const { asAdmin } = await startProviderTest(t, 'sqlite')
  const refusal = async (body: object) => {
    const reply = await asAdmin('POST', path, body)
    return [reply.status, reply.body.error.code, reply.body.error.field]
  }
  assert.deepEqual(await refusal({}), [400, 'missing_field', 'preset'])
  assert.deepEqual(await refusal({ preset: 'nothing', ...nobody }), [404, 'not_found', 'preset'])
  assert.deepEqual(await refusal({ preset: 'stripe', ...nobody }), [404, 'not_found', 'preset'])
  assert.deepEqual(await refusal({ preset: 'github' }), [400, 'missing_field', 'client_id'])
  assert.deepEqual(await refusal({ provider_id: 'prv_x' }), [404, 'not_found', 'provider_id'])
  const short = { preset: 'github', client_id: 'id', client_secret: 'short' }
  assert.deepEqual(await refusal(short), [400, 'invalid_field', 'client_secret'])
  const evil = { preset: 'github', ...nobody, token_url: 'https://evil.example/token' }
  assert.deepEqual((await refusal(evil)).slice(0, 2), [400, 'invalid_field'])
})
