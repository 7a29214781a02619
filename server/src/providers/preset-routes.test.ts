import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Preset as PresetView } from '@sallyport/protocol/providers'
import { startService } from '../../testkit/service.ts'
import { client } from '../../testkit/providers.ts'
import { findPreset, presets } from './presets/catalogue.ts'

test('an admin sees every preset, and can create a provider from each, with a client for OAuth', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token: agent } = await service.registerAgent()
  assert.equal((await service.call('GET', '/v4/providers/presets')).status, 401)
  assert.equal((await service.call('GET', '/v4/providers/presets', { token: agent })).status, 403)
  const { status, body } = await service.call('GET', '/v4/providers/presets', { token: service.adminToken })
  assert.equal(status, 200)
  const listed = body.presets as PresetView[]
  assert.deepEqual(
    listed.map(({ preset }) => preset),
    presets.map(({ id }) => id),
  )
  for (const { preset, redirect_uri, scopes, api_hosts, auth_methods, needs_client } of listed) {
    const body = { preset, ...(findPreset(preset)?.oauth && client) }
    const made = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
    assert.equal(made.status, 201, made.text)
    const { slug, status, verified } = made.body as Record<string, unknown>
    assert.deepEqual([slug, status, verified], [preset, 'active', true])
    assert.deepEqual([made.body.redirect_uri, made.body.scopes, made.body.api_hosts], [redirect_uri, scopes, api_hosts])
    const methods = made.body.auth_methods as PresetView['auth_methods']
    assert.deepEqual(
      methods.map(({ kind, name, label, help, members, checks }) => ({ kind, name, label, help, members, checks })),
      auth_methods,
    )
    assert.equal(
      needs_client,
      methods.every(({ kind }) => kind === 'oauth2'),
    )
  }
})

test('they are compressed for those who accept it, and no other list is', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token } = await service.logIn()
  const get = (path: string, encoding: string) =>
    service.app.http.inject({
      url: path,
      headers: { host: service.config.baseUrl.host, authorization: `Bearer ${token}`, 'accept-encoding': encoding },
    })
  const plain = await get('/v4/providers/presets', 'identity')
  const compressed = await get('/v4/providers/presets', 'br, gzip')
  assert.deepEqual(
    [plain, compressed].map(({ statusCode, headers }) => [statusCode, headers['content-encoding'], headers['vary']]),
    [
      [200, undefined, 'accept-encoding'],
      [200, 'gzip', 'accept-encoding'],
    ],
  )
  assert.equal(gunzipSync(compressed.rawPayload).toString(), plain.payload)
  assert.ok(compressed.rawPayload.length < plain.payload.length / 4)
  assert.equal(
    (await get('/v4/providers/presets?query=zendesk&limit=1', 'gzip;q=0')).headers['content-encoding'],
    undefined,
  )
  // Anyone can put words into these, and their length would tell what is beside them.
  for (const path of [
    '/v4/audit?limit=200',
    '/v4/grants',
    '/v4/connections',
    '/v4/providers',
    '/v4/access-requests/pending',
  ]) {
    const { statusCode, headers } = await get(path, 'br, gzip')
    assert.deepEqual([statusCode, headers['content-encoding']], [200, undefined], path)
  }
})

test('a user sees what a form needs, and nothing of where a credential goes', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token } = await service.logIn()
  const { body } = await service.call('GET', '/v4/providers/presets?query=zendesk', { token })
  const [{ auth_methods: methods, docs, needs_client, connectable }] = body.presets
  assert.deepEqual([methods.length, needs_client, connectable, docs.length > 0], [1, false, true, true])
  assert.deepEqual(Object.keys(methods[0]).sort(), ['checks', 'help', 'kind', 'label', 'members', 'name'])
  assert.deepEqual(
    methods[0].members.map(({ name, secret, host }: any) => [name, secret, host]),
    [
      ['subdomain', false, '{subdomain}.zendesk.com'],
      ['email', false, null],
      ['api_token', true, null],
    ],
  )
  assert.ok(methods[0].help.length > 20)
})

test('presets are searched by words of their names and hosts, in pages', async (t) => {
  const service = await startService(t, 'sqlite')
  const list = async (query: string) => {
    const path = `/v4/providers/presets?${query}`
    const { status, body } = await service.call('GET', path, { token: service.adminToken })
    return { status, body, ids: (body.presets ?? []).map(({ preset }: { preset: string }) => preset) as string[] }
  }
  assert.deepEqual((await list('query=STRIPE')).ids, ['stripe'])
  assert.deepEqual((await list('query=api.github.com')).ids, ['github'])
  assert.deepEqual((await list('query=brave%20search')).ids, ['brave-search'])
  assert.deepEqual((await list('query=no%20such%20thing')).ids, [])
  const pages: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body, ids } = await list(`limit=20${cursor && `&cursor=${cursor}`}`)
    assert.ok(ids.length <= 20)
    pages.push(...ids)
    cursor = body.next_cursor
  }
  assert.deepEqual(
    pages,
    presets.map(({ id }) => id),
  )
  const wrong = await list('cursor=nobody')
  assert.deepEqual([wrong.status, wrong.body.error.code, wrong.body.error.field], [400, 'invalid_field', 'cursor'])
})
