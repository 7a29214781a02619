import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startAdmin, startProviderTest } from '../../testkit/providers.ts'
import type { TestService } from '../../testkit/service.ts'
import type { Queries } from '../platform/database/database.ts'
import { createProviderStore } from './provider-store.ts'

onBothDatabases('a change of a provider', (engine) => {
  const start = (t: TestContext) => startAdmin(t, engine)

  test('credentials activate a provider that waits for them', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const waiting = await create(acme)
    const { status, body } = await asAdmin('PATCH', `/v4/providers/${waiting.provider_id}/credentials`, client)
    assert.deepEqual(
      [status, body.status, body.client_id, body.has_client_secret, body.registration_error],
      [200, 'active', 'our-client', true, null],
    )
    assert.equal(body.token_endpoint_auth_method, 'client_secret_basic')
    assert.notEqual(body.updated_at, waiting.updated_at)
    const events = await recorded(service, 'provider.')
    assert.deepEqual(events[1]?.detail, {
      provider_id: waiting.provider_id,
      slug: 'acme-corp',
      status: 'active',
      client_id: 'our-client',
    })
  })

  test('credentials with the same client id keep the secret; another client id does not', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client, token_endpoint_auth_method: 'client_secret_post' })
    const patch = async (body: object) => {
      const reply = await asAdmin('PATCH', `/v4/providers/${id}/credentials`, body)
      return [reply.status, reply.body.token_endpoint_auth_method ?? reply.body.error.field]
    }
    const sealed = async () => (await secretOf(service, id)) !== null
    assert.deepEqual(await patch({ client_id: 'our-client' }), [200, 'client_secret_post'])
    assert.ok(await sealed())
    const basic = { client_id: 'our-client', token_endpoint_auth_method: 'client_secret_basic' }
    assert.deepEqual(await patch(basic), [200, 'client_secret_basic'])
    assert.ok(await sealed())
    assert.deepEqual(await patch({ ...basic, client_id: 'another' }), [400, 'client_secret'])
    assert.deepEqual(await patch({ client_id: 'another', client_secret: 'short' }), [400, 'client_secret'])
    assert.deepEqual(await patch({ client_id: 'another' }), [200, 'none'])
    assert.ok(!(await sealed()))
    assert.deepEqual(await patch({ client_id: 'another', client_secret: 'x'.repeat(16) }), [200, 'client_secret_basic'])
    assert.deepEqual(await patch({ client_id: 'another', token_endpoint_auth_method: 'none' }), [200, 'none'])
    assert.ok(!(await sealed()))
    assert.deepEqual(await patch({ client_id: 'a', client_secrett: 'x' }), [400, 'client_secrett'])
    assert.deepEqual(await patch({}), [400, 'client_id'])
  })

  test('credentials do not enable what an admin disabled', async (t) => {
    const { create, asAdmin } = await start(t)
    const { provider_id: id } = await create(acme)
    await asAdmin('POST', `/v4/providers/${id}/disable`)
    const { body } = await asAdmin('PATCH', `/v4/providers/${id}/credentials`, client)
    assert.equal(body.status, 'disabled')
    assert.equal((await asAdmin('POST', `/v4/providers/${id}/enable`)).body.status, 'active')
  })

  test('a provider is disabled and enabled; repeating it is 200 and recorded once', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const { provider_id: waiting } = await create({ ...acme, slug: 'waiting' })
    const statusAfter = async (verb: string, which = id) => {
      const { status, body } = await asAdmin('POST', `/v4/providers/${which}/${verb}`)
      return [status, body.status]
    }
    assert.deepEqual(await statusAfter('disable'), [200, 'disabled'])
    assert.deepEqual(await statusAfter('disable'), [200, 'disabled'])
    assert.deepEqual(await statusAfter('enable'), [200, 'active'])
    assert.deepEqual(await statusAfter('enable'), [200, 'active'])
    assert.deepEqual(await statusAfter('enable', waiting), [200, 'pending_credentials'])
    assert.deepEqual(await statusAfter('disable', waiting), [200, 'disabled'])
    assert.deepEqual(await statusAfter('enable', waiting), [200, 'pending_credentials'])
    assert.deepEqual(
      (await recorded(service, 'provider.')).slice(2).map(({ event, detail }) => `${event} ${detail.slug}`),
      [
        'provider.disabled acme-corp',
        'provider.enabled acme-corp',
        'provider.disabled waiting',
        'provider.enabled waiting',
      ],
    )
  })

  test("a deleted provider's secret is deleted and its slug is free", async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const { status, body } = await asAdmin('DELETE', `/v4/providers/${id}`)
    assert.deepEqual([status, body.provider_id, body.slug, body.status], [200, id, 'acme-corp', 'disabled'])
    assert.equal(await secretOf(service, id), null)
    assert.deepEqual((await asAdmin('GET', '/v4/providers?status=all')).body.providers, [])
    const rest = [
      ['DELETE', ''],
      ['POST', '/disable'],
      ['POST', '/enable'],
      ['POST', '/rediscover'],
      ['PATCH', '/credentials'],
    ] as const
    for (const [method, path] of rest) {
      const reply = await asAdmin(method, `/v4/providers/${id}${path}`, method === 'PATCH' ? client : undefined)
      assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'], path)
    }
    await create({ ...acme, ...client })
    assert.equal((await recorded(service, 'provider.deleted')).length, 1)
  })

  test('a provider with connections cannot be deleted', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const { userId } = await service.logIn()
    await connect(service.database.queries, id, userId)
    const refused = await asAdmin('DELETE', `/v4/providers/${id}`)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    assert.equal((await asAdmin('GET', '/v4/providers')).body.providers[0].slug, 'acme-corp', 'it is as it was')
    assert.notEqual(await secretOf(service, id), null)
    await service.database.queries.updateTable('connections').set({ status: 'revoked' }).execute()
    assert.equal((await asAdmin('DELETE', `/v4/providers/${id}`)).status, 200)
  })

  test('a deletion that races a connection waits for it, and is then refused', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const { userId } = await service.logIn()
    const { database, vault } = service
    const providers = createProviderStore(vault)
    let deletion: ReturnType<typeof asAdmin> | undefined
    await database.transaction(async (tx) => {
      assert.ok(await providers.lock(database, tx, id))
      deletion ??= asAdmin('DELETE', `/v4/providers/${id}`)
      await connect(tx, id, userId)
    })
    assert.equal((await deletion)?.status, 409)
    await database.queries.updateTable('connections').set({ status: 'revoked' }).execute()
    assert.equal((await asAdmin('DELETE', `/v4/providers/${id}`)).status, 200)
    assert.equal(await providers.lock(database, database.queries, id), undefined, 'nothing can be built on it now')
  })

  test('concurrent credential changes never mix id and secret', async (t) => {
    const { service, create, asAdmin } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const secretFor = (number: number) => `the-secret-of-client-${number}`
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        asAdmin('PATCH', `/v4/providers/${id}/credentials`, {
          client_id: `client-${number}`,
          client_secret: secretFor(number),
        }),
      ),
    )
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
    const { database, vault } = service
    const providers = createProviderStore(vault)
    const { clientId } = (await providers.find(database.queries, id)) ?? assert.fail('it is gone')
    const secret = await providers.clientSecret(database.queries, id)
    assert.equal(secret?.reveal(), secretFor(Number(clientId?.replace('client-', ''))))
  })

  test('only an admin can refresh pinned metadata, and only from the same issuer', async (t) => {
    const service = await startProviderTest(t, engine)
    const { oauth, create, asAdmin } = service
    const { body: made } = await create({ provider_name: 'Local', issuer_url: oauth.issuer, ...client })
    const path = `/v4/providers/${made.provider_id}/rediscover`
    const token_endpoint = `${oauth.issuer}/moved`
    const lift = oauth.fault.change('/.well-known/openid-configuration', (body: object) => ({
      ...body,
      token_endpoint,
    }))
    assert.equal((await asAdmin('GET', '/v4/providers')).body.providers[0].token_url, `${oauth.issuer}/token`)
    const { status, body } = await asAdmin('POST', path)
    assert.deepEqual([status, body.token_url, body.client_id], [200, token_endpoint, 'our-client'])
    lift()
    oauth.fault.change('/.well-known/openid-configuration', (said: object) => ({
      ...said,
      issuer: 'https://a.example',
    }))
    const foreign = await asAdmin('POST', path)
    assert.deepEqual([foreign.status, foreign.body.error.code], [400, 'invalid_field'])
    assert.equal((await recorded(service, 'provider.rediscovered')).length, 1)
  })

  test("refreshing a preset applies this release's data, without a call", async (t) => {
    const { create, asAdmin } = await start(t)
    const token_url = 'https://github.com/where/it/was'
    const mine = { userinfo_endpoint: 'https://github.com/mine', api_hosts: ['api.github.com'] }
    const made = await create({ preset: 'github', token_url, ...mine, ...client })
    assert.equal(made.token_url, token_url)
    const { status, body } = await asAdmin('POST', `/v4/providers/${made.provider_id}/rediscover`)
    assert.deepEqual([status, body.token_url], [200, 'https://github.com/login/oauth/access_token'])
    const kept = ['issuer_url', 'userinfo_endpoint', 'api_hosts', 'client_id', 'has_client_secret'] as const
    for (const member of kept) assert.deepEqual(body[member], made[member], member)
  })

  test('a preset with another server is discovered there', async (t) => {
    const { oauth, create, asAdmin } = await startProviderTest(t, engine)
    const urls = { issuer_url: oauth.issuer, authorization_url: `${oauth.issuer}/auth` }
    const { body: made } = await create({ preset: 'gitlab', ...urls, token_url: `${oauth.issuer}/was`, ...client })
    const { status, body } = await asAdmin('POST', `/v4/providers/${made.provider_id}/rediscover`)
    assert.deepEqual([status, body.token_url], [200, `${oauth.issuer}/token`])
  })

  test('refreshing a proposal stays within its site', async (t) => {
    const { oauth, propose, asAdmin } = await startProviderTest(t, engine)
    const { body: made } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    oauth.fault.change('/.well-known/openid-configuration', (body: object) => ({
      ...body,
      token_endpoint: 'https://evil.example/token',
    }))
    const { status, body } = await asAdmin('POST', `/v4/providers/${made.provider_id}/rediscover`)
    assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', 'token_url'])
  })
})

async function secretOf({ database }: TestService, id: string): Promise<unknown> {
  const row = await database.queries
    .selectFrom('providers')
    .select('client_secret')
    .where('provider_id', '=', id)
    .executeTakeFirstOrThrow()
  return row.client_secret
}

async function connect(queries: Queries, providerId: string, userId: string): Promise<void> {
  const none = { access_token: null, access_token_key_id: null, refresh_token: null, refresh_token_key_id: null }
  await queries
    .insertInto('connections')
    .values({
      connection_id: 'con_00000000000000000000000000',
      user_id: userId,
      provider_id: providerId,
      auth_method: 'oauth2',
      status: 'active',
      account_id: null,
      account_label: null,
      scopes: '[]',
      ...none,
      expires_at: null,
      obtained_at: 0,
      is_refreshed: 0,
      version: 1,
      refresh_lease: null,
      refresh_lease_until: null,
      created_at: 0,
      last_used_at: null,
      revoked_at: null,
      remote_revocation: null,
      revoke_attempts: 0,
      revoke_after: null,
    })
    .execute()
}
