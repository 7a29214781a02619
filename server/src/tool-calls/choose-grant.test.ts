/** Which of a key's grants a tunnelled request is made with, and that nobody else's can be chosen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startEntered } from '../../testkit/entered-credentials.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { openTunnel, startTools } from '../../testkit/tool-calling.ts'
import type { ToolReply } from '../../testkit/tool-calling.ts'

const named = (grantId: string) => `sp_grant_${grantId}`
const codeOf = ({ status, body }: ToolReply) => [status, body.error.code]

/** Another grant of the agent, on the same account. */
async function another({ service, agent, userId, connectionId, upstream }: Calling, terms: object = {}) {
  const places = { agentId: agent.agentId, userId, connectionId, allowedHosts: [upstream.host] }
  return (await insertGrant(service, { ...places, ...terms })).grantId
}

async function tunnelWith(t: Parameters<typeof startTools>[0], calling: Calling, grantIds: string[], host?: string) {
  const { key } = await startTools(t, calling, grantIds)
  return openTunnel(t, calling, { key, host: host ?? calling.upstream.host, version: 'HTTP/1.1' })
}

onBothDatabases('the grant of a tunnelled request', (engine) => {
  test('is the one whose placeholder stands in place of the credential', async (t) => {
    const calling = await startCalling(t, engine, { terms: { allowedMethods: ['GET'] } })
    const [reads, writes] = [calling.grantId, await another(calling)]
    const send = await tunnelWith(t, calling, [reads, writes])
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
    const forms = [
      (id: string) => `Bearer ${named(id)}`,
      (id: string) => `token ${named(id)}`,
      (id: string) => basic(`x-access-token:${named(id)}`),
      (id: string) => basic(`${named(id)}:`),
      (id: string) => `Bearer sk_test_${named(id)}`,
    ]
    for (const form of forms) {
      const post = (id: string) => send('/things', { method: 'POST', headers: { authorization: form(id) }, body: 'a' })
      assert.equal((await post(writes)).status, 200, form(writes))
      assert.deepEqual(codeOf(await post(reads)), [403, 'method_not_allowed'], form(reads))
    }
    const used = (await calling.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(new Set(used.map(({ grant_id }) => grant_id)), new Set([writes]))
    for (const { headers } of calling.upstream.received) assert.doesNotMatch(JSON.stringify(headers), /sp_grant/)
  })

  test('is otherwise the only usable one that covers host, method and path', async (t) => {
    const calling = await startCalling(t, engine, { terms: { allowedMethods: ['GET'] } })
    const { service, agent, grantId: reads } = calling
    const writes = await another(calling, { allowedMethods: ['POST'], allowedPaths: ['/things'] })
    const ended = await another(calling)
    await service.call('POST', `/v4/grants/${ended}/revoke`, { token: agent.token })
    const send = await tunnelWith(t, calling, [reads, writes])
    assert.equal((await send('/things')).status, 200)
    assert.equal((await send('/things', { method: 'POST', body: 'a' })).status, 200)
    assert.equal((await send('/elsewhere', { method: 'POST', body: 'a' })).status, 403)
    const attempts = (await calling.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(
      attempts.map(({ grant_id }) => grant_id),
      [reads, writes],
    )
  })

  test('has to be named if several cover the call', async (t) => {
    const calling = await startCalling(t, engine)
    const grantIds = [calling.grantId, await another(calling)].sort()
    const send = await tunnelWith(t, calling, grantIds)
    const reply = await send('/things')
    assert.deepEqual(codeOf(reply), [409, 'grant_ambiguous'])
    assert.deepEqual(reply.body.error.grant_ids, grantIds)
    assert.equal(reply.headers['x-sallyport-error'], 'grant_ambiguous')
    // A name that is only the tool's text names nothing.
    const elsewhere = [
      { path: `/things?q=${named(grantIds[0] ?? '')}` },
      { path: `/things/${named(grantIds[0] ?? '')}` },
      { path: '/things', headers: { 'x-note': named(grantIds[0] ?? '') } },
    ]
    for (const { path, headers = {} } of elsewhere) {
      assert.deepEqual(codeOf(await send(path, { headers })), [409, 'grant_ambiguous'], path)
    }
    const both = { authorization: `Bearer ${grantIds.map(named).join(' ')}` }
    assert.deepEqual(codeOf(await send('/things', { headers: both })), [409, 'grant_ambiguous'])
    assert.equal(calling.upstream.received.length, 0)
  })

  test("is never another agent's, nor one that the key is not for", async (t) => {
    const calling = await startCalling(t, engine)
    const { service, userId, connectionId, upstream, grantId } = calling
    const other = await service.registerAgent()
    const places = { userId, connectionId, allowedHosts: [upstream.host] }
    const { grantId: theirs } = await insertGrant(service, { ...places, agentId: other.agentId })
    const unlisted = await another(calling)
    const send = await tunnelWith(t, calling, [grantId])
    const { send: toBaseUrl } = await startTools(t, calling)
    for (const id of [theirs, unlisted, `grt_${'0'.repeat(26)}`]) {
      const tunnelled = await send('/things', { headers: { authorization: `Bearer ${named(id)}` } })
      assert.deepEqual(codeOf(tunnelled), [403, 'forbidden'])
      assert.deepEqual(codeOf(await toBaseUrl(`/v4/proxy/${id}/${upstream.host}/things`)), [403, 'forbidden'])
    }
    assert.equal(upstream.received.length, 0)
    const refused = (await calling.records()).filter(({ event }) => event === 'proxy.refused')
    assert.deepEqual(refused.map(({ detail: { code, door } }) => [code, door]).slice(0, 2), [
      ['forbidden', 'gateway'],
      ['forbidden', 'base_url'],
    ])
  })

  test('may be missing: the refusal says what access to request', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, upstream, grantId } = calling
    const body = {
      ...{ provider_name: 'Another', slug: 'another', api_hosts: ['api.another.example'] },
      auth_methods: [{ kind: 'api_key', inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }] }],
    }
    const made = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
    assert.equal(made.status, 201, made.text)
    const send = await tunnelWith(t, calling, [grantId], 'api.another.example')
    const none = await send('/things', { method: 'POST', body: 'a' })
    assert.deepEqual(codeOf(none), [403, 'host_not_allowed'])
    assert.deepEqual(none.body.error.access_request, {
      ...{ provider: 'another', hosts: ['api.another.example'], methods: ['POST'] },
    })
    assert.match(none.body.message as string, /No grant of this key/)
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: calling.agent.token })
    const ended = await (
      await openTunnel(t, calling, {
        ...{
          key: (await startTools(t, { ...calling, grantId: await another(calling, { allowedPaths: ['/else'] }) })).key,
        },
        ...{ host: upstream.host, version: 'HTTP/1.1' },
      })
    )('/things')
    assert.deepEqual(codeOf(ended), [403, 'path_not_allowed'])
  })

  test('is found in the query and the path where the provider has its credential there', async (t) => {
    const methods = {
      query: { in: 'query', name: 'key', template: '{api_key}' },
      path: { in: 'path', name: '/{credential}/', template: 'bot{api_key}' },
    }
    const places = {
      query: (id: string) => `/things?key=${named(id)}&a=1`,
      path: (id: string) => `/bot${named(id)}/things`,
    }
    const sentAs = { query: `/things?a=1&key=`, path: `/bot` }
    for (const where of ['query', 'path'] as const) {
      const service = await startEntered(t, engine, {
        methods: () => [{ kind: 'api_key', inject: [methods[where]] }],
      })
      const secret = '123456:AAE-a-key-of-ada-alone-0123456789'
      const { body: connection } = await service.connect({ api_key: secret })
      const agent = await service.registerAgent()
      const grant = (allowedMethods: string[]) =>
        insertGrant(service, {
          ...{ agentId: agent.agentId, userId: service.user.userId, connectionId: connection.connection_id as string },
          ...{ allowedHosts: [service.upstream.host], allowedMethods },
        })
      const grantIds = [(await grant(['GET'])).grantId, (await grant(['GET', 'POST'])).grantId]
      const calling = { service, agent, upstream: service.upstream, grantId: grantIds[0] } as unknown as Calling
      const send = await tunnelWith(t, calling, grantIds)
      assert.deepEqual(codeOf(await send(where === 'query' ? '/things' : '/x/things')), [409, 'grant_ambiguous'])
      const [reads = '', writes = ''] = grantIds
      await send(places[where](reads))
      const { path = '' } = service.upstream.received.at(-1) ?? {}
      assert.ok(path.startsWith(sentAs[where]), path)
      assert.ok(path.includes('AAE-a-key-of-ada-alone'), path)
      assert.deepEqual(codeOf(await send(places[where](reads), { method: 'POST', body: 'a' })), [
        403,
        'method_not_allowed',
      ])
      await send(places[where](writes), { method: 'POST', body: 'a' })
      assert.equal(service.upstream.received.at(-1)?.method, 'POST')
    }
  })
})
