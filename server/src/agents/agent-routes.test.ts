import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { newId } from '../platform/ids.ts'
import { createStores } from '../stores.ts'
import { agentStore } from './agent-store.ts'
import { disableAgent } from './disable.ts'
import { enableAgent } from './enable.ts'

onBothDatabases('agents', (engine) => {
  test('an agent registers without a credential and gets its token once', async (t) => {
    const service = await startService(t, engine)
    const metadata = { team: 'mail', nested: { deep: [1, 'two'] } }
    const { status, body } = await service.call('POST', '/v4/agents/register', {
      body: { name: 'Mail sorter', owner_user_id: 'ada', metadata },
    })
    assert.equal(status, 201)
    assert.match(body.access_token, /^sp_agent_[0-9A-Za-z]{49}$/)
    assert.deepEqual(body.agent, {
      agent_id: body.agent.agent_id,
      name: 'Mail sorter',
      owner_user_id: 'ada',
      metadata,
      status: 'active',
      created_at: '2026-11-15T12:00:00.000Z',
      disabled_at: null,
    })
    const me = await service.call('GET', '/v4/agents/me', { token: body.access_token })
    assert.deepEqual(me.body, body.agent)
  })

  test('owner_user_id defaults to self-registered', async (t) => {
    const service = await startService(t, engine)
    const { body } = await service.call('POST', '/v4/agents/register', { body: { name: 'a' } })
    assert.equal(body.agent.owner_user_id, 'self-registered')
    assert.deepEqual(body.agent.metadata, {})
  })

  test('an invalid registration is refused, naming the member', async (t) => {
    const service = await startService(t, engine)
    const cases: [unknown, string, string][] = [
      [{}, 'missing_field', 'name'],
      [undefined, 'missing_field', 'name'],
      [{ name: '' }, 'invalid_field', 'name'],
      [{ name: 'x'.repeat(201) }, 'invalid_field', 'name'],
      [{ name: 7 }, 'invalid_field', 'name'],
      [{ name: 'a\u0000b' }, 'invalid_field', 'name'],
      [{ name: 'a\u202eb' }, 'invalid_field', 'name'],
      [{ name: 'a\ud800' }, 'invalid_field', 'name'],
      [{ name: 'a', nmae: 'b' }, 'invalid_field', 'nmae'],
      [{ name: 'a', metadata: 'text' }, 'invalid_field', 'metadata'],
      [{ name: 'a', metadata: { big: 'x'.repeat(4096) } }, 'invalid_field', 'metadata'],
      [{ name: 'a', owner_user_id: 'a\u0000' }, 'invalid_field', 'owner_user_id'],
      [[], 'invalid_field', 'body'],
      ['null', 'invalid_field', 'body'],
    ]
    for (const [body, code, field] of cases) {
      const reply = await service.call('POST', '/v4/agents/register', { body })
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, code, field], reply.text)
    }
  })

  test('an address can register ten agents a minute, then gets Retry-After', async (t) => {
    const service = await startService(t, engine)
    const register = (from: string) => service.call('POST', '/v4/agents/register', { body: { name: 'a' }, from })
    for (let count = 0; count < 10; count++) assert.equal((await register('192.0.2.1')).status, 201)
    const refused = await register('192.0.2.1')
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
    assert.equal(refused.headers['retry-after'], '6')
    assert.equal((await register('::ffff:192.0.2.1')).status, 429, 'the same address written as IPv6')
    assert.equal((await register('192.0.2.2')).status, 201, 'another address')
    service.clock.advance(6)
    assert.equal((await register('192.0.2.1')).status, 201)
    assert.equal((await register('192.0.2.1')).status, 429)
  })

  test('an IPv6 /64 counts as one client, and a /48 has its own limit', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_REGISTRATIONS_PER_DAY_48: '12' })
    const register = (from: string) => service.call('POST', '/v4/agents/register', { body: { name: 'a' }, from })
    for (let count = 0; count < 10; count++) assert.equal((await register(`2001:db8:1:1::${count}`)).status, 201)
    assert.equal((await register('2001:db8:1:1:ffff::1')).status, 429)
    assert.equal((await register('2001:db8:1:2::1')).status, 201)
    assert.equal((await register('2001:db8:1:3::1')).status, 201)
    assert.equal((await register('2001:db8:1:4::1')).status, 429)
    assert.equal((await register('2001:db8:2:1::1')).status, 201)
  })

  test('of many concurrent registrations from one address exactly ten succeed', async (t) => {
    const service = await startService(t, engine)
    const all = Array.from({ length: 25 }, () => service.call('POST', '/v4/agents/register', { body: { name: 'a' } }))
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 201).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })

  test('an admin lists agents, newest first, in pages', async (t) => {
    const service = await startService(t, engine)
    for (const name of ['one', 'two', 'three']) {
      await service.registerAgent(name)
      service.clock.advance(1)
    }
    const list = async (query: string) =>
      (await service.call('GET', `/v4/agents${query}`, { token: service.adminToken })).body
    const first = await list('?limit=2')
    assert.deepEqual(
      first.agents.map(({ name }: { name: string }) => name),
      ['three', 'two'],
    )
    const second = await list(`?limit=2&cursor=${first.next_cursor}`)
    assert.deepEqual(
      second.agents.map(({ name }: { name: string }) => name),
      ['one'],
    )
    assert.equal(second.next_cursor, null)
    for (const query of [
      '?limit=0',
      '?limit=201',
      '?limit=x',
      '?limit=0x10',
      '?limit=1.9',
      '?limit=true',
      '?status=gone',
      '?limmit=1',
    ]) {
      const reply = await service.call('GET', `/v4/agents${query}`, { token: service.adminToken })
      assert.deepEqual([reply.status, reply.body.error.code], [400, 'invalid_field'], query)
    }
  })

  test('a rotated token works, the old one no longer', async (t) => {
    const service = await startService(t, engine)
    const { token, agentId } = await service.registerAgent()
    const { status, body } = await service.call('POST', '/v4/agents/rotate-token', { token })
    assert.equal(status, 200)
    assert.equal(body.agent.agent_id, agentId)
    assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 401)
    assert.equal((await service.call('GET', '/v4/agents/me', { token: body.access_token })).status, 200)
  })

  test('of two rotations with one token exactly one succeeds', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const rotate = () => service.call('POST', '/v4/agents/rotate-token', { token })
    const statuses = (await Promise.all([rotate(), rotate(), rotate(), rotate()])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 401, 401, 401])
  })

  test("a disabled agent's token is refused with the next call, and disabling again is 200", async (t) => {
    const service = await startService(t, engine)
    const { token, agentId } = await service.registerAgent()
    const disable = (id: string) => service.call('POST', `/v4/agents/${id}/disable`, { token: service.adminToken })
    const first = await disable(agentId)
    assert.deepEqual([first.status, first.body.status], [200, 'disabled'])
    service.clock.advance(60)
    assert.deepEqual((await disable(agentId)).body, first.body)
    assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 401)
    assert.equal((await service.call('POST', '/v4/agents/rotate-token', { token })).status, 401)
    assert.equal((await disable('agt_00000000000000000000000000')).body.error.code, 'not_found')
    const active = await service.call('GET', '/v4/agents?status=active', { token: service.adminToken })
    assert.deepEqual(active.body.agents, [])
    const disabled = await service.call('GET', '/v4/agents?status=disabled', { token: service.adminToken })
    assert.equal(disabled.body.agents.length, 1)
  })

  test('an enabled agent has its token back; repeating it is 200 and recorded once, however many ask', async (t) => {
    const service = await startService(t, engine)
    const { token, agentId } = await service.registerAgent()
    const change = (verb: string, id = agentId) =>
      service.call('POST', `/v4/agents/${id}/${verb}`, { token: service.adminToken })
    assert.deepEqual([(await change('enable')).status, (await recorded(service, 'agent.enabled')).length], [200, 0])
    await change('disable')
    service.clock.advance(2)
    const replies = await Promise.all([change('enable'), change('enable'), change('enable')])
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.status, body.disabled_at]),
      Array.from({ length: 3 }, () => [200, 'active', null]),
    )
    assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)
    assert.deepEqual(
      (await recorded(service, 'agent.enabled')).map(({ agent_id }) => agent_id),
      [agentId],
    )
    assert.equal((await change('enable', 'agt_00000000000000000000000000')).body.error.code, 'not_found')
  })

  test('only an admin can enable an agent: neither its own token, nor another agent, nor a user', async (t) => {
    const service = await startService(t, engine)
    const { token, agentId } = await service.registerAgent()
    const other = await service.registerAgent()
    const user = await service.logIn()
    await service.call('POST', `/v4/agents/${agentId}/disable`, { token: service.adminToken })
    service.clock.advance(2)
    const statuses: number[] = []
    for (const by of [token, other.token, user.token, undefined]) {
      statuses.push((await service.call('POST', `/v4/agents/${agentId}/enable`, { token: by })).status)
    }
    assert.deepEqual(statuses, [401, 403, 403, 401])
    assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 401)
  })

  test('enabling never undoes a disabling that came after it', async (t) => {
    const service = await startService(t, engine)
    const { agentId } = await service.registerAgent()
    const stores = createStores({ ...service, clock: service.clock.now })
    const needs = { ...service, ...stores, clock: service.clock.now }
    await disableAgent(needs, agentId, 'first')
    const waiting = enableAgent(
      {
        ...needs,
        callsEnded: async () => {
          await enableAgent({ ...needs, callsEnded: () => Promise.resolve() }, agentId, 'another admin')
          service.clock.advance(1)
          await disableAgent(needs, agentId, 'second')
        },
      },
      agentId,
      'late',
    )
    await assert.rejects(waiting, { code: 'conflict' })
    assert.ok((await stores.agents.find(service.database.queries, agentId))?.disabledAt)
  })

  test('an admin searches agents by name, id and claimed owner, in pages', async (t) => {
    const service = await startService(t, engine)
    const register = (name: string, owner_user_id?: string) =>
      service.call('POST', '/v4/agents/register', { body: { name, ...(owner_user_id && { owner_user_id }) } })
    const first = await register('Émile’s mail sorter', 'emile')
    // More than one batch.
    const noise = { ownerUserId: '', metadata: {}, createdAt: service.clock.now(), disabledAt: null }
    await service.database.transaction(async (tx) => {
      for (let at = 0; at < 110; at++) {
        service.clock.advance(1)
        const agentId = newId('agt', service.clock.now())
        await agentStore.insert(tx, { ...noise, agentId, name: `Noise ${at}` }, Buffer.from(agentId))
      }
    })
    await register('Mail reader', '100%_sure')
    const search = async (query: string, more = '') => {
      const path = `/v4/agents?query=${encodeURIComponent(query)}${more}`
      const { body, text } = await service.call('GET', path, { token: service.adminToken })
      assert.ok(body.agents, text)
      return { names: body.agents.map(({ name }: { name: string }) => name), cursor: body.next_cursor }
    }
    const both = ['Mail reader', 'Émile’s mail sorter']
    assert.deepEqual(await search('MAIL'), { names: both, cursor: null })
    assert.deepEqual((await search(' sorter emile ')).names, ['Émile’s mail sorter'])
    assert.deepEqual((await search(first.body.agent.agent_id)).names, ['Émile’s mail sorter'])
    for (const [text, found] of [
      ['100%_s', 1],
      ['%', 1],
      ["' or 1=1 --", 0],
      ['\\', 0],
    ] as const) {
      assert.equal((await search(text)).names.length, found, text)
    }
    const page = await search('mail', '&limit=1')
    assert.deepEqual(
      [page.names, (await search('mail', `&limit=1&cursor=${page.cursor}`)).names],
      [[both[0]], [both[1]]],
    )
    assert.deepEqual((await search('mail', '&status=disabled')).names, [])
    for (const bad of ['x'.repeat(101), 'a\u0000']) {
      const path = `/v4/agents?query=${encodeURIComponent(bad)}`
      const { body } = await service.call('GET', path, { token: service.adminToken })
      assert.deepEqual([body.error.code, body.error.field], ['invalid_field', 'query'])
    }
  })
})
