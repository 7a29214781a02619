import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startProviderTest } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import type { Reply } from '../../testkit/service.ts'
import { oauth2Method } from './auth-method.ts'

onBothDatabases('an admin creates a provider', (engine) => {
  const start = async (t: Parameters<typeof startService>[0]) => {
    const service = await startService(t, engine)
    const create = (body: object) => service.call('POST', '/v4/providers', { token: service.adminToken, body })
    return { service, create }
  }

  test('from complete metadata, with a client, and it is active', async (t) => {
    const { service, create } = await start(t)
    const { status, body } = await create({ ...acme, ...client, scopes: ['read', 'write'] })
    assert.equal(status, 201)
    assert.match(body.provider_id, /^prv_/)
    assert.deepEqual(body, {
      provider_id: body.provider_id,
      provider_name: 'Acme Corp',
      slug: 'acme-corp',
      issuer_url: 'https://login.acme.example',
      scopes: ['read', 'write'],
      api_hosts: ['login.acme.example'],
      device_flow: false,
      auth_methods: [{ ...oauth2Method, checks: 'account' }],
      abilities: [],
      verified: true,
      status: 'active',
      source: 'admin',
      preset: null,
      proposed_by: null,
      discovery_url: null,
      authorization_url: 'https://login.acme.example/authorize',
      token_url: 'https://login.acme.example/token',
      registration_endpoint: null,
      device_authorization_endpoint: null,
      revocation_endpoint: null,
      userinfo_endpoint: null,
      client_id: 'our-client',
      docs: [],
      env: [],
      has_client_secret: true,
      token_endpoint_auth_method: 'client_secret_basic',
      authorization_params: {},
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      allow_range: false,
      registration_error: null,
      redirect_uri: `${service.config.baseUrl.origin}/v4/oauth/callback/acme-corp`,
      created_at: '2026-11-15T12:00:00.000Z',
      updated_at: '2026-11-15T12:00:00.000Z',
    })
    const [event, ...rest] = await recorded(service, 'provider.')
    assert.deepEqual(rest, [])
    assert.deepEqual(
      [event?.event, event?.detail],
      ['provider.created', { provider_id: body.provider_id, slug: 'acme-corp', source: 'admin', status: 'active' }],
    )
  })

  test('with a listed consent page on loopback, which alone may be http', async (t) => {
    const page = 'http://127.0.0.1:8788/auth'
    const { create, propose } = await startProviderTest(t, engine, {
      settings: { SALLYPORT_EGRESS_ALLOW: '127.0.0.1:8788' },
    })
    const made = await create({ ...acme, ...client, authorization_url: page })
    assert.deepEqual([made.status, made.body.authorization_url], [201, page])
    const refused = async (field: string, reply: Promise<Reply>) => {
      const { status, body, text } = await reply
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_url', field], text)
    }
    await refused('authorization_url', create({ ...acme, authorization_url: 'http://127.0.0.1:8789/auth' }))
    await refused('authorization_url', propose({ ...acme, authorization_url: page }))
    for (const field of ['issuer_url', 'token_url', 'device_authorization_endpoint', 'userinfo_endpoint']) {
      await refused(field, create({ ...acme, ...client, authorization_url: page, [field]: 'http://127.0.0.1:8788' }))
    }
  })

  test('from an issuer only, and the rest is discovered', async (t) => {
    const { create, oauth } = await startProviderTest(t, engine)
    const { status, body } = await create({ provider_name: 'Local', issuer_url: oauth.issuer, ...client })
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(
      [body.authorization_url, body.token_url, body.revocation_endpoint, body.device_flow, body.status],
      [`${oauth.issuer}/auth`, `${oauth.issuer}/token`, `${oauth.issuer}/token/revocation`, true, 'active'],
    )
    assert.deepEqual(body.api_hosts, [oauth.host])
    assert.equal(oauth.calls.length, 1, 'with a client of its own it is not registered')
  })

  test('from a discovery URL, and given members override discovered ones', async (t) => {
    const { create, oauth } = await startProviderTest(t, engine)
    const discovery_url = `${oauth.issuer}/.well-known/openid-configuration`
    const token_url = `${oauth.issuer}/another/token`
    const { status, body } = await create({ provider_name: 'Local', discovery_url, token_url, ...client })
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(
      [body.discovery_url, body.issuer_url, body.token_url, body.authorization_url],
      [discovery_url, oauth.issuer, token_url, `${oauth.issuer}/auth`],
    )
  })

  test('without a client, and gets one by dynamic registration', async (t) => {
    const { create, oauth } = await startProviderTest(t, engine)
    const { status, body } = await create({ provider_name: 'Local', issuer_url: oauth.issuer })
    assert.equal(status, 201)
    assert.deepEqual([body.status, body.registration_error, body.has_client_secret], ['active', null, true])
    assert.match(body.client_id, /^.{10,}$/)
  })

  test('without a client and without registration, and it waits for credentials', async (t) => {
    const { create } = await start(t)
    const { status, body } = await create(acme)
    assert.deepEqual(
      [status, body.status, body.registration_error, body.client_id],
      [201, 'pending_credentials', 'registration_unsupported', null],
    )
  })

  test('as a public client, if there is an id and no secret', async (t) => {
    const { create } = await start(t)
    const { body } = await create({ ...acme, client_id: 'public' })
    assert.deepEqual([body.token_endpoint_auth_method, body.has_client_secret, body.status], ['none', false, 'active'])
  })

  test('from a preset, with only a client', async (t) => {
    const { create } = await start(t)
    const { status, body } = await create({ preset: 'github', ...client })
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(
      [body.slug, body.provider_name, body.source, body.preset, body.verified, body.status],
      ['github', 'GitHub', 'preset', 'github', true, 'active'],
    )
    assert.deepEqual(
      [body.token_url, body.token_endpoint_auth_method, body.api_hosts.includes('api.github.com')],
      ['https://github.com/login/oauth/access_token', 'client_secret_post', true],
    )
  })

  test('from a preset, and given members override it', async (t) => {
    const { create } = await start(t)
    const overrides = {
      provider_name: 'GitHub for us',
      slug: 'our-github',
      scopes: ['repo'],
      api_hosts: ['api.github.com'],
      authorization_params: { login: 'ada' },
      allow_range: true,
    }
    const { body } = await create({ preset: 'github', ...client, ...overrides })
    for (const [name, value] of Object.entries(overrides)) assert.deepEqual(body[name], value, name)
  })

  test("a preset with another issuer needs that issuer's endpoints", async (t) => {
    const { create } = await start(t)
    const other = { preset: 'gitlab', ...client, issuer_url: 'https://gitlab.acme.example' }
    const refused = await create(other)
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.field],
      [400, 'missing_field', 'authorization_url'],
    )
    const urls = {
      authorization_url: 'https://gitlab.acme.example/oauth/authorize',
      token_url: 'https://gitlab.acme.example/oauth/token',
    }
    const { status, body } = await create({ ...other, ...urls })
    assert.equal(status, 201)
    const { revocation_endpoint, userinfo_endpoint, device_authorization_endpoint, api_hosts } = body
    assert.deepEqual(
      [revocation_endpoint, userinfo_endpoint, device_authorization_endpoint, api_hosts],
      [null, null, null, ['gitlab.acme.example']],
      'nothing of the preset’s own server is left that a token could be sent to',
    )
  })

  test('with a taken slug, and is refused', async (t) => {
    const { create } = await start(t)
    await create({ ...acme, ...client })
    const { status, body } = await create({ ...acme, ...client })
    assert.deepEqual([status, body.error.code, body.error.field], [409, 'slug_taken', 'slug'])
  })

  test('concurrently with one slug, and one wins', async (t) => {
    const { create } = await start(t)
    const all = await Promise.all(Array.from({ length: 8 }, () => create({ ...acme, ...client })))
    assert.deepEqual(all.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409])
  })
})
