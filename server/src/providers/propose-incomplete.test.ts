import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { client, startProviderTest } from '../../testkit/providers.ts'

const day = 86_400

onBothDatabases('a proposal without endpoints', (engine) => {
  test('needs only a name, and waits for an admin', async (t) => {
    const service = await startProviderTest(t, engine)
    const { propose, call, oauth, asAdmin, registerAgent } = service
    const agent = await registerAgent()
    const { status, body } = await propose({ provider_name: 'Acme Notes' }, agent.token)
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(
      [body.status, body.slug, body.registration_error, body.issuer_url, body.token_url, body.api_hosts, body.verified],
      ['pending_credentials', 'acme-notes', 'endpoints_missing', null, null, [], false],
    )
    assert.deepEqual(oauth.calls, [], 'nobody is asked')
    assert.deepEqual((await call('GET', '/v4/providers')).body.providers, [])
    const listed = await asAdmin('GET', '/v4/providers?status=pending_credentials')
    assert.deepEqual(listed.body.providers, [body])
    const asked = await call('POST', '/v4/access-requests', { token: agent.token, body: { provider: 'acme-notes' } })
    assert.deepEqual([asked.status, asked.body.error.field], [409, 'provider'])
    const [record] = await recorded(service, 'provider.proposed')
    assert.deepEqual([record?.agent_id, record?.detail.issuer], [agent.agentId, null])
  })

  test('keeps its other members, and gets a slug if the name gives none', async (t) => {
    const { propose } = await startProviderTest(t, engine)
    const some = await propose({ provider_name: 'Some', token_url: 'https://93.184.215.14/token', scopes: ['read'] })
    assert.deepEqual(
      [some.status, some.body.status, some.body.token_url, some.body.scopes],
      [201, 'pending_credentials', 'https://93.184.215.14/token', ['read']],
      some.text,
    )
    const foreign = await propose({ provider_name: '日本' })
    assert.equal(foreign.status, 201, foreign.text)
    assert.match(foreign.body.slug, /^provider-[0-9a-z]{8}$/)
  })

  test('can’t be activated, and is told what is missing, until an admin sets its endpoints', async (t) => {
    const service = await startProviderTest(t, engine, { oauth: { registration: false } })
    const { propose, asAdmin, oauth, call } = service
    const { body } = await propose({ provider_name: 'Acme Notes', scopes: ['read'] })
    const at = `/v4/providers/${body.provider_id}`
    const early = [
      await asAdmin('PATCH', `${at}/credentials`, client),
      await asAdmin('POST', `${at}/enable`),
      await asAdmin('POST', `${at}/rediscover`),
    ]
    for (const { status, body: told } of early) {
      assert.deepEqual([status, told.error.code, told.error.field], [409, 'conflict', 'token_url'])
      assert.match(told.error.message, /authorization_url.*token_url.*PATCH \/v4\/providers\/\{id\}\/endpoints/)
    }
    const wrong: [object, number, string | undefined][] = [
      [{}, 400, 'issuer_url'],
      [{ token_url: 'https://93.184.215.14/t' }, 400, 'authorization_url'],
      [{ issuer_url: 'http://93.184.215.14' }, 400, 'issuer_url'],
      [{ issuer_url: 'https://127.0.0.1' }, 403, 'issuer_url'],
      [{ authorization_url: 'https://a.example/a', token_url: 'https://b.example/t' }, 400, 'token_url'],
      [{ client_id: 'x' }, 400, 'client_id'],
    ]
    for (const [members, status, field] of wrong) {
      const reply = await asAdmin('PATCH', `${at}/endpoints`, members)
      assert.deepEqual([reply.status, reply.body.error?.field], [status, field], reply.text)
    }
    const set = await asAdmin('PATCH', `${at}/endpoints`, { issuer_url: oauth.issuer })
    assert.deepEqual(
      [set.status, set.body.status, set.body.issuer_url, set.body.api_hosts, set.body.registration_error],
      [200, 'pending_credentials', oauth.issuer, [oauth.host], 'registration_unsupported'],
      set.text,
    )
    assert.deepEqual([set.body.verified, set.body.scopes], [false, ['read']], 'an agent proposed it')
    const again = await asAdmin('PATCH', `${at}/endpoints`, { issuer_url: oauth.issuer })
    assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
    assert.equal((await asAdmin('PATCH', `${at}/credentials`, client)).body.status, 'active')
    assert.equal((await call('GET', '/v4/providers')).body.providers.length, 1)
    assert.equal((await recorded(service, 'provider.updated')).length, 1)
    assert.equal((await asAdmin('PATCH', '/v4/providers/prv_none/endpoints', {})).status, 404)
  })

  test("has the endpoints and hosts that the admin set, not the agent's", async (t) => {
    const { propose, asAdmin, oauth } = await startProviderTest(t, engine)
    const foreign = 'https://93.184.215.14'
    const whole = { authorization_url: `${oauth.issuer}/authorize`, token_url: `${oauth.issuer}/token` }
    const members: Record<string, string> = {
      authorization_url: `${foreign}/authorize`,
      token_url: `${foreign}/token`,
      registration_endpoint: `${foreign}/register`,
    }
    for (const [member, url] of Object.entries(members)) {
      for (const endpoints of [whole, { issuer_url: oauth.issuer }]) {
        const { body } = await propose({ provider_name: 'Acme Notes', [member]: url })
        assert.deepEqual([body.registration_error, body.api_hosts], ['endpoints_missing', []], member)
        const at = `/v4/providers/${body.provider_id}`
        const set = await asAdmin('PATCH', `${at}/endpoints`, endpoints)
        assert.deepEqual([set.status, set.body.api_hosts], [200, [oauth.host]], set.text)
        assert.doesNotMatch(set.text, /93\.184/, member)
        await asAdmin('DELETE', at)
      }
    }
  })

  test('becomes active with its endpoints if dynamic registration succeeds', async (t) => {
    const { propose, asAdmin, oauth } = await startProviderTest(t, engine)
    const { body } = await propose({ provider_name: 'Acme Notes' })
    const set = await asAdmin('PATCH', `/v4/providers/${body.provider_id}/endpoints`, {
      discovery_url: `${oauth.issuer}${oauthPaths.discovery}`,
    })
    assert.deepEqual([set.status, set.body.status, set.body.registration_error], [200, 'active', null], set.text)
    assert.equal(set.body.token_url, `${oauth.issuer}/token`)
  })

  test('does not reserve its slug: a proposal with endpoints replaces it', async (t) => {
    const service = await startProviderTest(t, engine)
    const { propose, asAdmin, oauth, registerAgent } = service
    const [squatter, other] = [await registerAgent(), await registerAgent()]
    const squat = async (name: string) => (await propose({ provider_name: name }, squatter.token)).body.provider_id
    const first = await squat('Acme Notes')
    const bare = await propose({ provider_name: 'Acme Notes' }, other.token)
    assert.deepEqual([bare.status, bare.body.error.code], [409, 'slug_taken'])
    const whole = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer }, other.token)
    assert.deepEqual([whole.status, whole.body.status, whole.body.slug], [201, 'active', 'acme-notes'], whole.text)
    assert.equal((await propose({ provider_name: 'Acme Notes' }, squatter.token)).body.error.code, 'slug_taken')

    const second = await squat('Delta')
    const created = await asAdmin('POST', '/v4/providers', { provider_name: 'Delta', issuer_url: oauth.issuer })
    assert.deepEqual([created.status, created.body.source], [201, 'admin'], created.text)
    const deleted = (await recorded(service, 'provider.deleted')).map(({ detail }) => detail.provider_id)
    assert.deepEqual(deleted, [first, second])

    const third = await squat('Omega')
    await asAdmin('POST', `/v4/providers/${third}/disable`)
    const refused = await propose({ provider_name: 'Omega', issuer_url: oauth.issuer }, other.token)
    assert.equal(refused.body.error?.code, 'slug_taken', 'an admin has decided about that one')
    const ids = (await asAdmin('GET', '/v4/providers?status=all')).body.providers as { slug: string }[]
    assert.deepEqual(ids.map(({ slug }) => slug).sort(), ['acme-notes', 'delta', 'omega'])
  })

  test('counts against the limits, needs a valid name, and is deleted after 30 days', async (t) => {
    const settings = { SALLYPORT_PROPOSALS_PER_DAY: '3' }
    const { propose, registerAgent, asAdmin, app, clock } = await startProviderTest(t, engine, { settings })
    const { token } = await registerAgent()
    const names: [string, string][] = [
      ['x'.repeat(101), 'provider_name'],
      ['', 'provider_name'],
      ['Acme\u202eevil', 'provider_name'],
      ['Acme\u0000', 'provider_name'],
      ['GitHub', 'provider_name'],
      ['G1tHub Login', 'provider_name'],
      ['Sandbox', 'slug'],
    ]
    for (const [provider_name, field] of names) {
      const { status, body } = await propose({ provider_name }, token)
      assert.deepEqual([status >= 400 && status < 500, body.error?.field], [true, field], provider_name)
    }
    for (const name of ['<script>alert(1)</script>', "'; drop table providers", 'Three']) {
      const { status, body } = await propose({ provider_name: name }, token)
      assert.deepEqual([status, body.provider_name], [201, name])
    }
    assert.equal((await propose({ provider_name: 'Four' }, token)).status, 429)
    const kept = async () => (await asAdmin('GET', '/v4/providers?status=all')).body.providers.length as number
    clock.advance(30 * day)
    await app.sweep()
    assert.equal(await kept(), 3)
    clock.advance(0.001)
    await app.sweep()
    assert.equal(await kept(), 0)
  })
})
