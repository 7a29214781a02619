/** The behaviour of the tests' GitHub, where GitHub differs from the standards. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startGitHubServer } from './github-server.ts'
import type { GitHubServer } from './github-server.ts'
import { githubPaths } from './github-site.ts'

const redirectUri = 'https://client.example/callback'
const verifier = 'a-verifier-that-is-long-enough-to-be-one-of-them'
const asJson = { accept: 'application/json' }

function authorizationUrl(server: GitHubServer, members: Record<string, string> = {}): URL {
  const url = new URL(`${server.origin}${githubPaths.authorization}`)
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const query = {
    client_id: server.client.clientId,
    redirect_uri: redirectUri,
    state: 'a-state',
    code_challenge: challenge,
  }
  url.search = new URLSearchParams({ ...query, scope: 'read:user user:email', ...members }).toString()
  return url
}

async function codeFor(server: GitHubServer, account: string, members?: Record<string, string>): Promise<string> {
  const callback = new URL(await server.approve(authorizationUrl(server, members), { account }))
  assert.equal(callback.searchParams.get('state'), 'a-state')
  return callback.searchParams.get('code') ?? ''
}

function exchange(server: GitHubServer, members: Record<string, string>, headers: Record<string, string> = asJson) {
  const { clientId: client_id, clientSecret: client_secret } = server.client
  const body = new URLSearchParams({ client_id, client_secret, code_verifier: verifier, ...members })
  return server.fetch(`${server.origin}${githubPaths.token}`, { method: 'POST', headers, body })
}

interface TokenAnswer {
  access_token: string
  error?: string
}

async function answerOf(server: GitHubServer, ...request: [Record<string, string>, Record<string, string>?]) {
  const reply = await exchange(server, ...request)
  return { status: reply.status, answer: (await reply.json()) as TokenAnswer }
}

async function tokenOf(server: GitHubServer, account: string, members?: Record<string, string>): Promise<string> {
  const { answer } = await answerOf(server, { code: await codeFor(server, account, members) })
  return answer.access_token
}

async function callApi(server: GitHubServer, path: string, token: string, userAgent = 'a test') {
  const headers = { authorization: `Bearer ${token}`, 'user-agent': userAgent }
  const reply = await server.fetch(`${server.origin}${path}`, { headers })
  const text = await reply.text()
  return { status: reply.status, body: /^[[{]/.test(text) ? JSON.parse(text) : text }
}

const emails = [
  { email: 'grace@example.com', primary: true, verified: true },
  { email: 'hopper@example.net', primary: false, verified: false },
]
const accounts = { ada: { id: 1815, name: 'Ada', email: 'ada@example.com' }, grace: { id: 1906, emails } }

test('a code is exchanged for a token of the chosen account, without refresh token or expiry', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const code = await codeFor(server, 'grace')
  const { answer: tokens } = await answerOf(server, { code })
  assert.deepEqual(
    { ...tokens, access_token: '' },
    { access_token: '', token_type: 'bearer', scope: 'read:user,user:email' },
  )
  const { body: user } = await callApi(server, githubPaths.user, tokens.access_token)
  assert.deepEqual(user, { login: 'grace', id: 1906, type: 'User', name: null, email: null })
  assert.deepEqual((await callApi(server, githubPaths.emails, tokens.access_token)).body, emails)
  for (const secret of [code, tokens.access_token, verifier, server.client.clientSecret]) {
    assert.ok(server.secrets.has(secret))
  }
})

test('the token endpoint responds with a form unless JSON is accepted', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const reply = await exchange(server, { code: await codeFor(server, 'ada') }, {})
  assert.match(reply.headers.get('content-type') ?? '', /^application\/x-www-form-urlencoded/)
  const form = new URLSearchParams(await reply.text())
  assert.equal(form.get('token_type'), 'bearer')
  assert.ok(server.secrets.has(form.get('access_token') ?? 'none'))
})

test('errors have status 200: a used code, a wrong verifier, secret or redirect URI', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const errorOf = async (members: Record<string, string>) => {
    const { status, answer } = await answerOf(server, members)
    assert.equal(status, 200)
    return answer.error
  }
  const code = await codeFor(server, 'ada')
  assert.equal(await errorOf({ code }), undefined)
  assert.equal(await errorOf({ code }), 'bad_verification_code')
  assert.equal(await errorOf({ code: await codeFor(server, 'ada'), code_verifier: 'wrong' }), 'bad_verification_code')
  assert.equal(await errorOf({ client_secret: 'wrong' }), 'incorrect_client_credentials')
  const redirect_uri = 'https://other.example/'
  assert.equal(await errorOf({ code: await codeFor(server, 'ada'), redirect_uri }), 'redirect_uri_mismatch')
})

test('the client may send its secret in the header too', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const { clientId, clientSecret } = server.client
  const basic = { ...asJson, authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
  const { answer } = await answerOf(server, { code: await codeFor(server, 'ada'), client_secret: '' }, basic)
  assert.ok(answer.access_token)
})

test('a denial and a foreign redirect URI return to the registered callback with an error', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const denied = new URL(await server.deny(authorizationUrl(server)))
  assert.equal(denied.searchParams.get('error'), 'access_denied')
  const foreign = authorizationUrl(server, { redirect_uri: `${redirectUri}-of-another` })
  const mismatch = new URL(await server.approve(foreign))
  assert.equal(`${mismatch.origin}${mismatch.pathname}`, redirectUri)
  assert.equal(mismatch.searchParams.get('error'), 'redirect_uri_mismatch')
  assert.match(await server.approve(authorizationUrl(server, { redirect_uri: `${redirectUri}/below` })), /below\?code=/)
})

test('the API requires a token, a User-Agent, and the scope for e-mail addresses', async (t) => {
  const server = await startGitHubServer(t, { accounts })
  const token = await tokenOf(server, 'grace', { scope: 'read:user' })
  assert.equal((await callApi(server, githubPaths.user, 'unknown')).status, 401)
  assert.equal((await callApi(server, githubPaths.user, token, '')).status, 403)
  assert.equal((await callApi(server, githubPaths.emails, token)).status, 404)
  assert.equal((await callApi(server, githubPaths.user, token)).status, 200)
  server.endGrants('grace')
  assert.equal((await callApi(server, githubPaths.user, token)).status, 401)
})
