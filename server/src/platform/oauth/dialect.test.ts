/** Servers that deviate from the OAuth standards, each a real one with TLS. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { startGitHubServer } from '../../../testkit/github-server.ts'
import { githubPaths } from '../../../testkit/github-site.ts'
import { startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import { Secret } from '../secret.ts'
import { joinScopes, plainDialect, splitScopes } from './dialect.ts'
import type { Dialect } from './dialect.ts'
import { createOAuth } from './oauth.ts'
import type { OAuthClient } from './oauth-client.ts'

interface Answer {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

const json = { 'content-type': 'application/json' }
const accessToken = 'an-access-token-of-some-length'

/** A token endpoint that always sends this response, and the requests it got. */
async function askToken(t: TestContext, dialect: Dialect, { status = 200, headers = json, body }: Answer) {
  const asked: { headers: IncomingHttpHeaders; body: string }[] = []
  const authority = await createAuthority(temporaryFolder(t))
  const certificate = await authority.issue({ names: ['localhost'] })
  const { port } = await startTlsUpstream(t, certificate, (request, response) => {
    void text(request).then((sent) => {
      asked.push({ headers: request.headers, body: sent })
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  const egress = testEgress(t, { allow: [`localhost:${port}`], caPem: authority.caPem })
  const issuer = `https://localhost:${port}`
  const client: OAuthClient = {
    metadata: { issuer, token_endpoint: `${issuer}/token` },
    clientId: 'our-client',
    clientSecret: new Secret('our-secret-of-some-length'),
    authMethod: 'client_secret_post',
    dialect,
    suppliedBy: 'operator',
  }
  const tokens = createOAuth({ egress }).refresh(client, new Secret('a-refresh-token'))
  return { tokens, asked }
}

async function takes(t: TestContext, dialect: Dialect, body: object) {
  const { tokens } = await askToken(t, dialect, { body })
  return tokens
}

test('an error with status 200 is a refusal if the dialect says so', async (t) => {
  const body = { ok: false, error: 'invalid_code' }
  const { tokens } = await askToken(t, { errorsWithStatus200: true }, { body })
  await assert.rejects(tokens, { name: 'OAuthRefused', code: 'invalid_code' })
  const plain = await askToken(t, plainDialect, { body })
  await assert.rejects(plain.tokens, { name: 'OAuthAnswerInvalid' })
})

test('an error code with unusual characters or length is not passed on', async (t) => {
  for (const error of ['<script>', 'a b', 'x'.repeat(65), '\u0000']) {
    const { tokens } = await askToken(t, { errorsWithStatus200: true }, { body: { error } })
    await assert.rejects(tokens, { code: 'unreadable_error' })
  }
})

test("the user's tokens are read from their nested object, not the bot's", async (t) => {
  const inner = { access_token: accessToken, token_type: 'user', scope: 'a,b', refresh_token: 'a-refresh-token-2' }
  const body = { ok: true, access_token: 'the-token-of-the-bot', token_type: 'bot', scope: 'bot', authed_user: inner }
  const dialect: Dialect = { tokensIn: 'authed_user', isAlwaysBearer: true }
  const tokens = await takes(t, dialect, body)
  assert.equal(tokens.accessToken.reveal(), accessToken)
  assert.equal(tokens.refreshToken?.reveal(), 'a-refresh-token-2')
  assert.deepEqual(tokens.scopes, ['a', 'b'])
  assert.ok(!JSON.stringify(tokens.extra).includes('token-of'), 'none is left in what else stood there')
  const atTop = await takes(t, dialect, { access_token: accessToken, token_type: 'user' })
  assert.equal(atTop.accessToken.reveal(), accessToken, 'a refresh has them at the top')
  const none = await askToken(t, dialect, { body: { ...body, authed_user: { id: 'U1' } } })
  await assert.rejects(none.tokens, { name: 'OAuthAnswerInvalid' }, 'the token of the bot is not taken instead')
})

test('a non-standard token type is accepted only if the dialect says so', async (t) => {
  const [own, silent] = [{ access_token: accessToken, token_type: 'user' }, { access_token: accessToken }]
  for (const body of [own, silent]) {
    const tokens = await takes(t, { isAlwaysBearer: true }, body)
    assert.equal(tokens.accessToken.reveal(), accessToken)
  }
  for (const dialect of [plainDialect, {}, { scopeArray: true }, { tokensIn: 'authed_user' }]) {
    const { tokens } = await askToken(t, dialect, { body: own })
    await assert.rejects(tokens, { name: 'OAuthAnswerInvalid' }, JSON.stringify(dialect))
  }
})

test('scopes are read from text with any separator, or from an array', async (t) => {
  const table: [Dialect, object, string[] | undefined][] = [
    [{}, { scope: 'read write' }, ['read', 'write']],
    [{}, { scope: 'read,write' }, ['read', 'write']],
    [{}, {}, undefined],
    [{ scopeArray: true }, { scope: ['read', 'write'] }, ['read', 'write']],
    [{ scopeArray: true }, { scopes: ['read', 'write'] }, ['read', 'write']],
    [{ scopeArray: true }, { scope: 'read' }, ['read']],
    [{ scopeArray: true }, { scopes: [] }, []],
  ]
  for (const [dialect, members, scopes] of table) {
    const tokens = await takes(t, dialect, { access_token: accessToken, token_type: 'bearer', ...members })
    assert.deepEqual(tokens.scopes, scopes, JSON.stringify([dialect, members]))
  }
})

test('a token request is sent as a form, or as JSON if the dialect says so', async (t) => {
  const answer = { body: { access_token: accessToken, token_type: 'bearer' } }
  const form = await askToken(t, {}, answer)
  await form.tokens
  assert.match(form.asked[0]?.headers['content-type'] ?? '', /^application\/x-www-form-urlencoded/)
  const wanted = { grant_type: 'refresh_token', refresh_token: 'a-refresh-token', client_id: 'our-client' }
  const own = await askToken(t, { tokenRequest: 'json' }, answer)
  await own.tokens
  assert.equal(own.asked[0]?.headers['content-type'], json['content-type'])
  for (const { asked } of [form, own]) assert.equal(asked[0]?.headers.accept, 'application/json')
  const sent = JSON.parse(own.asked[0].body) as object
  assert.deepEqual({ ...sent, ...wanted }, sent)
  const inForm = Object.fromEntries(new URLSearchParams(form.asked[0]?.body))
  assert.deepEqual({ ...inForm, ...wanted }, inForm)
})

test('an invalid token response is refused in every dialect', async (t) => {
  const dialect: Dialect = { errorsWithStatus200: true, tokensIn: 'authed_user', scopeArray: true }
  const table: [Answer, string][] = [
    [{ body: '<p>', headers: { 'content-type': 'text/html' } }, 'provider_unavailable'],
    [{ body: '{"access_token":' }, 'provider_unavailable'],
    [{ body: '', status: 204 }, 'provider_unavailable'],
    [{ body: '', status: 502 }, 'provider_unavailable'],
    [{ body: { error: 'x' }, status: 503 }, 'provider_unavailable'],
  ]
  for (const [answer, code] of table) {
    const { tokens } = await askToken(t, dialect, answer)
    await assert.rejects(tokens, { code }, JSON.stringify(answer))
  }
  for (const body of ['null', '[]', '"text"', '{"authed_user":[]}', '{"authed_user":null}', '{"error":1}']) {
    const { tokens } = await askToken(t, dialect, { body })
    await assert.rejects(tokens, { name: 'OAuthAnswerInvalid' }, body)
  }
})

test("GitHub's dialect works, from the code to the account", async (t) => {
  const github = await startGitHubServer(t, { redirectUri: 'https://client.example/callback' })
  const egress = testEgress(t, { allow: [github.host], caPem: readFileSync(github.caFile, 'utf8') })
  const oauth = createOAuth({ egress })
  const client: OAuthClient = {
    metadata: {
      issuer: github.origin,
      authorization_endpoint: `${github.origin}${githubPaths.authorization}`,
      token_endpoint: `${github.origin}${githubPaths.token}`,
    },
    clientId: github.client.clientId,
    clientSecret: new Secret(github.client.clientSecret),
    authMethod: 'client_secret_post',
    dialect: { errorsWithStatus200: true },
    suppliedBy: 'operator',
  }
  const request = { redirectUri: github.client.redirectUri, scopes: ['read:user', 'user:email'], params: {} }
  const { url, checks } = await oauth.beginCode(client, request)
  assert.equal(checks.nonce, undefined, 'without openid there is no id token')
  const callback = new URL(await github.approve(url))
  const tokens = await oauth.endCode(client, callback, checks)
  assert.deepEqual(
    [tokens.scopes, tokens.refreshToken, tokens.expiresInSeconds],
    [request.scopes, undefined, undefined],
  )
  const user = await oauth.askApi(client, tokens.accessToken, {
    method: 'GET',
    url: `${github.origin}${githubPaths.user}`,
  })
  assert.deepEqual([user['login'], user['id']], ['ada', 1815])
  await assert.rejects(oauth.endCode(client, callback, checks), { name: 'OAuthRefused', code: 'bad_verification_code' })
  github.endGrants('ada')
  const asking = oauth.askApi(client, tokens.accessToken, { method: 'GET', url: `${github.origin}${githubPaths.user}` })
  await assert.rejects(asking, { name: 'OAuthAnswerInvalid' })
})

test("scopes are joined with the dialect's separator and split at any", () => {
  assert.equal(joinScopes({}, ['a', 'b']), 'a b')
  assert.equal(joinScopes({ scopeSeparator: ',' }, ['a', 'b']), 'a,b')
  assert.deepEqual(splitScopes(' a,b  c,,a '), ['a', 'b', 'c'])
  assert.deepEqual(splitScopes(''), [])
  assert.deepEqual(splitScopes('good "bad" b\\ad \u202e'), ['good'])
  assert.equal(splitScopes(undefined), undefined)
})

test("the dialect's refresh endpoint and unencoded Basic header are used", async (t) => {
  const authority = await createAuthority(temporaryFolder(t))
  const asked: string[] = []
  const { port } = await startTlsUpstream(t, await authority.issue({ names: ['localhost'] }), (request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`)
    response.writeHead(200, json).end(JSON.stringify({ access_token: accessToken, token_type: 'bearer' }))
  })
  const issuer = `https://localhost:${port}`
  const oauth = createOAuth({ egress: testEgress(t, { allow: [`localhost:${port}`], caPem: authority.caPem }) })
  const client: OAuthClient = {
    metadata: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
    clientId: 'our-client_1.0',
    clientSecret: new Secret('our-secret_of.some-length'),
    authMethod: 'client_secret_basic',
    dialect: { isBasicUnencoded: true, refreshEndpoint: `${issuer}/refresh`, omitsPkce: true },
    suppliedBy: 'operator',
  }
  const basic = `Basic ${btoa('our-client_1.0:our-secret_of.some-length')}`
  await oauth.refresh(client, new Secret('a-refresh-token'))
  assert.deepEqual(asked, [`/refresh ${basic}`])
  const { url, checks } = await oauth.beginCode(client, { redirectUri: 'https://a.example/', scopes: [], params: {} })
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'redirect_uri', 'response_type', 'state'])
  await oauth.endCode(client, new URL(`https://a.example/?code=1&state=${checks.state.reveal()}`), checks)
  assert.equal(asked[1], `/token ${basic}`)
})
