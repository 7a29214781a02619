/** Attacks with a proposal: abusing a known consent page, scanning our network, harming the service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority } from '../../testkit/certificates.ts'
import { onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { startProviderTest } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import { startTlsUpstream } from '../../testkit/tls-upstream.ts'

const name = { provider_name: 'Acme Notes' }

onBothDatabases('attack', (engine) => {
  test("a proposal that mixes an attacker's hosts with a known provider's consent page is refused", async (t) => {
    const { call, registerAgent } = await startService(t, engine)
    const { token } = await registerAgent()
    const known = { authorization_url: 'https://github.com/login/oauth/authorize' }
    const own = { issuer_url: 'https://evil.example', token_url: 'https://evil.example/token' }
    const knownToken = { token_url: 'https://github.com/login/oauth/access_token' }
    const cases: [object, string][] = [
      [{ ...own, ...known }, 'authorization_url'],
      [{ ...known, token_url: own.token_url }, 'token_url'],
      [{ ...known, ...knownToken, issuer_url: own.issuer_url }, 'authorization_url'],
      [{ ...known, ...knownToken, registration_endpoint: 'https://evil.example/register' }, 'registration_endpoint'],
      [{ ...known, token_url: 'https://github.com.evil.example/token' }, 'token_url'],
      [{ ...known, issuer_url: 'https://github.io', token_url: 'https://github.com/t' }, 'authorization_url'],
      [{ discovery_url: 'https://evil.example/.well-known/openid-configuration', ...known }, 'authorization_url'],
      [{ issuer_url: 'https://eve.github.io', token_url: 'https://ada.github.io/token' }, 'token_url'],
      [{ issuer_url: 'https://evil.example', discovery_url: 'https://github.com/.well-known/x' }, 'discovery_url'],
    ]
    for (const [body, field] of cases) {
      const reply = await call('POST', '/v4/providers/proposals', { token, body: { ...name, ...body } })
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, 'invalid_field', field])
    }
  })

  test('discovery metadata with hosts of another site is refused', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    const members: [string, string][] = [
      ['authorization_endpoint', 'authorization_url'],
      ['token_endpoint', 'token_url'],
      ['registration_endpoint', 'registration_endpoint'],
      ['device_authorization_endpoint', 'device_authorization_endpoint'],
      ['revocation_endpoint', 'revocation_endpoint'],
      ['introspection_endpoint', 'introspection_endpoint'],
      ['pushed_authorization_request_endpoint', 'pushed_authorization_request_endpoint'],
      ['userinfo_endpoint', 'userinfo_endpoint'],
    ]
    for (const [member, field] of members) {
      const lift = oauth.fault.change(oauthPaths.discovery, (body: object) => ({
        ...body,
        [member]: 'https://github.com/login/oauth/authorize',
      }))
      const { status, body } = await propose({ ...name, issuer_url: oauth.issuer })
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', field])
      lift()
    }
    assert.ok(oauth.calls.every(({ path }) => path === oauthPaths.discovery))
  })

  test("an agent cannot override an issuer's own metadata", async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    const discovery_url = `${oauth.issuer}${oauthPaths.discovery}`
    const token_url = `${oauth.issuer}/of/another/tenant`
    const { status, body } = await propose({ ...name, discovery_url, token_url })
    assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'token_url'])
    const same = await propose({ ...name, discovery_url, token_url: `${oauth.issuer}/token` })
    assert.equal(same.status, 201, same.text)
  })

  test('an issuer that does not match its URL is refused', async (t) => {
    const { propose, create, oauth } = await startProviderTest(t, engine)
    oauth.fault.change(oauthPaths.discovery, (body: object) => ({ ...body, issuer: 'https://accounts.google.com' }))
    const byUrl = { discovery_url: `${oauth.issuer}${oauthPaths.discovery}` }
    for (const ask of [propose, create]) {
      const issuer = await ask({ ...name, issuer_url: oauth.issuer })
      assert.deepEqual([issuer.body.error.code, issuer.body.error.field], ['invalid_field', 'issuer_url'])
      const url = await ask({ ...name, ...byUrl })
      assert.deepEqual([url.body.error.code, url.body.error.field], ['invalid_field', 'discovery_url'])
    }
  })

  test('an issuer other than the one that was given is refused', async (t) => {
    const { create, oauth } = await startProviderTest(t, engine)
    const discovery_url = `${oauth.issuer}${oauthPaths.discovery}`
    const { status, body } = await create({ ...name, discovery_url, issuer_url: `${oauth.issuer}/tenant` })
    assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'issuer_url'])
  })

  test('a proposal with a private address is refused before any connection', async (t) => {
    const certificate = await (await createAuthority(temporaryFolder(t))).issue({ names: ['localhost'] })
    const inside = await startTlsUpstream(t, certificate)
    const plenty = { SALLYPORT_PROPOSALS_PER_DAY: '1000', SALLYPORT_PROPOSALS_PER_DAY_IN_ALL: '1000' }
    const { call, registerAgent } = await startService(t, engine, plenty)
    const { token } = await registerAgent()
    const loopback = `:${inside.port}`
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0']
    const private_ = [
      '169.254.169.254',
      '10.0.0.1',
      '192.168.1.1',
      '172.16.0.1',
      '100.64.0.1',
      '[fd00::1]',
      '[fe80::1]',
    ]
    const urls = [...hosts, ...private_].flatMap((host) => [`https://${host}`, `https://${host}${loopback}`])
    const members = (url: string) => {
      const href = new URL(url).origin
      const whole = { issuer_url: href, authorization_url: `${href}/a`, token_url: `${href}/t` }
      return [
        [{ issuer_url: href }, 'issuer_url'],
        [{ discovery_url: `${href}/.well-known/openid-configuration` }, 'discovery_url'],
        [whole, 'issuer_url'],
        [{ ...whole, registration_endpoint: `${href}/r` }, 'issuer_url'],
      ] as const
    }
    for (const [body, field] of urls.flatMap(members)) {
      const reply = await call('POST', '/v4/providers/proposals', { token, body: { ...name, ...body } })
      const { code, field: named } = reply.body.error
      assert.deepEqual([reply.status, code, named], [403, 'address_not_allowed', field], JSON.stringify(body))
    }
    assert.equal(inside.connections(), 0)
  })

  test('a redirect of discovery to a private address is not followed', async (t) => {
    const certificate = await (await createAuthority(temporaryFolder(t))).issue({ names: ['localhost'] })
    const inside = await startTlsUpstream(t, certificate)
    const { propose, oauth } = await startProviderTest(t, engine)
    for (const location of [`https://localhost:${inside.port}/`, 'https://169.254.169.254/latest/meta-data']) {
      oauth.fault.answer(oauthPaths.discovery, { status: 302, headers: { location } }, 1)
      const { status, body } = await propose({ ...name, issuer_url: oauth.issuer })
      assert.deepEqual([status, body.error.code], [502, 'provider_unavailable'])
    }
    assert.equal(inside.connections(), 0)
    assert.equal(oauth.calls.length, 2)
  })

  test('discovery metadata with a private address is refused', async (t) => {
    const certificate = await (await createAuthority(temporaryFolder(t))).issue({ names: ['localhost'] })
    const inside = await startTlsUpstream(t, certificate)
    const { propose, oauth } = await startProviderTest(t, engine)
    oauth.fault.change(oauthPaths.discovery, (body: object) => ({
      ...body,
      registration_endpoint: `https://localhost:${inside.port}/reg`,
    }))
    const { status, body } = await propose({ ...name, issuer_url: oauth.issuer })
    assert.deepEqual([status, body.error.code, body.error.field], [403, 'address_not_allowed', 'registration_endpoint'])
    assert.equal(inside.connections(), 0)
  })

  test('every failure of the provider has the same response', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    const html = { 'content-type': 'text/html' }
    const json = { 'content-type': 'application/json' }
    const ends = [
      { status: 403 },
      { status: 500, headers: html, body: '<p>stack trace of the inside</p>' },
      { status: 200, headers: html, body: '<p>hello</p>' },
      { status: 200, headers: json, body: '{' },
      { status: 200, headers: json, body: `{"issuer": "${'x'.repeat(2_000_000)}"}` },
      'cut',
    ] as const
    for (const end of ends) {
      oauth.fault.answer(oauthPaths.discovery, end, 1)
      const { status, body } = await propose({ ...name, issuer_url: oauth.issuer })
      const { request_id, ...error } = body.error
      assert.ok(request_id)
      assert.deepEqual(
        [status, error],
        [
          502,
          {
            code: 'provider_unavailable',
            field: 'issuer_url',
            message: 'The provider is not responding as expected. Try again later.',
            retryable: true,
          },
        ],
      )
    }
  })

  test('metadata of the wrong types is refused, and nothing is stored', async (t) => {
    const { propose, oauth, asAdmin } = await startProviderTest(t, engine)
    for (const token_endpoint of [7, null, {}, ['https://localhost/'], `${oauth.issuer}/${'x'.repeat(2000)}`]) {
      const lift = oauth.fault.change(oauthPaths.discovery, (body: object) => ({ ...body, token_endpoint }))
      const { status, body } = await propose({ ...name, issuer_url: oauth.issuer })
      assert.ok([400, 502].includes(status), JSON.stringify(body))
      lift()
    }
    assert.deepEqual((await asAdmin('GET', '/v4/providers?status=all')).body.providers, [])
  })
})
