/** Metadata is accepted only if its issuer is the one it was fetched from (OIDC Discovery §4.3, RFC 8414 §3.3). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import { createOAuth } from './oauth.ts'

/** Serves one document under every path; `issuer` may use {origin}. */
async function discoverAt(t: TestContext, path: string, issuer: unknown, more: object = {}) {
  const authority = await createAuthority(temporaryFolder(t))
  const certificate = await authority.issue({ names: ['localhost'] })
  let origin = ''
  const { port, requests } = await startTlsUpstream(t, certificate, (_request, response) => {
    const named = typeof issuer === 'string' ? issuer.replace('{origin}', origin) : issuer
    const document = { issuer: named, token_endpoint: `${origin}/token`, ...more }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  origin = `https://localhost:${port}`
  const egress = testEgress(t, { allow: [`localhost:${port}`], caPem: authority.caPem })
  const found = createOAuth({ egress }).discover(new URL(`${origin}${path}`), 'operator')
  return { found, requests, origin }
}

const wellKnown = '/.well-known/openid-configuration'
const server = '/.well-known/oauth-authorization-server'

test('discovery finds the metadata of an issuer and of each well-known URL form', async (t) => {
  const table: [string, string, string][] = [
    ['', '{origin}', `GET ${wellKnown}`],
    ['/', '{origin}', `GET ${wellKnown}`],
    ['/tenant', '{origin}/tenant', `GET /tenant${wellKnown}`],
    [wellKnown, '{origin}', `GET ${wellKnown}`],
    [wellKnown, '{origin}/', `GET ${wellKnown}`],
    [`/tenant${wellKnown}`, '{origin}/tenant', `GET /tenant${wellKnown}`],
    [`${wellKnown}/tenant`, '{origin}/tenant', `GET ${wellKnown}/tenant`],
    [server, '{origin}', `GET ${server}`],
    [`${server}/tenant/two`, '{origin}/tenant/two', `GET ${server}/tenant/two`],
    [`${wellKnown}?appid=1`, '{origin}', `GET ${wellKnown}?appid=1`],
  ]
  for (const [path, issuer, request] of table) {
    const { found, requests, origin } = await discoverAt(t, path, issuer)
    const metadata = await found.catch((error: unknown) => assert.fail(`${path}: ${String(error)}`))
    assert.equal(metadata.issuer, issuer.replace('{origin}', origin))
    assert.deepEqual(requests, [request])
  }
})

test('metadata that names another issuer is refused', async (t) => {
  const table: [string, unknown][] = [
    ['', 'https://accounts.google.com'],
    ['', '{origin}/tenant'],
    ['/tenant', '{origin}'],
    ['/tenant', '{origin}/other'],
    [wellKnown, 'https://accounts.google.com'],
    [wellKnown, '{origin}/tenant'],
    [`/tenant${wellKnown}`, '{origin}'],
    [`/tenant${wellKnown}`, '{origin}/tenant/'],
    [`${wellKnown}/tenant`, '{origin}'],
    [`${server}/tenant`, '{origin}/other'],
    [`/a/../tenant${wellKnown}`, '{origin}/a'],
    [wellKnown, 'not a url'],
    [wellKnown, ''],
    [wellKnown, 1],
    [wellKnown, undefined],
  ]
  for (const [path, issuer] of table) {
    const { found } = await discoverAt(t, path, issuer)
    await assert.rejects(found, { name: 'OAuthAnswerInvalid' }, `${path} as ${String(issuer)}`)
  }
})

test('a URL that cannot be metadata is refused without a request', async (t) => {
  for (const path of ['/.well-known/anything-else', '/tenant/.well-known/', `/a${wellKnown}/b`]) {
    const { found, requests } = await discoverAt(t, path, '{origin}')
    await assert.rejects(found, { name: 'OAuthAnswerInvalid' }, path)
    assert.deepEqual(requests, [])
  }
})

test('only known metadata members are kept', async (t) => {
  const { found } = await discoverAt(t, '', '{origin}', {
    revocation_endpoint: 'https://a.example/revoke',
    jwks_uri: 'https://a.example/jwks',
    constructor: 'x',
    authorization_response_iss_parameter_supported: true,
  })
  const expected = ['issuer', 'token_endpoint', 'revocation_endpoint', 'authorization_response_iss_parameter_supported']
  assert.deepEqual(Object.keys(await found).sort(), expected.sort())
})

test('discovery falls back to RFC 8414 after a 404, but not if the server is unreachable', async (t) => {
  const authority = await createAuthority(temporaryFolder(t))
  const certificate = await authority.issue({ names: ['localhost'] })
  const { port, requests } = await startTlsUpstream(t, certificate, (request, response) => {
    const issuer = `https://localhost:${port}/tenant`
    if (request.url === `${server}/tenant`) {
      const document = { issuer, token_endpoint: `${issuer}/token` }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    } else if (request.url?.startsWith('/gone')) request.socket.destroy()
    else response.writeHead(404).end()
  })
  const oauth = createOAuth({ egress: testEgress(t, { allow: [`localhost:${port}`], caPem: authority.caPem }) })
  const discover = (path: string) => oauth.discover(new URL(`https://localhost:${port}${path}`), 'operator')
  assert.equal((await discover('/tenant')).token_endpoint, `https://localhost:${port}/tenant/token`)
  assert.deepEqual(requests, [`GET /tenant${wellKnown}`, `GET ${server}/tenant`])
  await assert.rejects(discover('/neither'), { code: 'provider_unavailable' })
  requests.length = 0
  await assert.rejects(discover('/gone'), { code: 'upstream_unreachable' })
  assert.deepEqual(requests, [`GET /gone${wellKnown}`])
})
