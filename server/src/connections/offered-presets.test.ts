/** Presets that need nothing from the operator: a user connects an account, and the provider is created with it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { client } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import type { Environment } from '../platform/config/settings.ts'
import type { Lookup } from '../platform/egress/resolver.ts'
import { addOffered, offeredProvider } from '../providers/offered-preset.ts'
import { presets } from '../providers/presets/catalogue.ts'
import { createProviderStore } from '../providers/provider-store.ts'
import { usedPresetStore as usedPresets } from '../providers/used-preset-store.ts'

const key = 'pplx-a-key-of-sixteen-or-more'

onBothDatabases('a preset that no admin has added', (engine) => {
  const start = async (t: TestContext, settings: Environment = {}, lookup?: Lookup) => {
    const service = await startService(t, engine, settings, undefined, lookup)
    const user = await service.logIn({ email: 'ada@example.com' })
    const connect = (slug: string, token = user.token, credential: object = { api_key: key }) =>
      service.call('POST', '/v4/connections', { token, body: { provider_slug: slug, credential } })
    const asAdmin = (method: string, path: string, body?: object) =>
      service.call(method, path, { token: service.adminToken, ...(body && { body }) })
    const isConnectable = async (id: string) => {
      const { body } = await service.call('GET', '/v4/providers/presets', { token: user.token })
      return body.presets.find(({ preset }: { preset: string }) => preset === id).connectable as boolean
    }
    const stored = () => service.database.queries.selectFrom('providers').selectAll().execute()
    return { ...service, user, connect, asAdmin, isConnectable, stored }
  }

  test('becomes a provider with the first account, once, and on record', async (t) => {
    const { connect, isConnectable, call, logIn, user, ...service } = await start(t)
    assert.equal(await isConnectable('perplexity'), true)
    const { status, body, text } = await connect('perplexity')
    assert.equal(status, 201, text)
    assert.deepEqual([body.provider, body.auth_method, body.verified], ['perplexity', 'api_key', true])
    assert.equal(await isConnectable('perplexity'), false)
    const grace = await logIn({ email: 'grace@example.com' })
    assert.equal((await connect('perplexity', grace.token)).body.provider_id, body.provider_id)
    const { providers } = (await call('GET', '/v4/providers')).body
    assert.deepEqual(
      providers.map(({ slug, verified, docs }: any) => [slug, verified, docs.length > 0]),
      [['perplexity', true, true]],
    )
    const records = await recorded(service, 'provider.')
    assert.deepEqual(
      records.map(({ event, user_id, detail }) => [event, user_id, detail['slug'], detail['by']]),
      [['provider.created', user.userId, 'perplexity', 'user']],
    )
  })

  test('becomes the provider that an admin would have created', async (t) => {
    const { asAdmin, config, database, vault, clock } = await start(t)
    const store = createProviderStore(vault)
    const connectable = presets.filter(({ authMethods }) => authMethods.some(({ kind }) => kind !== 'oauth2'))
    assert.ok(connectable.length > 40)
    for (const { id } of connectable) {
      const offered = await offeredProvider({ config, usedPresets }, database.queries, id, clock.now())
      assert.equal((await asAdmin('POST', '/v4/providers', { preset: id })).status, 201, id)
      const created = await store.findBySlug(database.queries, id)
      const { providerId } = created ?? offered
      assert.deepEqual({ ...offered, providerId }, { ...created, registrationError: null }, id)
    }
  })

  test('is created once by users who connect at the same time', async (t) => {
    const { connect, logIn, stored, user } = await start(t)
    const grace = await logIn({ email: 'grace@example.com' })
    const replies = await Promise.all([user.token, grace.token].map((token) => connect('perplexity', token)))
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201],
    )
    assert.equal((await stored()).length, 1)
  })

  test('is not created for a credential that is malformed or not checked, nor for an agent', async (t) => {
    const lookup: Lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    const { connect, stored, registerAgent, isConnectable } = await start(t, {}, lookup)
    const agent = await registerAgent()
    const refused = [
      await connect('perplexity', undefined, { api_key: 'short' }),
      await connect('perplexity', undefined, { password: key }),
      await connect('stripe'),
      await connect('perplexity', agent.token),
      await connect('nobody'),
      await connect('spotify'),
    ]
    assert.deepEqual(
      refused.map(({ status, body }) => [status, body.error.code]),
      [
        [400, 'invalid_field'],
        [400, 'invalid_field'],
        [403, 'address_not_allowed'],
        [403, 'forbidden'],
        [404, 'not_found'],
        [404, 'not_found'],
      ],
    )
    assert.equal(refused.at(-1)?.body.error.message, 'Spotify is not set up here. Ask an administrator to add it.')
    assert.deepEqual(await stored(), [])
    assert.deepEqual([await isConnectable('stripe'), await isConnectable('spotify')], [true, false])
  })

  test('is not offered if the setting is off', async (t) => {
    const { connect, isConnectable, stored } = await start(t, { SALLYPORT_USER_PRESETS: 'off' })
    assert.equal(await isConnectable('perplexity'), false)
    assert.deepEqual([(await connect('perplexity')).status, await stored()], [404, []])
  })

  test('does not come back once an admin has disabled or deleted it, under any slug', async (t) => {
    const { connect, asAdmin, call, isConnectable, stored, user } = await start(t)
    const { body } = await connect('perplexity')
    await asAdmin('POST', `/v4/providers/${body.provider_id}/disable`)
    const disabled = await connect('perplexity')
    assert.deepEqual([disabled.status, disabled.body.error.code], [409, 'conflict'])
    await call('DELETE', `/v4/connections/${body.connection_id}`, { token: user.token })
    const own = { provider_name: 'Ours', api_hosts: ['api.example.com'], auth_methods: [{ kind: 'basic' }] }
    const others = [
      await asAdmin('POST', '/v4/providers', { ...own, slug: 'brave-search' }),
      await asAdmin('POST', '/v4/providers', { preset: 'linear', slug: 'our-linear' }),
    ]
    assert.equal((await connect('linear')).status, 404, 'an admin has added it under another slug')
    for (const { provider_id: id } of [body, ...others.map((one) => one.body)]) {
      assert.equal((await asAdmin('DELETE', `/v4/providers/${id}`)).status, 200)
    }
    for (const slug of ['perplexity', 'brave-search', 'linear']) {
      assert.deepEqual([await isConnectable(slug), (await connect(slug)).status], [false, 404], slug)
    }
    assert.equal((await stored()).length, 3)
    assert.equal((await asAdmin('POST', '/v4/providers', { preset: 'perplexity' })).status, 201)
    assert.equal((await connect('perplexity')).status, 201)
  })

  test('does not come back if it was deleted while a user was connecting', async (t) => {
    const { connect, asAdmin, call, user, config, database, vault, clock } = await start(t)
    const providers = createProviderStore(vault)
    const audit = { append: () => Promise.reject(new Error('nothing to record')) }
    const offered = await offeredProvider({ config, usedPresets }, database.queries, 'perplexity', clock.now())
    const { body } = await connect('perplexity')
    await call('DELETE', `/v4/connections/${body.connection_id}`, { token: user.token })
    await asAdmin('DELETE', `/v4/providers/${body.provider_id}`)
    const by = { userId: user.userId, requestId: 'req_1' }
    const adding = database.transaction((tx) =>
      addOffered({ config, database, providers, usedPresets, audit }, tx, offered, by),
    )
    await assert.rejects(adding, { code: 'not_found' })
    assert.equal(await providers.findBySlug(database.queries, 'perplexity'), undefined)
  })

  test('offers OAuth only when an admin has registered a client', async (t) => {
    const { connect, asAdmin, call, user } = await start(t)
    const { body } = await connect('linear')
    const kinds = async () => {
      const [provider] = (await call('GET', '/v4/providers')).body.providers
      return provider.auth_methods.map(({ kind }: { kind: string }) => kind)
    }
    const consent = () =>
      call('POST', '/v4/oauth/connect/start', { token: user.token, body: { provider_slug: 'linear' } })
    assert.deepEqual([await kinds(), (await consent()).status], [['api_key'], 409])
    await asAdmin('PATCH', `/v4/providers/${body.provider_id}/credentials`, client)
    assert.deepEqual([await kinds(), (await consent()).status], [['oauth2', 'api_key'], 200])
  })
})
