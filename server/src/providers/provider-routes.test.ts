import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startAdmin } from '../../testkit/providers.ts'

const publicMembers = [
  'provider_id',
  'provider_name',
  'slug',
  'issuer_url',
  'scopes',
  'api_hosts',
  'device_flow',
  'auth_methods',
  'docs',
  'env',
  'abilities',
  'verified',
  'status',
]

onBothDatabases('providers', (engine) => {
  const start = (t: TestContext) => startAdmin(t, engine)
  const slugs = (body: { providers: { slug: string }[] }) => body.providers.map(({ slug }) => slug)

  test('anyone can list active providers, in the public view', async (t) => {
    const { service, create, asAdmin } = await start(t)
    await create({ ...acme, ...client })
    await create({ ...acme, slug: 'waiting' })
    const off = await create({ ...acme, ...client, slug: 'off' })
    await asAdmin('POST', `/v4/providers/${off.provider_id}/disable`)
    const agent = await service.registerAgent()
    const user = await service.logIn()
    for (const token of [undefined, agent.token, user.token, 'nonsense']) {
      const { status, body } = await service.call('GET', '/v4/providers', { token })
      assert.deepEqual([status, slugs(body)], [200, ['acme-corp']])
      assert.deepEqual(Object.keys(body.providers[0]), publicMembers)
      assert.equal((await service.call('GET', '/v4/providers?status=active', { token })).status, 200)
      for (const other of ['all', 'disabled', 'pending_credentials']) {
        const refused = await service.call('GET', `/v4/providers?status=${other}`, { token })
        const isKnown = token === agent.token || token === user.token
        assert.equal(refused.body.error.code, isKnown ? 'forbidden' : 'unauthenticated')
      }
    }
  })

  test('an admin lists all providers in detail, by status, in pages', async (t) => {
    const { create, asAdmin } = await start(t)
    await create({ ...acme, ...client, slug: 'one' })
    await create({ ...acme, slug: 'two' })
    const three = await create({ ...acme, ...client, slug: 'three' })
    await asAdmin('POST', `/v4/providers/${three.provider_id}/disable`)
    const list = async (query: string) => (await asAdmin('GET', `/v4/providers${query}`)).body
    assert.deepEqual(slugs(await list('')), ['one'])
    assert.deepEqual(slugs(await list('?status=pending_credentials')), ['two'])
    assert.deepEqual(slugs(await list('?status=disabled')), ['three'])
    const first = await list('?status=all&limit=2')
    assert.deepEqual([slugs(first), first.providers[1].client_id], [['three', 'two'], null])
    const second = await list(`?status=all&limit=2&cursor=${first.next_cursor}`)
    assert.deepEqual([slugs(second), second.next_cursor], [['one'], null])
    assert.deepEqual(
      [second.providers[0].client_id, second.providers[0].has_client_secret, second.providers[0].client_secret],
      ['our-client', true, undefined],
    )
  })

  test('each route accepts only its own kinds of callers', async (t) => {
    const { service, create } = await start(t)
    const { provider_id: id } = await create({ ...acme, ...client })
    const agent = await service.registerAgent()
    const user = await service.logIn()
    const forAdmins: [string, string, object | undefined][] = [
      ['POST', '/v4/providers', { ...acme, slug: 'other' }],
      ['PATCH', `/v4/providers/${id}/credentials`, client],
      ['POST', `/v4/providers/${id}/disable`, undefined],
      ['POST', `/v4/providers/${id}/enable`, undefined],
      ['POST', `/v4/providers/${id}/rediscover`, undefined],
      ['DELETE', `/v4/providers/${id}`, undefined],
    ]
    const answer = async (call: (typeof forAdmins)[number], token: string | undefined) => {
      const [method, path, body] = call
      const reply = await service.call(method, path, { token, ...(body && { body }) })
      return `${reply.status} ${reply.body.error.code}`
    }
    for (const call of forAdmins) {
      assert.equal(await answer(call, undefined), '401 unauthenticated', call[1])
      assert.equal(await answer(call, 'sp_admin_nonsense'), '401 unauthenticated', call[1])
      assert.equal(await answer(call, agent.token), '403 forbidden', call[1])
      assert.equal(await answer(call, user.token), '403 forbidden', call[1])
    }
    const proposal: (typeof forAdmins)[number] = ['POST', '/v4/providers/proposals', { provider_name: 'x' }]
    assert.equal(await answer(proposal, undefined), '401 unauthenticated')
    assert.equal(await answer(proposal, user.token), '403 forbidden')
    assert.equal(await answer(proposal, service.adminToken), '403 forbidden')
    assert.equal((await recorded(service, 'provider.')).length, 1)
  })

  test('invalid input is refused, naming the member, and nothing is stored', async (t) => {
    const { service, asAdmin } = await start(t)
    const url = (name: string, value: string) => ({ ...acme, [name]: value })
    const cases: [object, string, string][] = [
      [{}, 'missing_field', 'provider_name'],
      [{ provider_name: 'Acme' }, 'missing_field', 'issuer_url'],
      [{ ...acme, slugg: 'a' }, 'invalid_field', 'slugg'],
      [{ ...acme, slug: 'A' }, 'invalid_field', 'slug'],
      [{ ...acme, slug: 'a'.repeat(41) }, 'invalid_field', 'slug'],
      [{ ...acme, client_secret: client.client_secret }, 'missing_field', 'client_id'],
      [{ ...acme, client_id: 'a', client_secret: 'x'.repeat(15) }, 'invalid_field', 'client_secret'],
      [{ ...acme, client_id: 'a', token_endpoint_auth_method: 'client_secret_post' }, 'missing_field', 'client_secret'],
      [{ ...acme, ...client, token_endpoint_auth_method: 'none' }, 'invalid_field', 'token_endpoint_auth_method'],
      [{ ...acme, token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_field', 'token_endpoint_auth_method'],
      [{ ...acme, api_hosts: [] }, 'invalid_field', 'api_hosts'],
      [{ ...acme, api_hosts: ['a.com', '*.com'] }, 'invalid_field', 'api_hosts.1'],
      [{ ...acme, authorization_params: { state: 'x' } }, 'invalid_field', 'authorization_params.state'],
      [{ ...acme, injection: { in: 'query', name: 'a', prefix: '' } }, 'invalid_field', 'injection.in'],
      [{ ...acme, injection: { in: 'header', name: 'Host', prefix: '' } }, 'invalid_field', 'injection.name'],
      [{ ...acme, injection: { in: 'header', name: 'a b', prefix: '' } }, 'invalid_field', 'injection.name'],
      [{ ...acme, injection: { in: 'header', name: 'a', prefix: 'x\r\n' } }, 'invalid_field', 'injection.prefix'],
      [{ ...acme, scopes: ['a', 'a'] }, 'invalid_field', 'scopes'],
      [url('token_url', 'http://login.acme.example/token'), 'invalid_url', 'token_url'],
      [url('token_url', 'https://u:p@login.acme.example/token'), 'invalid_url', 'token_url'],
      [url('authorization_url', 'https://login.acme.example/a?client_id=x'), 'invalid_url', 'authorization_url'],
      [url('device_authorization_endpoint', 'https://a.example/#x'), 'invalid_url', 'device_authorization_endpoint'],
      [url('userinfo_endpoint', 'me'), 'invalid_url', 'userinfo_endpoint'],
      [{ preset: 'github', ...client, discovery_url: 'https://github.com/x' }, 'invalid_field', 'discovery_url'],
    ]
    for (const [body, code, field] of cases) {
      const reply = await asAdmin('POST', '/v4/providers', body)
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, code, field], reply.text)
    }
    const preset = await asAdmin('POST', '/v4/providers', { preset: 'nowhere', ...client })
    assert.deepEqual([preset.status, preset.body.error.code, preset.body.error.field], [404, 'not_found', 'preset'])
    const metadata = await asAdmin('POST', '/v4/providers', url('token_url', 'https://169.254.169.254/token'))
    assert.deepEqual(
      [metadata.status, metadata.body.error.code, metadata.body.error.field],
      [403, 'address_not_allowed', 'token_url'],
    )
    assert.deepEqual((await asAdmin('GET', '/v4/providers?status=all')).body.providers, [])
    assert.deepEqual(await recorded(service, 'provider.'), [])
  })
})
