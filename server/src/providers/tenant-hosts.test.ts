/** Wildcards over domains whose subdomains belong to strangers: one credential reaches one of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startEntered } from '../../testkit/entered-credentials.ts'
import type { Answer } from '../../testkit/calling.ts'
import { acme, client, startAdmin } from '../../testkit/providers.ts'
import { ServiceError } from '../platform/errors.ts'
import { assertTenantsAreNamed, readProviderHosts } from './tenant-hosts.ts'

const inject = [{ in: 'header', name: 'x-access-token', template: '{api_key}' }]
const shops = (suffix = 'myshopify.com') => ({
  ...{ kind: 'api_key', inject },
  members: [{ name: 'shop', host: `{shop}.${suffix}` }, { name: 'api_key' }],
})
const adasToken = 'shpat_Ada4Zm9vYmFyMTIzNDU2Nzg5MGFi'
const shared = ['myshopify.com', 'supabase.co', 'github.io', 's3.amazonaws.com', 'googleapis.com']
const notShared = ['com', 'co.uk', 'kawasaki.jp', 'elb.amazonaws.com', 'localhost', '10.0.0.1', 'myshopify.com.']

test('only a domain of the private section whose subdomains have owners may be covered, and with a member for it', () => {
  const isRefused = (error: unknown) => error instanceof ServiceError && error.field === 'api_hosts.0'
  for (const name of shared) {
    const hosts = readProviderHosts([`*.${name}`])
    const named = [{ members: [{ name: 'shop', host: `{shop}.${name}` }] }]
    assertTenantsAreNamed(hosts, named)
    for (const methods of [
      [],
      [{}],
      [{ members: [{ name: 'shop', host: null }] }],
      [...named, {}],
      [{ members: [{ name: 'shop', host: `{shop}.other.example` }] }],
    ])
      assert.throws(() => {
        assertTenantsAreNamed(hosts, methods)
      }, isRefused)
  }
  for (const name of notShared) assert.throws(() => readProviderHosts([`*.${name}`]), isRefused, name)
  assertTenantsAreNamed(['*.acme.example', 'shop.myshopify.com', 'github.io'], [{}])
})

onBothDatabases('hosts of tenants who are strangers', (engine) => {
  test('a wildcard over them needs a member for the host in every way of authentication', async (t) => {
    const { asAdmin, create } = await startAdmin(t, engine)
    const hosts = ['*.myshopify.com', 'login.acme.example']
    const shop = { provider_name: 'Shops', slug: 'shops', api_hosts: hosts }
    const refusals = [
      { ...acme, ...client, api_hosts: hosts },
      { ...acme, ...client, api_hosts: hosts, auth_methods: [{ kind: 'oauth2' }, shops()] },
      { ...shop, auth_methods: [{ kind: 'api_key', inject }] },
      { ...shop, auth_methods: [shops(), { kind: 'basic' }] },
      { ...shop, auth_methods: [{ kind: 'client_credentials' }], token_url: 'https://login.acme.example/token' },
      { ...shop, api_hosts: ['*.com'], auth_methods: [shops('com')] },
      { ...shop, api_hosts: ['*.co.uk'], auth_methods: [shops('co.uk')] },
      { preset: 'shopify', slug: 'other', auth_methods: [{ kind: 'api_key', inject }] },
      { preset: 'supabase', slug: 'other', auth_methods: [{ kind: 'basic' }] },
    ]
    for (const body of refusals) {
      const { status, body: answer } = await asAdmin('POST', '/v4/providers', body)
      assert.deepEqual([status, answer.error?.code], [400, 'invalid_field'], JSON.stringify(body))
      assert.match(answer.error.field, /^api_hosts\.\d$/, JSON.stringify(body))
    }
    const made = await create({ ...shop, auth_methods: [shops()] })
    assert.deepEqual(made.api_hosts, hosts)
    const patch = (id: string, api_hosts: string[]) => asAdmin('PATCH', `/v4/providers/${id}`, { api_hosts })
    assert.equal((await patch(made.provider_id, ['*.myshopify.com'])).status, 200)
    const withOAuth = await create({ ...acme, ...client })
    const keys = await create({
      ...shop,
      slug: 'keys',
      api_hosts: ['api.acme.example'],
      auth_methods: [{ kind: 'basic' }],
    })
    for (const [id, host] of [
      [withOAuth.provider_id, '*.myshopify.com'],
      [withOAuth.provider_id, '*.myshopify.com:8443'],
      [keys.provider_id, '*.supabase.co'],
      // Its accounts are at another domain, so nobody could use it.
      [made.provider_id, '*.supabase.co'],
      [made.provider_id, '*.com'],
    ] as const) {
      const { status, body } = await patch(id, ['login.acme.example', host])
      assert.deepEqual([status, body.error.field], [400, 'api_hosts.1'], host)
    }
  })

  test('an account’s credential goes to its own host alone, whatever a caller or redirect says', async (t) => {
    let location = ''
    const answer: Answer = (response, { headers }) => {
      if (location !== '') response.writeHead(302, { location }).end()
      else response.setHeader('content-type', 'application/json').end(JSON.stringify({ at: headers.host }))
    }
    const { connect, grantOn, upstream, call, user } = await startEntered(t, engine, {
      methods: (host) => [shops(host.replace('localhost', 'myshopify.com'))],
      apiHosts: (host) => [host.replace('localhost', '*.myshopify.com')],
      allowed: (host) => ['ada', 'eve', 'ada.eve'].map((shop) => host.replace('localhost', `${shop}.myshopify.com`)),
      lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
      answer,
    })
    const [, port = ''] = upstream.host.split(':')
    const at = (shop: string) => `https://${shop}.myshopify.com:${port}/admin`
    const odd = [
      'a.b',
      'a/',
      'a:443',
      'xn--',
      '',
      ' ',
      'Ada',
      '*',
      'a@b',
      'a#',
      'a?',
      'ａda',
      '-ada',
      'ada-',
      'x'.repeat(64),
    ]
    for (const shop of odd) {
      const { status, body } = await connect({ shop, api_key: adasToken })
      assert.deepEqual([status, body.error?.code, body.error?.field], [400, 'invalid_field', 'credential.shop'], shop)
    }
    const { status, body } = await connect({ shop: 'ada', api_key: adasToken })
    assert.deepEqual([status, body.api_host], [201, `ada.myshopify.com:${port}`], JSON.stringify(body))
    const listed = await call('GET', '/v4/connections', { token: user.token })
    assert.equal(listed.body.connections[0].api_host, `ada.myshopify.com:${port}`)
    // As if a grant had been given for all of them.
    const { proxy } = await grantOn(body.connection_id, [`*.myshopify.com:${port}`])
    assert.deepEqual((await proxy({ url: at('ada') })).body.body, { at: `ada.myshopify.com:${port}` })
    assert.equal(upstream.received[0]?.headers['x-access-token'], adasToken)
    for (const url of [
      at('eve'),
      at('ada.eve'),
      at('eve.ada'),
      `https://eve.myshopify.com:${port}/`,
      `https://ada.myshopify.com@eve.myshopify.com:${port}/`,
    ]) {
      const { body: refused } = await proxy({ url, headers: { host: `ada.myshopify.com:${port}` } })
      assert.ok(
        ['host_not_allowed', 'invalid_field', 'invalid_url'].includes(refused.error?.code),
        JSON.stringify(refused),
      )
    }
    assert.equal(upstream.received.length, 1)
    location = at('eve')
    const hop = await proxy({ url: at('ada'), follow_redirects: true })
    assert.deepEqual([hop.body.status, upstream.received.length], [302, 2])
    assert.ok(upstream.received.every(({ headers }) => headers.host === `ada.myshopify.com:${port}`))
  })

  test('a grant names the host of the account, and a request cannot ask for all of them', async (t) => {
    const { asAdmin, create, service } = await startAdmin(t, engine)
    await create({ provider_name: 'Shops', slug: 'shops', api_hosts: ['*.myshopify.com'], auth_methods: [shops()] })
    const user = await service.logIn({ email: 'ada@example.com' })
    const connected = await service.call('POST', '/v4/connections', {
      ...{ token: user.token, body: { provider_slug: 'shops', credential: { shop: 'ada', api_key: adasToken } } },
    })
    assert.equal(connected.status, 201, connected.text)
    const { connection_id } = connected.body
    const agent = await service.registerAgent()
    const ask = (hosts?: string[]) =>
      service.call('POST', '/v4/access-requests', { token: agent.token, body: { provider: 'shops', hosts } })
    for (const hosts of [['*.myshopify.com'], ['*.ada.myshopify.com', '*.com'], ['ada.myshopify.com.']]) {
      const { status, body } = await ask(hosts)
      assert.deepEqual([status, body.error?.code], [400, 'invalid_field'], hosts.join())
    }
    const decide = async (hosts: string[] | undefined, allowed_hosts?: string[]) => {
      const { access_request_id } = (await ask(hosts)).body
      const decision = { connection_id, ...(allowed_hosts && { allowed_hosts }) }
      const path = `/v4/access-requests/${access_request_id}/approve`
      const { body } = await service.call('POST', path, { token: user.token, body: decision })
      return body.error?.code ?? body.allowed_hosts ?? body.grant?.allowed_hosts
    }
    assert.deepEqual(await decide(undefined), ['ada.myshopify.com'])
    assert.deepEqual(await decide(['ada.myshopify.com', 'eve.myshopify.com']), ['ada.myshopify.com'])
    assert.deepEqual(await decide(undefined, ['ada.myshopify.com']), ['ada.myshopify.com'])
    assert.equal(await decide(['eve.myshopify.com']), 'missing_field')
    assert.equal(await decide(undefined, ['eve.myshopify.com']), 'invalid_field')
    assert.equal(await decide(undefined, ['*.myshopify.com']), 'invalid_field')
    assert.equal((await asAdmin('GET', '/v4/providers')).body.providers[0].api_hosts[0], '*.myshopify.com')
  })
})
