/** Client credentials where each tenant has a token endpoint of its own, as shops have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Answer } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startEntered } from '../../testkit/entered-credentials.ts'
import { startAdmin } from '../../testkit/providers.ts'
import type { Engine } from '../platform/database/database.ts'

const client = { client_id: 'app-of-ada-0001', client_secret: 'shpss_Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl' }
const shopMember = (port = '') => ({ name: 'shop', host: `{shop}.myshopify.com${port}` })
const method = (port = '') => ({
  kind: 'client_credentials',
  members: [shopMember(port)],
  inject: [{ in: 'header', name: 'x-shopify-access-token', template: '{token}' }],
  token_url: `https://{shop}.myshopify.com${port}/admin/oauth/access_token`,
})

/** Shops that issue tokens for an hour, each with its own, to the client above. */
async function startShops(t: TestContext, engine: Engine) {
  const issued = new Map<string, string>()
  let refusing = false
  const answer: Answer = (response, { method, path, headers, body }) => {
    const shop = (headers.host ?? '').split('.')[0] ?? ''
    const json = (status: number, content: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
    if (path === '/admin/oauth/access_token') {
      const form = new URLSearchParams(body)
      const isClient = form.get('client_id') === client.client_id && form.get('client_secret') === client.client_secret
      const isGood = method === 'POST' && form.get('grant_type') === 'client_credentials' && !headers.authorization
      if (!isGood || !isClient || refusing) return void json(400, { error: 'invalid_client' })
      const token = `shpat_${shop}_${issued.size}_Zm9vYmFyMTIzNDU2Nzg5MGFi`
      issued.set(token, shop)
      // Without a token_type, as Shopify answers.
      return void json(200, { access_token: token, scope: 'read_products,write_orders', expires_in: 3600 })
    }
    const token = String(headers['x-shopify-access-token'])
    const isOwn = issued.get(token) === shop && headers.authorization === undefined
    json(isOwn ? 200 : 401, { shop, echo: token })
  }
  const test = await startEntered(t, engine, {
    methods: (host) => [method(`:${host.split(':')[1] ?? ''}`)],
    apiHosts: (host) => [host.replace('localhost', '*.myshopify.com')],
    allowed: (host) => ['ada', 'eve'].map((shop) => host.replace('localhost', `${shop}.myshopify.com`)),
    lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
    answer,
  })
  const [, port = ''] = test.upstream.host.split(':')
  const at = (shop: string, path = '/admin/api/products.json') => `https://${shop}.myshopify.com:${port}${path}`
  const refuse = () => {
    refusing = true
  }
  return { ...test, issued, at, port, refuse }
}

onBothDatabases('client credentials of tenants', (engine) => {
  test('tokens are issued at the tenant’s own endpoint, and go to the tenant alone', async (t) => {
    const { connect, grantOn, issued, at, port, upstream, clock, log } = await startShops(t, engine)
    const { status, body, text } = await connect({ shop: 'ada', ...client })
    assert.equal(status, 201, text)
    assert.deepEqual(
      [body.account_label, body.api_host, body.scopes, body.renewable],
      [`ada.myshopify.com:${port}`, `ada.myshopify.com:${port}`, ['read_products', 'write_orders'], true],
    )
    const other = await connect({ shop: 'eve', ...client })
    assert.equal(other.status, 201, 'the same client in another shop is another account')
    assert.equal((await connect({ shop: 'ada', ...client })).status, 409)
    const { proxy } = await grantOn(body.connection_id, [`*.myshopify.com:${port}`])
    const called = await proxy({ url: at('ada') })
    assert.deepEqual(called.body.body, { shop: 'ada', echo: '[REDACTED]' })
    assert.equal((await proxy({ url: at('eve') })).body.error.code, 'host_not_allowed')
    clock.advance(3600)
    assert.equal((await proxy({ url: at('ada') })).body.status, 200)
    assert.deepEqual([...issued.values()].filter((shop) => shop === 'ada').length, 3, 'connected twice, renewed once')
    for (const path of ['/admin/oauth/access_token', '/admin/oauth/access_token/x', '/admin//oauth/%61ccess_token']) {
      const refused = await proxy({ method: 'POST', url: at('ada', path) })
      assert.equal(refused.body.error?.code, 'credential_endpoint', path)
    }
    const hosts = new Set(upstream.received.map(({ headers }) => headers.host))
    assert.deepEqual([...hosts].sort(), [`ada.myshopify.com:${port}`, `eve.myshopify.com:${port}`])
    for (const secret of [client.client_secret, ...issued.keys()]) assert.ok(!log.join('').includes(secret))
  })

  test('a shop that refuses the client, or an address that is not its own, stores nothing', async (t) => {
    const { connect, upstream, refuse, database, grantOn, at, clock } = await startShops(t, engine)
    const wrong = await connect({ shop: 'ada', ...client, client_secret: 'not-the-secret-of-the-app' })
    assert.deepEqual([wrong.status, wrong.body.error.code], [400, 'credential_refused'])
    const before = upstream.received.length
    for (const shop of ['a.b', 'ada/', 'ada:1', '', 'Ada', 'ada.myshopify.com@evil.example']) {
      assert.equal((await connect({ shop, ...client })).body.error.field, 'credential.shop', shop)
    }
    const inside = await connect({ shop: 'unlisted', ...client })
    assert.deepEqual([inside.status, inside.body.error.code], [403, 'address_not_allowed'])
    assert.equal(upstream.received.length, before)
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
    const { body } = await connect({ shop: 'ada', ...client })
    const { proxy } = await grantOn(body.connection_id, [body.api_host])
    refuse()
    clock.advance(3600)
    assert.equal((await proxy({ url: at('ada') })).body.error.code, 'connection_needs_reauth')
  })

  test('an endpoint elsewhere than at the tenant’s host is refused', async (t) => {
    const { asAdmin, create } = await startAdmin(t, engine)
    const shops = { provider_name: 'Shops', slug: 'shops', api_hosts: ['*.myshopify.com', 'api.acme.example'] }
    const made = await create({ ...shops, auth_methods: [method()] })
    assert.deepEqual(
      [made.auth_methods[0].token_url, made.token_url, made.auth_methods[0].checks],
      ['https://{shop}.myshopify.com/admin/oauth/access_token', null, 'account'],
    )
    const { token_url, inject, ...plain } = method()
    const [place] = inject
    const cases: [object, string][] = [
      [{ ...method(), token_url: 'https://api.acme.example/token' }, 'token_url'],
      [{ ...method(), token_url: 'https://{shop}.myshopify.com.evil.example/token' }, 'token_url'],
      [{ ...method(), token_url: 'https://{shop}.myshopify.com' }, 'token_url'],
      [{ ...method(), token_url: 'https://{shop}.myshopify.com/{client_secret}' }, 'token_url'],
      [{ ...method(), token_url: 'https://{shop}.myshopify.com/a/../b' }, 'token_url'],
      [{ ...method(), token_url: 'https://{shop}.myshopify.com/token?a=b' }, 'token_url'],
      [{ ...method(), token_url: 'http://{shop}.myshopify.com/token' }, 'token_url'],
      [{ ...method(), members: undefined }, 'token_url'],
      [{ kind: 'basic', members: [shopMember()], token_url }, 'token_url'],
      [{ ...plain }, 'members.0'],
      [{ ...plain, inject, members: undefined }, 'inject'],
      [{ ...method(), inject: [{ ...place, in: 'query' }] }, 'inject.0.in'],
      [{ ...method(), inject: [{ ...place, template: '{client_secret}' }] }, 'inject.0.template'],
      [{ ...method(), members: [shopMember(), { name: 'other' }] }, 'members.1'],
      [{ ...method(), members: [shopMember(), { name: 'client_secret', secret: false }] }, 'members'],
    ]
    for (const [auth_method, field] of cases) {
      const body = { ...shops, slug: 'others', token_url: 'https://api.acme.example/t', auth_methods: [auth_method] }
      const reply = await asAdmin('POST', '/v4/providers', body)
      assert.deepEqual(
        [reply.status, reply.body.error?.code],
        [400, 'invalid_field'],
        `${JSON.stringify(auth_method)} ${reply.text}`,
      )
      const named = reply.body.error.field as string
      // Without a member for the host the wildcard is what is refused.
      assert.ok(
        named === `auth_methods.0.${field}` || ['api_hosts.0', 'token_url'].includes(named),
        `${field} ${named}`,
      )
    }
  })
})
