import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { fixedClock } from '../../testkit/clock.ts'
import { migratedPostgres, onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { oauthPaths, startOAuthServer } from '../../testkit/oauth-server.ts'
import { reaching } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'
import type { Engine } from '../platform/database/database.ts'
import { mintToken } from '../platform/tokens.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'

const hour = 3600

async function start(t: Pick<TestContext, 'after'>, engine: Engine, { instances = 1 } = {}) {
  const oauth = await startOAuthServer(t)
  const settings = {
    ...reaching(oauth),
    SALLYPORT_DATA_DIR: temporaryFolder(t),
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0',
    SALLYPORT_PROXY_RATE_PER_AGENT: '0',
    ...(engine === 'postgres' && { DATABASE_URL: await migratedPostgres(t) }),
  }
  const clock = fixedClock()
  const services: TestService[] = []
  for (let one = 0; one < instances; one++) services.push(await startService(t, engine, settings, clock))
  const [service] = services as [TestService]
  const provider = {
    ...{ provider_name: 'Machines', slug: 'machines', api_hosts: [oauth.host], token_url: `${oauth.issuer}/token` },
    ...{ scopes: ['read'], auth_methods: [{ kind: 'client_credentials' }] },
  }
  const created = await service.call('POST', '/v4/providers', { token: service.adminToken, body: provider })
  assert.equal(created.status, 201, created.text)
  const user = await service.logIn({ email: 'ada@example.com' })
  const client = await oauth.addMachineClient()
  const asCredential = (one = client) => ({ client_id: one.clientId, client_secret: one.clientSecret })
  const connect = (credential: object = asCredential()) =>
    service.call('POST', '/v4/connections', { token: user.token, body: { provider_slug: 'machines', credential } })
  const grantOn = async (connectionId: string) => {
    const agent = await service.registerAgent()
    const terms = { agentId: agent.agentId, userId: user.userId, connectionId, allowedHosts: [oauth.host] }
    const { grantId } = await insertGrant(service, terms)
    const body = { grant_id: grantId, method: 'GET', url: `${oauth.issuer}/api/whoami` }
    return (through: TestService = service) => through.call('POST', '/v4/proxy', { token: agent.token, body })
  }
  const mints = () => oauth.calls.filter(({ grantType }) => grantType === 'client_credentials').length
  return { oauth, services, service, clock, user, client, asCredential, connect, grantOn, mints }
}

onBothDatabases('client credentials', (engine) => {
  test('a token is issued for them, kept, and renewed when it has expired', async (t) => {
    const { oauth, connect, grantOn, mints, clock, client, service, user } = await start(t, engine)
    const { status, body, text } = await connect()
    assert.equal(status, 201, text)
    assert.deepEqual(
      [body.auth_method, body.account_label, body.scopes, body.renewable, body.status],
      [...['client_credentials', client.clientId, ['read'], true, 'active']],
    )
    const proxy = await grantOn(body.connection_id)
    for (let calls = 0; calls < 2; calls++) {
      assert.deepEqual((await proxy()).body.body, { client_id: client.clientId, scope: 'read' })
    }
    assert.equal(mints(), 1)
    clock.advance(hour)
    assert.equal((await proxy()).body.status, 200)
    assert.equal(mints(), 2)
    const check = await service.call('POST', `/v4/connections/${body.connection_id}/check`, { token: user.token })
    assert.equal(check.body.status, 'active')
    const file = await stored(service)
    for (const secret of oauth.secrets) assert.ok(!file.includes(secret) && !service.log.join('').includes(secret))
    assert.deepEqual(
      (await recorded(service, 'connection.')).map(({ event }) => event),
      [...['connection.created', 'connection.refreshed']],
    )
  })

  test('refused ones are not stored; an endpoint that fails is 502', async (t) => {
    const { oauth, connect, service, client } = await start(t, engine)
    const wrong = await connect({ client_id: client.clientId, client_secret: 'not-the-secret-of-it' })
    assert.deepEqual(
      [wrong.status, wrong.body.error.code, wrong.body.error.upstream_status],
      [400, 'credential_refused', 401],
    )
    oauth.fault.answer(oauthPaths.token, { status: 500 }, 1)
    assert.deepEqual([(await connect()).status], [502])
    oauth.fault.answer(oauthPaths.token, 'lost', 1)
    assert.deepEqual([(await connect()).status], [502])
    assert.equal((await connect({ client_id: 'x' })).body.error.field, 'credential.client_secret')
    assert.deepEqual(await service.database.queries.selectFrom('connections').selectAll().execute(), [])
  })

  test('50 concurrent calls on an expired token, on two instances: one is issued', async (t) => {
    const { services, connect, grantOn, mints, clock } = await start(t, engine, { instances: 2 })
    const { body } = await connect()
    const proxy = await grantOn(body.connection_id)
    clock.advance(hour)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => proxy(services[index % 2])))
    assert.deepEqual(new Set(answers.map((one) => one.body.status)), new Set([200]))
    assert.equal(mints(), 2)
  })

  test('a secret that is no longer accepted makes the connection need another', async (t) => {
    const { oauth, connect, grantOn, clock, client, service, user, asCredential } = await start(t, engine)
    const { body } = await connect()
    const proxy = await grantOn(body.connection_id)
    assert.equal((await proxy()).body.status, 200)
    const changed = await oauth.changeSecret(client)
    clock.advance(hour)
    assert.equal((await proxy()).body.error.code, 'connection_needs_reauth')
    const replace = (credential: object) =>
      service.call('PUT', `/v4/connections/${body.connection_id}/credential`, {
        token: user.token,
        body: { credential },
      })
    const other = await replace(asCredential(await oauth.addMachineClient()))
    assert.deepEqual([other.status, other.body.error.code], [409, 'conflict'])
    assert.equal((await replace(asCredential(changed))).body.status, 'active')
    assert.equal((await proxy()).body.status, 200, 'the same client: its grants stay')
  })

  test('an interrupted issue is tried again, and the connection is not reported healthy until then', async (t) => {
    const { connect, service, user, clock, mints } = await start(t, engine)
    const { body } = await connect()
    const until = clock.now().getTime() - 1
    await service.database.queries
      .updateTable('connections')
      .set({ refresh_lease: 'x', refresh_lease_until: until })
      .execute()
    const shown = async () =>
      (await service.call('GET', '/v4/connections', { token: user.token })).body.connections[0].status
    assert.equal(await shown(), 'needs_reauth')
    await service.app.catchUp()
    assert.equal(await shown(), 'active')
    assert.equal(mints(), 2)
    assert.ok(body.connection_id)
  })

  test('a provider for them needs a token_url, and nothing else of OAuth', async (t) => {
    const { service, oauth } = await start(t, engine)
    const given = { provider_name: 'Other', api_hosts: [oauth.host], auth_methods: [{ kind: 'client_credentials' }] }
    const create = (more: object) =>
      service.call('POST', '/v4/providers', { token: service.adminToken, body: { ...given, ...more } })
    const url = { token_url: `${oauth.issuer}/token` }
    for (const [more, field] of [
      [{}, 'token_url'],
      [{ token_url: 'http://localhost/token' }, 'token_url'],
      [{ ...url, client_id: 'x' }, 'client_id'],
      [{ ...url, token_endpoint_auth_method: 'none' }, 'token_endpoint_auth_method'],
      [
        { ...url, auth_methods: [{ kind: 'client_credentials', check: { url: `${oauth.issuer}/me` } }] },
        'auth_methods.0.check',
      ],
      [
        { ...url, auth_methods: [{ kind: 'client_credentials', members: [{ name: 'x' }] }] },
        'auth_methods.0.members.0',
      ],
      [
        {
          ...url,
          auth_methods: [
            { kind: 'client_credentials', inject: [{ in: 'header', name: 'x', template: '{client_secret}' }] },
          ],
        },
        'auth_methods.0.inject',
      ],
    ] as const) {
      const { status, body } = await create(more)
      assert.deepEqual([status, body.error?.field], [400, field])
    }
    assert.equal((await create({ ...url, token_endpoint_auth_method: 'client_secret_post' })).status, 201)
  })
})
