import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { client, startProviderTest } from '../../testkit/providers.ts'

onBothDatabases('a proposal', (engine) => {
  test('is activated when dynamic client registration succeeds', async (t) => {
    const service = await startProviderTest(t, engine)
    const { oauth, call, registerAgent, propose, config } = service
    const agent = await registerAgent()
    const proposal = { provider_name: 'Acme Notes', issuer_url: oauth.issuer, scopes: ['openid', 'read'] }
    const { status, body } = await propose(proposal, agent.token)
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(
      [body.status, body.slug, body.source, body.verified, body.proposed_by, body.registration_error],
      ['active', 'acme-notes', 'proposal', false, agent.agentId, null],
    )
    assert.deepEqual([body.api_hosts, body.scopes, body.device_flow], [[oauth.host], ['openid', 'read'], true])
    assert.equal(body.redirect_uri, `${config.baseUrl.origin}/v4/oauth/callback/acme-notes`)
    assert.deepEqual(
      oauth.calls.map(({ method, path }) => `${method} ${path}`),
      [`GET ${oauthPaths.discovery}`, `POST ${oauthPaths.registration}`],
    )
    const list = await call('GET', '/v4/providers')
    assert.deepEqual(
      list.body.providers.map(({ slug }: { slug: string }) => slug),
      ['acme-notes'],
    )
    const [event] = await recorded(service, 'provider.')
    assert.deepEqual(
      [event?.event, event?.agent_id, event?.detail],
      [
        'provider.proposed',
        agent.agentId,
        {
          provider_id: body.provider_id,
          slug: 'acme-notes',
          status: 'active',
          registration_error: null,
          issuer: oauth.issuer,
        },
      ],
    )
  })

  test('works from a discovery URL or complete metadata too', async (t) => {
    const { oauth, propose } = await startProviderTest(t, engine)
    const discovery_url = `${oauth.issuer}${oauthPaths.discovery}`
    const discovered = await propose({ provider_name: 'One', discovery_url })
    assert.deepEqual([discovered.status, discovered.body.status], [201, 'active'], discovered.text)
    const calls = oauth.calls.length
    const whole = await propose({
      provider_name: 'Two',
      authorization_url: `${oauth.issuer}/auth`,
      token_url: `${oauth.issuer}/token`,
      registration_endpoint: `${oauth.issuer}/reg`,
    })
    assert.deepEqual([whole.body.status, whole.body.issuer_url], ['active', oauth.issuer], whole.text)
    assert.equal(oauth.calls.length, calls + 1, 'nothing but the registration was asked for')
  })

  test('waits for credentials if there is no dynamic registration, until an admin adds them', async (t) => {
    const service = await startProviderTest(t, engine, { oauth: { registration: false } })
    const { oauth, call, propose, asAdmin } = service
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual(
      [status, body.status, body.registration_error, body.client_id],
      [201, 'pending_credentials', 'registration_unsupported', null],
    )
    assert.deepEqual((await call('GET', '/v4/providers')).body.providers, [])
    const patched = await asAdmin('PATCH', `/v4/providers/${body.provider_id}/credentials`, client)
    assert.deepEqual(
      [patched.status, patched.body.status, patched.body.registration_error, patched.body.verified],
      [200, 'active', null, false],
    )
    assert.equal((await call('GET', '/v4/providers')).body.providers.length, 1)
  })

  test('waits for review if configured, without registering a client', async (t) => {
    const settings = { SALLYPORT_PROPOSALS: 'review' }
    const { oauth, propose } = await startProviderTest(t, engine, { settings })
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual([status, body.status, body.registration_error], [201, 'pending_credentials', 'review'])
    assert.equal(body.token_url, `${oauth.issuer}/token`, 'what was discovered is pinned')
    assert.deepEqual(
      oauth.calls.map(({ path }) => path),
      [oauthPaths.discovery],
    )
  })

  test('is refused if proposals are turned off', async (t) => {
    const { oauth, propose } = await startProviderTest(t, engine, { settings: { SALLYPORT_PROPOSALS: 'off' } })
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual([status, body.error.code, oauth.calls], [403, 'forbidden', []])
  })

  test('is refused the second time, before any call', async (t) => {
    const { oauth, propose } = await startProviderTest(t, engine)
    await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    const calls = oauth.calls.length
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual([status, body.error.code, body.error.field], [409, 'slug_taken', 'slug'])
    assert.equal(oauth.calls.length, calls)
  })

  test('of several concurrent ones with the same slug, one wins', async (t) => {
    const service = await startProviderTest(t, engine)
    const { oauth, propose, registerAgent } = service
    const agents = await Promise.all(Array.from({ length: 4 }, () => registerAgent()))
    const hold = oauth.fault.hold(oauthPaths.registration)
    const all = agents.map(({ token }) => propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer }, token))
    const registrations = () => oauth.calls.filter(({ path }) => path === oauthPaths.registration).length
    while (registrations() < 4) await new Promise(setImmediate)
    hold.release()
    const replies = await Promise.all(all)
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409, 409])
    assert.equal((await recorded(service, 'provider.proposed')).length, 1)
  })

  test('of an agent that is disabled meanwhile is not stored', async (t) => {
    const { oauth, propose, registerAgent, asAdmin } = await startProviderTest(t, engine)
    const { agentId, token } = await registerAgent()
    const hold = oauth.fault.hold(oauthPaths.registration)
    const proposal = propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer }, token)
    await hold.arrived
    await asAdmin('POST', `/v4/agents/${agentId}/disable`)
    hold.release()
    const { status, body } = await proposal
    assert.deepEqual([status, body.error.code], [401, 'unauthenticated'])
    assert.deepEqual((await asAdmin('GET', '/v4/providers?status=all')).body.providers, [])
  })

  test('is limited to ten a day per agent', async (t) => {
    const { oauth, propose, registerAgent, clock } = await startProviderTest(t, engine, {
      settings: { SALLYPORT_PROPOSALS: 'review' },
    })
    const { token } = await registerAgent()
    const nth = (n: number, as = token) => propose({ provider_name: `Notes ${n}`, issuer_url: oauth.issuer }, as)
    for (let n = 0; n < 10; n++) assert.equal((await nth(n)).status, 201)
    const refused = await nth(10)
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
    assert.equal(refused.headers['retry-after'], '8640')
    assert.equal(oauth.calls.length, 10, 'the refused one asked nobody')
    assert.equal((await nth(11, (await registerAgent()).token)).status, 201, 'another agent has its own')
    clock.advance(8640)
    assert.equal((await nth(12)).status, 201)
  })

  test('is limited per day over all agents, and failed ones count', async (t) => {
    const settings = { SALLYPORT_PROPOSALS_PER_DAY_IN_ALL: '2' }
    const { oauth, propose } = await startProviderTest(t, engine, { settings })
    oauth.fault.answer(oauthPaths.discovery, { status: 500 }, 1)
    const failed = await propose({ provider_name: 'One', issuer_url: oauth.issuer })
    assert.deepEqual(
      [failed.status, failed.body.error.code, failed.body.error.field],
      [502, 'provider_unavailable', 'issuer_url'],
    )
    assert.equal((await propose({ provider_name: 'Two', issuer_url: oauth.issuer })).status, 201)
    assert.equal((await propose({ provider_name: 'Three', issuer_url: oauth.issuer })).status, 429)
  })

  test('that looks like a well-known provider by name or slug is refused', async (t) => {
    const { oauth, propose } = await startProviderTest(t, engine)
    const refused = async (body: object, field: string) => {
      const reply = await propose({ issuer_url: oauth.issuer, ...body })
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, 'invalid_field', field])
    }
    await refused({ provider_name: 'GitHub', slug: 'notes' }, 'provider_name')
    await refused({ provider_name: 'Gıthub', slug: 'notes' }, 'provider_name')
    await refused({ provider_name: 'Login with Google', slug: 'notes' }, 'provider_name')
    await refused({ provider_name: 'GitHub login' }, 'provider_name')
    await refused({ provider_name: 'Notes', slug: 'github' }, 'slug')
    await refused({ provider_name: 'Notes', slug: 'g1thub' }, 'slug')
    assert.deepEqual(oauth.calls, [])
  })

  test('that is invalid is refused, naming the member', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    const name = { provider_name: 'Notes' }
    const cases: [object, string, string][] = [
      [{}, 'missing_field', 'provider_name'],
      [{ ...name, issuer_url: oauth.issuer, slug: 'No Slug' }, 'invalid_field', 'slug'],
      [{ ...name, issuer_url: oauth.issuer, slug: '-a' }, 'invalid_field', 'slug'],
      [{ ...name, issuer_url: oauth.issuer, scopes: ['a b'] }, 'invalid_field', 'scopes.0'],
      [{ ...name, issuer_url: oauth.issuer, client_id: 'mine' }, 'invalid_field', 'client_id'],
      [{ ...name, issuer_url: oauth.issuer, api_hosts: ['evil.example'] }, 'invalid_field', 'api_hosts.0'],
      [{ ...name, issuer_url: 'http://a.example' }, 'invalid_url', 'issuer_url'],
      [{ ...name, issuer_url: 'not a url' }, 'invalid_url', 'issuer_url'],
      [{ ...name, issuer_url: 'https://user:pass@a.example/' }, 'invalid_url', 'issuer_url'],
      [{ ...name, discovery_url: 'https://a.example/#x' }, 'invalid_url', 'discovery_url'],
    ]
    for (const [body, code, field] of cases) {
      const reply = await propose(body)
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, code, field], reply.text)
    }
    assert.deepEqual(oauth.calls, [])
  })
})
