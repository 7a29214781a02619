import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Receipt } from '@sallyport/protocol/grants'
import { recorded } from '../../testkit/audit.ts'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { startInstances } from '../../testkit/instances.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

const statuses = ['active', 'revoked', 'expired'] as const

interface Listed {
  grant_id: string
  status: string
}

async function listed({ call }: TestService, token: string, query = ''): Promise<Listed[]> {
  const { status, body } = await call('GET', `/v4/grants${query}`, { token })
  assert.equal(status, 200)
  return (body as { grants: Listed[] }).grants
}

function idsOf(grants: Listed[]): string[] {
  return grants.map(({ grant_id }) => grant_id).sort()
}

onBothDatabases('grants over HTTP', (engine) => {
  test('an agent sees its own grants, a user those they approved', async (t) => {
    const service = await startConnectionTest(t, engine)
    const connectionId = await service.connect()
    const sandbox = await agentInSandbox(service)
    const { agentId, token } = sandbox
    const stranger = await service.registerAgent()
    const other = await service.logIn({ email: 'eve@example.com' })
    const { grantId } = await insertGrant(service, {
      agentId,
      userId: service.user.userId,
      connectionId,
      allowedMethods: ['GET'],
      allowedPaths: ['/v1'],
      maxCalls: 7,
      expiresAt: new Date('2026-11-16T12:00:00.000Z'),
    })
    const expected = {
      grant_id: grantId,
      kind: 'connection',
      status: 'active',
      agent: { agent_id: agentId, name: 'an agent' },
      provider: slug,
      provider_name: 'Acme',
      connection_id: connectionId,
      account_label: 'ada@example.com',
      access_request_id: null,
      allowed_hosts: ['api.example.com'],
      allowed_methods: ['GET'],
      allowed_paths: ['/v1'],
      max_calls: 7,
      mode: 'allow_all',
      exceptions: [],
      max_access: null,
      calls: 0,
      created_at: '2026-11-15T12:00:00.000Z',
      expires_at: '2026-11-16T12:00:00.000Z',
      last_used_at: null,
      revoked_at: null,
      revoked_by: null,
      signed: false,
    }
    assert.deepEqual(await listed(service, service.user.token), [expected])
    const own = await listed(service, token)
    assert.deepEqual(idsOf(own), [grantId, sandbox.grantId].sort())
    const { account_label, ...shown } = own.find((one) => one.grant_id === grantId) as Listed & typeof expected
    assert.deepEqual(
      { account_label, ...shown },
      { ...expected, account_label: null },
      'whose account is not its matter',
    )
    const echo = own.find((one) => one.grant_id === sandbox.grantId) as Listed & typeof expected
    assert.deepEqual([echo.kind, echo.provider, echo.provider_name, echo.connection_id], ['sandbox', null, null, null])
    assert.deepEqual(await listed(service, stranger.token), [])
    assert.deepEqual(await listed(service, other.token), [])
    assert.equal((await service.call('GET', '/v4/grants', { token: service.adminToken })).status, 403)
    assert.equal((await service.call('GET', '/v4/grants')).status, 401)
  })

  test('can be filtered by agent or connection, which never widens the list', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { user, registerAgent, logIn, clock } = service
    const connectionId = await service.connect()
    const eve = await logIn({ email: 'eve@example.com' })
    const [one, other] = [await registerAgent(), await registerAgent()]
    const give = async (agentId: string, on: string | null, userId = user.userId) => {
      clock.advance(1)
      return (await insertGrant(service, { agentId, userId, connectionId: on })).grantId
    }
    const first = await give(one.agentId, connectionId)
    const second = await give(other.agentId, connectionId)
    const third = await give(one.agentId, null)
    const foreign = await give(one.agentId, null, eve.userId)
    const ids = async (token: string, query: string) =>
      (await listed(service, token, query)).map(({ grant_id }) => grant_id)
    assert.deepEqual(await ids(user.token, `?agent_id=${one.agentId}`), [third, first])
    assert.deepEqual(await ids(user.token, `?connection_id=${connectionId}`), [second, first])
    assert.deepEqual(await ids(user.token, `?agent_id=${one.agentId}&connection_id=${connectionId}&status=active`), [
      first,
    ])
    const after = `active.${clock.now().getTime()}.${third}`
    assert.deepEqual(await ids(user.token, `?agent_id=${one.agentId}&limit=1&cursor=${after}`), [first])
    assert.deepEqual(await ids(eve.token, `?agent_id=${one.agentId}`), [foreign])
    assert.deepEqual(await ids(eve.token, `?connection_id=${connectionId}`), [])
    assert.deepEqual(await ids(other.token, `?agent_id=${one.agentId}`), [])
    assert.deepEqual(await ids(user.token, '?agent_id=none'), [])
  })

  test('a list can be filtered by the status that each grant shows, in pages', async (t) => {
    const service = await startConnectionTest(t, engine)
    const [live, ended] = [await service.connect(), await service.connect(service.user, 'bob')]
    const { agentId, token } = await service.registerAgent()
    const now = service.clock.now()
    const [past, later] = [new Date(now.getTime() - 1), new Date(now.getTime() + 1)]
    const cases: [string, string, { connectionId?: string; expiresAt?: Date; maxCalls?: number }, object?][] = [
      ['active', 'no end', {}],
      ['active', 'an end to come', { expiresAt: later }],
      ['active', 'a call left', { maxCalls: 3, expiresAt: later }, { calls: 2 }],
      ['expired', 'over since just now', { expiresAt: now }],
      ['expired', 'over for long', { expiresAt: past }],
      ['expired', 'used up', { maxCalls: 3 }, { calls: 3 }],
      ['expired', 'used up and over', { maxCalls: 3, expiresAt: past }, { calls: 3 }],
      ['revoked', 'revoked', {}, { revoked_at: now.getTime(), revoked_by: 'user' }],
      ['revoked', 'revoked and over', { expiresAt: past }, { revoked_at: now.getTime(), revoked_by: 'agent' }],
      ['revoked', 'cut off', { connectionId: ended }],
      ['revoked', 'cut off, over and used up', { connectionId: ended, expiresAt: past, maxCalls: 1 }, { calls: 1 }],
    ]
    const expected = new Map<string, string[]>(statuses.map((status) => [status, []]))
    for (const [status, , terms, written] of cases) {
      const common = { agentId, userId: service.user.userId, connectionId: live }
      const { grantId } = await insertGrant(service, { ...common, ...terms })
      expected.get(status)?.push(grantId)
      if (written) {
        const table = 'calls' in written ? 'grant_usage' : 'grants'
        await service.database.queries.updateTable(table).set(written).where('grant_id', '=', grantId).execute()
      }
    }
    await service.call('DELETE', `/v4/connections/${ended}`, { token: service.user.token })
    for (const reader of [token, service.user.token]) {
      const all = await listed(service, reader)
      assert.equal(all.length, cases.length)
      for (const status of statuses) {
        const ids = expected.get(status)?.sort()
        assert.deepEqual(idsOf(all.filter((one) => one.status === status)), ids, status)
        assert.deepEqual(idsOf(await listed(service, reader, `?status=${status}`)), ids, status)
      }
    }
    const seen: Listed[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = `?status=expired&limit=3${cursor && `&cursor=${cursor}`}`
      const { body } = await service.call('GET', `/v4/grants${query}`, { token })
      const page = body as { grants: Listed[]; next_cursor: string | null }
      seen.push(...page.grants)
      cursor = page.next_cursor
    }
    assert.deepEqual(
      seen.map(({ grant_id }) => grant_id),
      expected.get('expired')?.sort().reverse(),
    )
    assert.equal((await service.call('GET', '/v4/grants?status=used', { token })).status, 400)
  })

  test('a grant is revoked by its user or its agent, and recorded', async (t) => {
    const service = await startConnectionTest(t, engine)
    const connectionId = await service.connect()
    const sandbox = await agentInSandbox(service)
    const { agentId } = sandbox
    const { userId, token: userToken } = service.user
    const revoke = (grantId: string, token: string) => service.call('POST', `/v4/grants/${grantId}/revoke`, { token })
    const taken = await insertGrant(service, { agentId, userId, connectionId })
    const givenUp = await insertGrant(service, { agentId, userId, connectionId })

    const stranger = await service.registerAgent()
    const eve = await service.logIn({ email: 'eve@example.com' })
    for (const token of [stranger.token, eve.token]) {
      for (const grantId of [taken.grantId, sandbox.grantId]) {
        const { status, body } = await revoke(grantId, token)
        assert.deepEqual([status, body.error.code], [404, 'not_found'])
      }
    }
    assert.equal((await revoke(sandbox.grantId, userToken)).status, 404, 'nobody approved it')
    assert.equal((await revoke(taken.grantId, service.adminToken)).status, 403)
    assert.deepEqual(await recorded(service, 'grant.'), [])

    const ends: [string, string, string][] = [
      [taken.grantId, userToken, 'user'],
      [givenUp.grantId, sandbox.token, 'agent'],
      [sandbox.grantId, sandbox.token, 'agent'],
    ]
    for (const [grantId, token, by] of ends) {
      const { status, body } = await revoke(grantId, token)
      assert.deepEqual([status, body.status, body.revoked_by], [200, 'revoked', by])
      assert.equal(body.revoked_at, service.clock.now().toISOString())
      service.clock.advance(1)
      for (const again of new Set([token, sandbox.token])) {
        assert.deepEqual((await revoke(grantId, again)).body, {
          ...body,
          account_label: again === token ? body.account_label : null,
        })
      }
    }
    assert.deepEqual(
      (await recorded(service, 'grant.')).map((one) => [
        one.event,
        one.grant_id,
        one.agent_id,
        one.user_id,
        one.detail,
      ]),
      ends.map(([grantId, , by]) => [
        'grant.revoked',
        grantId,
        agentId,
        grantId === sandbox.grantId ? null : userId,
        { by },
      ]),
    )
    const call = { grant_id: taken.grantId, method: 'GET', url: 'https://api.example.com/' }
    const refused = await service.call('POST', '/v4/proxy', { token: sandbox.token, body: call })
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'grant_revoked'])
    assert.equal((await sandbox.proxy()).body.error.code, 'grant_revoked')
  })

  test('of concurrent revocations on two instances one counts, and the next call on either is refused', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const { grantId, token, proxy } = await agentInSandbox(here)
    assert.equal((await proxy()).status, 200)
    const path = `/v4/grants/${grantId}/revoke`
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 ? here : there).call('POST', path, { token })),
    )
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.status]),
      answers.map(() => [200, 'revoked']),
    )
    assert.equal((await recorded(here, 'grant.')).length, 1)
    const body = { grant_id: grantId, method: 'GET', url: `${here.config.baseUrl.origin}/v4/sandbox/echo` }
    for (const service of [here, there]) {
      assert.equal((await service.call('POST', '/v4/proxy', { token, body })).body.error.code, 'grant_revoked')
    }
  })

  test('a grant ends with its connection and its user, without a write to it', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { agentId, token } = await service.registerAgent()
    const bob = await service.logIn({ email: 'bob@example.com' })
    const ofAda = await service.connect()
    const ofBob = await service.connect(bob, 'bob')
    const cut = await insertGrant(service, { agentId, userId: service.user.userId, connectionId: ofAda })
    const orphaned = await insertGrant(service, { agentId, userId: bob.userId, connectionId: ofBob })
    const stored = () => service.database.queries.selectFrom('grants').selectAll().orderBy('grant_id').execute()
    const before = await stored()

    await service.call('DELETE', `/v4/connections/${ofAda}`, { token: service.user.token })
    const [shown] = (await listed(service, service.user.token)) as (Listed & Record<string, unknown>)[]
    assert.deepEqual([shown?.status, shown?.['revoked_at'], shown?.['revoked_by']], ['revoked', null, null])
    await service.call('POST', `/v4/users/${bob.userId}/disable`, { token: service.adminToken })
    for (const { grantId } of [cut, orphaned]) {
      const body = { grant_id: grantId, method: 'GET', url: 'https://api.example.com/' }
      const { body: answer } = await service.call('POST', '/v4/proxy', { token, body })
      assert.equal(answer.error.code, 'grant_revoked')
    }
    assert.deepEqual(idsOf(await listed(service, token, '?status=revoked')), [cut.grantId, orphaned.grantId].sort())
    assert.deepEqual(await stored(), before)
  })

  test('a receipt can be read by the approving user and the agent, as it was stored', async (t) => {
    const service = await startConnectionTest(t, engine)
    const connectionId = await service.connect()
    const sandbox = await agentInSandbox(service)
    const { userId } = service.user
    const receipt: Receipt = {
      grant_id: 'grt_01k9x3v7qmf5v8t2w4y6z8abcd',
      access_request_id: 'arq_01k9x3v7qmf5v8t2w4y6z8abcd',
      verdict: 'approve',
      signed: true,
      scope_signed: true,
      signing_input: 'svc-approval.v1.a.b.c.approve',
      signature: 'MEUC',
      challenge: { challenge_id: 'chl_01k9x3v7qmf5v8t2w4y6z8abcd', nonce: 'bm9uY2U' },
      decision: { connection_id: connectionId, allowed_hosts: ['api.example.com'], unknown: { nested: [1, null] } },
      device: {
        device_id: 'dev_01k9x3v7qmf5v8t2w4y6z8abcd',
        public_key_jwk: { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ' },
      },
      approved_by: userId,
      approved_at: '2026-11-15T12:00:00.000Z',
      grant: {
        connection_id: connectionId,
        allowed_hosts: ['api.example.com'],
        allowed_methods: null,
        allowed_paths: ['/v1'],
        max_calls: 3,
        expires_at: null,
      },
      unsigned: ['allowed_methods', 'allowed_paths', 'max_calls', 'expires_at'],
    }
    const { grantId } = await insertGrant(service, { agentId: sandbox.agentId, userId, connectionId }, receipt)
    const read = (id: string, token: string) => service.call('GET', `/v4/grants/${id}/receipt`, { token })
    for (const token of [service.user.token, sandbox.token]) {
      const { status, body } = await read(grantId, token)
      assert.deepEqual([status, body], [200, receipt])
    }
    const [shown] = (await listed(service, service.user.token)) as (Listed & { signed: boolean })[]
    assert.equal(shown?.signed, true)
    const stranger = await service.registerAgent()
    const eve = await service.logIn({ email: 'eve@example.com' })
    const nothing: [string, string][] = [
      [grantId, stranger.token],
      [grantId, eve.token],
      [sandbox.grantId, sandbox.token],
      ['grt_none', sandbox.token],
    ]
    for (const [id, token] of nothing) assert.equal((await read(id, token)).body.error.code, 'not_found')
  })

  test('the proxy checks all terms of a grant on a connection', async (t) => {
    const service = await startConnectionTest(t, engine)
    const connectionId = await service.connect()
    await service.database.queries
      .updateTable('providers')
      .set({ api_hosts: '["*.example.com","api.example.net"]' })
      .execute()
    const { agentId, token } = await service.registerAgent()
    const { grantId } = await insertGrant(service, {
      agentId,
      userId: service.user.userId,
      connectionId,
      allowedHosts: ['*.example.com'],
      allowedMethods: ['GET'],
      allowedPaths: ['/v1/*/mail'],
      maxCalls: 2,
      expiresAt: new Date(service.clock.now().getTime() + 1000),
    })
    const refusal = async (members: object = {}) => {
      const body = { grant_id: grantId, method: 'GET', url: 'https://api.example.com/v1/ada/mail/1', ...members }
      const reply = await service.call('POST', '/v4/proxy', { token, body })
      const { code, field } = reply.body.error
      return [reply.status, code, field]
    }
    // One that is no host of the provider's, and one that is, but not of the grant.
    for (const host of ['api.example.org', 'api.example.net']) {
      assert.deepEqual(await refusal({ url: `https://${host}/v1/ada/mail` }), [403, 'host_not_allowed', 'url'], host)
    }
    assert.deepEqual(await refusal({ url: 'https://a.example.com:8443/v1/a/mail' }), [400, 'invalid_url', 'url'])
    assert.deepEqual(await refusal({ url: 'http://api.example.com/v1/ada/mail' }), [400, 'invalid_url', 'url'])
    assert.deepEqual(await refusal({ method: 'POST' }), [403, 'method_not_allowed', 'method'])
    for (const path of ['/v1/ada', '/v1/ada/mailbox', '/v1/ada/mail/..%2f..%2fadmin', '/v1/ada/mail/%2e%2e/secret']) {
      assert.deepEqual(await refusal({ url: `https://api.example.com${path}` }), [403, 'path_not_allowed', 'url'], path)
    }
    const used = await service.database.queries.selectFrom('grant_usage').select(['calls', 'last_used_at']).execute()
    assert.deepEqual(
      used.map((row) => ({ ...row })),
      [{ calls: 0, last_used_at: null }],
    )
    assert.deepEqual((await recorded(service, 'proxy.')).map(({ event, detail }) => [event, detail.code]).slice(0, 1), [
      ['proxy.refused', 'host_not_allowed'],
    ])
    await service.database.queries.updateTable('grant_usage').set({ calls: 2 }).execute()
    assert.deepEqual(await refusal(), [403, 'grant_exhausted', undefined])
    service.clock.advance(1)
    assert.deepEqual(await refusal(), [403, 'grant_expired', undefined])
    await service.call('DELETE', `/v4/connections/${connectionId}`, { token: service.user.token })
    assert.deepEqual(await refusal(), [403, 'grant_revoked', undefined])
  })

  test('a new sandbox replaces the old one, which says so', async (t) => {
    const service = await startService(t, engine)
    const { grantId, token } = await agentInSandbox(service)
    await service.call('POST', '/v4/sandbox/start', { token })
    const [old] = (await listed(service, token, '?status=revoked')) as (Listed & { revoked_by: string })[]
    assert.deepEqual([old?.grant_id, old?.revoked_by], [grantId, 'sandbox'])
  })
})
