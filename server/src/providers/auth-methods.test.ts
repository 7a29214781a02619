import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePattern } from '@sallyport/protocol/credential-members'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startProviderTest } from '../../testkit/providers.ts'
import { membersIn, parseTemplate, render, renderRedacted } from './template.ts'

const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}' }]
const keys = { provider_name: 'Keys', api_hosts: ['api.keys.example', '*.tenants.example'] }
const apiKey = { kind: 'api_key', inject }

onBothDatabases('ways of authentication', (engine) => {
  test('without oauth2 a name and hosts are enough, and the provider is active', async (t) => {
    const { create, asAdmin } = await startProviderTest(t, engine)
    const { status, body } = await create({ ...keys, auth_methods: [apiKey, { kind: 'basic' }] })
    assert.equal(status, 201)
    assert.deepEqual(
      [body.status, body.issuer_url, body.client_id, body.registration_error, body.slug],
      ['active', null, null, null, 'keys'],
    )
    assert.deepEqual(body.auth_methods[0], {
      ...{ kind: 'api_key', name: 'api_key', label: null, help: null, check: null, checks: 'nothing' },
      members: [
        ...[{ name: 'api_key', label: null, secret: true, optional: false, format: 'text', pattern: null, host: null }],
      ],
      inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}', hosts: null, paths: null }],
    })
    const at = `/v4/providers/${body.provider_id}`
    assert.equal((await asAdmin('POST', `${at}/disable`)).body.status, 'disabled')
    assert.equal((await asAdmin('POST', `${at}/enable`)).body.status, 'active')
    for (const [method, path, given] of [
      ['PATCH', `${at}/credentials`, { client_id: 'x' }],
      ['PATCH', `${at}/endpoints`, { issuer_url: 'https://login.keys.example' }],
      ['POST', `${at}/rediscover`, undefined],
    ] as const) {
      const refused = await asAdmin(method, path, given)
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], path)
    }
    const hosts = await asAdmin('PATCH', at, { api_hosts: ['api.keys.example'] })
    assert.deepEqual(hosts.body.api_hosts, ['api.keys.example'])
    assert.equal((await asAdmin('PATCH', at, { auth_methods: [apiKey] })).body.error.field, 'auth_methods')
  })

  test('with oauth2 beside others it works without a client, except for OAuth', async (t) => {
    const { create, call, logIn, asAdmin } = await startProviderTest(t, engine)
    const both = [{ kind: 'oauth2' }, { ...apiKey, inject: [{ ...inject[0], hosts: ['login.acme.example'] }] }]
    const { status, body } = await create({ ...acme, slug: 'acme', auth_methods: both })
    assert.deepEqual([status, body.status, body.registration_error], [201, 'active', 'registration_unsupported'])
    const { token } = await logIn({ email: 'ada@example.com' })
    const start = () => call('POST', '/v4/oauth/connect/start', { token, body: { provider_slug: 'acme' } })
    assert.equal((await start()).body.error.code, 'conflict')
    assert.equal((await asAdmin('PATCH', `/v4/providers/${body.provider_id}/credentials`, client)).status, 200)
    assert.equal((await start()).status, 200)
    const credential = { api_key: 'a-key-of-sixteen-or-more' }
    const connected = await call('POST', '/v4/connections', { token, body: { provider_slug: 'acme', credential } })
    assert.deepEqual([connected.status, connected.body.auth_method], [201, 'api_key'])
    const { connection_id } = connected.body
    const renew = await call('POST', '/v4/oauth/connect/start', { token, body: { connection_id } })
    assert.equal(renew.status, 200, 'the same account may be connected by OAuth instead')
  })

  test('a provider without oauth2 cannot be connected by OAuth, and says how it can', async (t) => {
    const { create, call, logIn } = await startProviderTest(t, engine)
    await create({ ...keys, auth_methods: [apiKey] })
    const { token } = await logIn({ email: 'ada@example.com' })
    for (const path of ['/v4/oauth/connect/start', '/v4/oauth/device/start']) {
      const { status, body } = await call('POST', path, { token, body: { provider_slug: 'keys' } })
      assert.deepEqual([status, body.error.code], [409, 'conflict'])
      assert.match(body.error.message, /POST \/v4\/connections/)
    }
  })

  test('a person sees what to enter, and what the provider is asked about it', async (t) => {
    const { create, call } = await startProviderTest(t, engine)
    const check = { url: 'https://api.keys.example/me' }
    const subdomain = { name: 'subdomain', host: '{subdomain}.tenants.example' }
    const auth_methods = [
      apiKey,
      { ...apiKey, name: 'checked', check },
      {
        kind: 'basic',
        members: [subdomain],
        check: { url: 'https://{subdomain}.tenants.example/me', account: { id: 'id' } },
      },
      { kind: 'client_credentials' },
    ]
    const { status, text } = await create({ ...keys, token_url: 'https://api.keys.example/token', auth_methods })
    assert.equal(status, 201, text)
    const { body } = await call('GET', '/v4/providers')
    const [, , basic, ...others] = body.providers[0].auth_methods
    assert.deepEqual(
      body.providers[0].auth_methods.map(({ checks }: { checks: string }) => checks),
      ['nothing', 'validity', 'account', 'account'],
    )
    assert.deepEqual(basic.members[0], {
      ...{ name: 'subdomain', label: null, secret: false, optional: false, format: 'text' },
      ...{ pattern: '[a-z0-9-]{1,63}', host: '{subdomain}.tenants.example' },
    })
    assert.equal(others.length, 1)
    assert.ok(!('inject' in basic) && !('check' in basic))
  })

  test('an agent cannot propose ways of authentication', async (t) => {
    const { propose } = await startProviderTest(t, engine)
    const { status, body } = await propose({ ...acme, auth_methods: [apiKey] })
    assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'auth_methods'])
  })

  test('a malformed method names the member at fault', async (t) => {
    const { create } = await startProviderTest(t, engine)
    const place = (changes: object) => ({ ...apiKey, inject: [{ ...inject[0], ...changes }] })
    const member = (one: object) => ({ ...apiKey, members: [{ name: 'api_key' }, one] })
    const checkWith = (headers: object) => ({ ...apiKey, check: { url: 'https://api.keys.example/me', headers } })
    const cases: [method: object, field: string][] = [
      [{ kind: 'mtls' }, 'kind'],
      [{ kind: 'api_key' }, 'inject'],
      [{ kind: 'basic', inject }, 'inject'],
      [
        {
          kind: 'basic',
          members: [{ name: 'username' }, { name: 'password', secret: false }, { name: 'x', secret: false }],
        },
        'members',
      ],
      [{ ...apiKey, name: 'oauth2' }, 'name'],
      [{ ...apiKey, name: 'Not a name' }, 'name'],
      [place({ template: 'Bearer' }), 'inject.0.template'],
      [place({ template: '{api_key' }), 'inject.0.template'],
      [place({ template: '{base64({base64({api_key})})}' }), 'inject.0.template'],
      [place({ template: '{other}' }), 'inject.0.template'],
      [place({ template: '{api_key}\r\nx: 1' }), 'inject.0.template'],
      [place({ name: 'host' }), 'inject.0.name'],
      [place({ name: 'a b' }), 'inject.0.name'],
      [place({ in: 'query', name: 'a b' }), 'inject.0.name'],
      [place({ in: 'path', name: '/v1/' }), 'inject.0.name'],
      [place({ in: 'path', name: '/../{credential}/' }), 'inject.0.name'],
      [place({ in: 'cookie' }), 'inject.0.in'],
      [place({ hosts: ['evil.example'] }), 'inject.0.hosts.0'],
      [place({ paths: ['/a/../b'] }), 'inject.0.paths.0'],
      [place({ paths: ['a'] }), 'inject.0.paths.0'],
      [member({ name: 'unused' }), 'members.1.name'],
      [member({ name: 'api_key' }), 'members.1.name'],
      [member({ name: 'x', secret: false, pattern: '(a+)+$' }), 'members.1.pattern'],
      [member({ name: 'x', secret: false, pattern: '[z-a]{1,2}' }), 'members.1.pattern'],
      [member({ name: 'tenant', host: 'x.tenants.example' }), 'members.1.host'],
      [member({ name: 'tenant', host: '{tenant}.evil.example' }), 'members.1.host'],
      [member({ name: 'tenant', host: '{tenant}.tenants.example', secret: true }), 'members.1.secret'],
      [{ ...apiKey, check: { url: 'http://api.keys.example/me' } }, 'check.url'],
      [{ ...apiKey, check: { url: 'https://evil.example/me' } }, 'check.url'],
      [{ ...apiKey, check: { url: 'https://api.keys.example/me?key={api_key}' } }, 'check.url'],
      [{ ...apiKey, check: { url: 'https://api.keys.example/me', account: { id: 'a[0]' } } }, 'check.account'],
      [checkWith({ Authorization: 'Bearer x' }), 'check.headers.Authorization'],
      [checkWith({ 'content-length': '0' }), 'check.headers.content-length'],
      [checkWith({ 'api-version': '1\r\nhost: evil.example' }), 'check.headers.api-version'],
      [
        {
          ...member({ name: 'tenant', host: '{tenant}.tenants.example' }),
          check: { url: 'https://api.keys.example/me' },
        },
        'check.url',
      ],
    ]
    for (const [method, field] of cases) {
      const { status, body } = await create({ ...keys, auth_methods: [method] })
      assert.deepEqual(
        [status, body.error?.code, body.error?.field],
        [400, 'invalid_field', `auth_methods.0.${field}`].map((one) =>
          method === cases[1]?.[0] && one === 'invalid_field' ? 'missing_field' : one,
        ),
        JSON.stringify(method),
      )
    }
    const others: [object, string][] = [
      [{ ...keys, auth_methods: [apiKey, apiKey] }, 'auth_methods.1.name'],
      [{ ...keys, auth_methods: [] }, 'auth_methods'],
      [{ ...acme, ...client, auth_methods: [{ kind: 'oauth2', inject }] }, 'auth_methods.0.inject'],
      [{ provider_name: 'Keys', auth_methods: [apiKey] }, 'api_hosts'],
      [{ ...keys, auth_methods: [apiKey], client_id: 'x' }, 'client_id'],
      [{ ...keys, auth_methods: [apiKey], issuer_url: 'https://x.example' }, 'issuer_url'],
      [{ ...keys, auth_methods: [apiKey], scopes: ['a'] }, 'scopes'],
    ]
    for (const [given, field] of others) {
      const { status, body } = await create(given)
      assert.deepEqual([status, body.error?.field], [400, field])
    }
  })
})

test('a template names members and encodes; anything else is malformed', () => {
  const values: Record<string, string> = { user: 'ada', key: 'k' }
  const valueOf = (name: string) => values[name] ?? ''
  const shown = (text: string) => {
    const parts = parseTemplate(text)
    return parts && [render(parts, valueOf), renderRedacted(parts), membersIn(parts).join()]
  }
  assert.deepEqual(shown('Bearer {key}'), ['Bearer k', 'Bearer [REDACTED]', 'key'])
  assert.deepEqual(shown('Basic {base64({user}:{key})}'), ['Basic YWRhOms=', 'Basic [REDACTED]', 'user,key'])
  assert.deepEqual(shown('{base64(a)b{key})}!'), ['YSliaw==!', '[REDACTED]!', 'key'])
  assert.deepEqual(shown('none'), ['none', 'none', ''])
  for (const one of [
    '{',
    '}',
    '{}',
    '{Key}',
    '{a b}',
    '{base64()}',
    '{base64({key}',
    'a{key}}',
    'é{key}',
    '{base64({base64({key})})}',
  ]) {
    assert.equal(shown(one), undefined, one)
  }
})

test('a pattern is one set of characters and how many of them', () => {
  const allows = (pattern: string, text: string) => parsePattern(pattern)?.(text)
  assert.equal(allows('[a-z0-9-]{1,63}', 'acme-2'), true)
  assert.equal(allows('[a-z0-9-]{1,63}', ''), false)
  assert.equal(allows('[a-z0-9-]{1,63}', 'Acme'), false)
  assert.equal(allows('[a-z0-9-]{1,3}', 'acme'), false)
  assert.equal(allows('[-a]{1,9}', '-a'), true)
  for (const one of ['a+', '[^a]{1,2}', '[a-z]{2,1}', '[z-a]{1,2}', '[a]{1,9999}', '.*', '[]{1,2}']) {
    assert.equal(parsePattern(one), undefined, one)
  }
})
