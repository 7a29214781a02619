import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startAdmin, startProviderTest } from '../../testkit/providers.ts'

onBothDatabases('PATCH /v4/providers/{id}', (engine) => {
  const start = async (t: TestContext, body: object = { ...acme, ...client }) => {
    const { service, create, asAdmin } = await startAdmin(t, engine)
    const made = await create(body)
    const patch = (changes: object, id: string = made.provider_id) => asAdmin('PATCH', `/v4/providers/${id}`, changes)
    return { service, create, asAdmin, made, patch }
  }

  test('changes the name, the scopes and the API hosts, and leaves the rest as it was', async (t) => {
    const { service, asAdmin, made, patch } = await start(t)
    assert.deepEqual(made.api_hosts, ['login.acme.example'])
    const changes = { provider_name: 'Acme', scopes: ['read', 'write'], api_hosts: ['api.acme.example', '*.acme.dev'] }
    const { status, body } = await patch(changes)
    assert.equal(status, 200)
    assert.deepEqual(body, { ...made, ...changes, updated_at: body.updated_at })
    assert.ok(body.updated_at > made.updated_at)
    const [listed] = (await asAdmin('GET', '/v4/providers')).body.providers
    assert.deepEqual(listed, body)
    const [record] = await recorded(service, 'provider.updated')
    assert.deepEqual(record?.detail, {
      provider_id: made.provider_id,
      slug: 'acme-corp',
      before: { provider_name: 'Acme Corp', scopes: [], api_hosts: ['login.acme.example'] },
      after: changes,
    })
  })

  test('changes only the given members; a change without effect is 200 and not recorded', async (t) => {
    const { service, made, patch } = await start(t, { ...acme, ...client, scopes: ['read'] })
    const { body } = await patch({ api_hosts: ['api.acme.example'] })
    assert.deepEqual([body.provider_name, body.scopes, body.api_hosts], ['Acme Corp', ['read'], ['api.acme.example']])
    const again = await patch({ api_hosts: ['api.acme.example:443'], provider_name: 'Acme Corp' })
    assert.deepEqual([again.status, again.body.updated_at], [200, body.updated_at])
    const { body: cleared } = await patch({ scopes: [] })
    assert.deepEqual(cleared.scopes, [])
    const records = await recorded(service, 'provider.updated')
    assert.deepEqual(
      records.map(({ detail }) => detail.after),
      [{ api_hosts: ['api.acme.example'] }, { scopes: [] }],
    )
    assert.equal(made.slug, cleared.slug)
  })

  test('is for an admin only, and for an existing provider', async (t) => {
    const { service, made, patch, asAdmin } = await start(t)
    const path = `/v4/providers/${made.provider_id}`
    const changes = { body: { api_hosts: ['evil.example'] } }
    const { token: agent } = await service.registerAgent()
    const { token: user } = await service.logIn()
    assert.equal((await service.call('PATCH', path, changes)).status, 401)
    for (const token of [agent, user]) {
      assert.equal((await service.call('PATCH', path, { ...changes, token })).status, 403)
    }
    assert.equal((await patch(changes.body, 'prv_00000000000000000000000000')).body.error.code, 'not_found')
    await asAdmin('DELETE', path)
    assert.deepEqual([(await patch(changes.body)).status], [404])
    assert.deepEqual(await recorded(service, 'provider.updated'), [])
  })

  test('a disabled provider, or one without a client, can be edited and keeps its status', async (t) => {
    const { made, patch, asAdmin } = await start(t, acme)
    assert.equal((await patch({ provider_name: 'A' })).body.status, 'pending_credentials')
    await asAdmin('POST', `/v4/providers/${made.provider_id}/disable`)
    assert.equal((await patch({ provider_name: 'B' })).body.status, 'disabled')
  })

  test('invalid input is refused, naming the member, and changes nothing', async (t) => {
    const { service, patch } = await start(t)
    const cases: [object, string, string][] = [
      [{}, 'missing_field', 'api_hosts'],
      [{ if_updated_at: '2026-01-01T00:00:00.000Z' }, 'missing_field', 'api_hosts'],
      [{ slug: 'other' }, 'invalid_field', 'slug'],
      [{ token_url: 'https://evil.example/token' }, 'invalid_field', 'token_url'],
      [{ status: 'active' }, 'invalid_field', 'status'],
      [{ provider_name: '' }, 'invalid_field', 'provider_name'],
      [{ provider_name: 'a\u202eb' }, 'invalid_field', 'provider_name'],
      [{ provider_name: 'x'.repeat(101) }, 'invalid_field', 'provider_name'],
      [{ scopes: ['a b'] }, 'invalid_field', 'scopes.0'],
      [{ scopes: ['a', 'a'] }, 'invalid_field', 'scopes'],
      [{ if_updated_at: 'yesterday', scopes: [] }, 'invalid_field', 'if_updated_at'],
      [{ api_hosts: [] }, 'invalid_field', 'api_hosts'],
      [{ api_hosts: 'api.acme.example' }, 'invalid_field', 'api_hosts'],
      [{ api_hosts: Array.from({ length: 101 }, (_, n) => `a${n}.example`) }, 'invalid_field', 'api_hosts'],
      ...[
        '*',
        '*.com',
        '*.co.uk',
        '*.github.io',
        '*.example.',
        'https://api.acme.example',
        'api.acme.example/v1',
        'user@api.acme.example',
        'API.acme.example',
        'bücher.example',
        'аpple.example',
        'api.acme.example.',
        'api..acme.example',
        'api.acme.example:0',
        'api.acme.example:00443',
        'api.acme.example:99999',
        '127.1',
        '0x7f.1',
        '*.127.0.0.1',
        '[::1',
        'a b.example',
        '',
      ].map((host): [object, string, string] => [
        { api_hosts: ['api.acme.example', host] },
        'invalid_field',
        'api_hosts.1',
      ]),
    ]
    for (const [body, code, field] of cases) {
      const reply = await patch(body)
      assert.deepEqual(
        [reply.status, reply.body.error.code, reply.body.error.field],
        [400, code, field],
        `${JSON.stringify(body).slice(0, 100)} ${reply.text}`,
      )
    }
    assert.deepEqual(await recorded(service, 'provider.updated'), [])
  })

  test('what a provider keeps for life is refused, and says what to do instead', async (t) => {
    const { service, patch } = await start(t)
    const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}' }]
    const fixed = /cannot be changed, because connections depend on it\. Create another provider instead\.$/
    const cases: [object, string, RegExp][] = [
      [{ auth_methods: [{ kind: 'api_key', inject }] }, 'auth_methods', fixed],
      [{ provider_name: 'Acme', token_url: 'https://evil.example/token' }, 'token_url', fixed],
      [{ token_url: null }, 'token_url', fixed],
      [{ issuer_url: 'https://evil.example' }, 'issuer_url', fixed],
      [{ slug: 'other' }, 'slug', fixed],
      [{ injection: { in: 'header', name: 'x-key', prefix: '' } }, 'injection', fixed],
      [{ client_secret: 'a-secret-of-sixteen-or-more' }, 'client_secret', /PATCH \/v4\/providers\/\{id\}\/credentials/],
      [{ colour: 'red' }, 'colour', /is not a known member/],
    ]
    for (const [body, field, says] of cases) {
      const reply = await patch(body)
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, 'invalid_field', field])
      assert.match(reply.body.error.message, says)
    }
    assert.deepEqual(await recorded(service, 'provider.updated'), [])
  })

  test('an edit based on an older state does not restore a host that was removed', async (t) => {
    const hosts = ['api.acme.example', 'stolen.acme.example']
    const { made, patch, service } = await start(t, { ...acme, ...client, api_hosts: hosts })
    const read = { if_updated_at: made.updated_at }
    const removed = await patch({ ...read, api_hosts: ['api.acme.example'] })
    assert.equal(removed.status, 200)
    const stale = await patch({ ...read, api_hosts: [...hosts, 'files.acme.example'] })
    assert.deepEqual([stale.status, stale.body.error.code, stale.body.error.field], [409, 'conflict', 'if_updated_at'])
    // The clock stands still here: a change within the same millisecond counts too.
    assert.notEqual(removed.body.updated_at, made.updated_at)
    const fresh = { if_updated_at: removed.body.updated_at, api_hosts: ['api.acme.example', 'files.acme.example'] }
    assert.equal((await patch(fresh)).status, 200)
    assert.equal((await patch(fresh)).status, 409)
    assert.equal((await recorded(service, 'provider.updated')).length, 2)
  })

  test('of concurrent edits of the same state exactly one succeeds', async (t) => {
    const { made, patch, service } = await start(t)
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        patch({ if_updated_at: made.updated_at, api_hosts: [`api${number}.acme.example`] }),
      ),
    )
    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, ...Array.from({ length: 7 }, () => 409)])
    assert.equal((await recorded(service, 'provider.updated')).length, 1)
  })

  test('concurrent changes of different members and of credentials are all kept', async (t) => {
    const { made, patch, asAdmin } = await start(t)
    const credentials = { client_id: 'another-client', client_secret: 'a-secret-of-sixteen-or-more-2' }
    const replies = await Promise.all([
      patch({ provider_name: 'Acme' }),
      patch({ scopes: ['read'] }),
      patch({ api_hosts: ['api.acme.example'] }),
      asAdmin('PATCH', `/v4/providers/${made.provider_id}/credentials`, credentials),
    ])
    for (const reply of replies) assert.equal(reply.status, 200, reply.text)
    const [now] = (await asAdmin('GET', '/v4/providers')).body.providers
    assert.deepEqual(
      [now.provider_name, now.scopes, now.api_hosts, now.client_id],
      ['Acme', ['read'], ['api.acme.example'], 'another-client'],
    )
  })

  test('the hosts of a proposal can be edited, but only to public or listed addresses', async (t) => {
    const { oauth, propose, asAdmin } = await startProviderTest(t, engine)
    const { body: made } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    const patch = (api_hosts: string[]) => asAdmin('PATCH', `/v4/providers/${made.provider_id}`, { api_hosts })
    for (const host of ['api.acme.example:8443', '10.0.0.1', '127.0.0.1', '169.254.169.254', '[::1]', '[fd00::1]']) {
      const { status, body } = await patch([oauth.host, host])
      assert.deepEqual([status, body.error.code, body.error.field], [403, 'address_not_allowed', 'api_hosts.1'], host)
    }
    const { status, body } = await patch([oauth.host, 'api.acme.example', '*.acme.example'])
    assert.deepEqual([status, body.verified, body.source], [200, false, 'proposal'])
  })

  test('providers may share a host; the suggested one is the verified, older one', async (t) => {
    const { service, made, patch, create } = await start(t, { ...acme, ...client, api_hosts: ['api.acme.example'] })
    const second = await create({ ...acme, ...client, slug: 'acme-two', api_hosts: ['two.acme.example'] })
    assert.equal((await patch({ api_hosts: ['api.acme.example', '*.acme.example'] }, second.provider_id)).status, 200)
    const { token } = await service.registerAgent()
    const grant_id = 'grt_00000000000000000000000000'
    const ask = (url: string) => service.call('POST', '/v4/proxy', { token, body: { grant_id, method: 'GET', url } })
    const providerFor = async (url: string) => (await ask(url)).body.error.access_request?.provider
    assert.equal(await providerFor('https://api.acme.example/x'), made.slug)
    assert.equal(await providerFor('https://two.acme.example/x'), 'acme-two')
    assert.equal(await providerFor('https://acme.example/x'), undefined)
  })
})
