import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import type { RecordedEvent } from '../../testkit/audit.ts'
import { accessToken, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { userAgent } from '../../testkit/egress.ts'
import { client } from '../../testkit/providers.ts'
import type { Reply } from '../../testkit/service.ts'
import { openDatabase } from '../platform/operations/instance.ts'
import { Secret } from '../platform/secret.ts'
import { createToolIdentifier } from '../tool-keys/identify.ts'
import { toolKeyStore } from '../tool-keys/tool-key-store.ts'

function assertRefused({ status, body }: Reply, expectedStatus: number, code: string): void {
  assert.deepEqual([status, body.error?.code], [expectedStatus, code])
}

async function rowsOf({ service }: Calling) {
  const { queries } = service.database
  return {
    connection: await queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow(),
    usage: await queries.selectFrom('grant_usage').selectAll().executeTakeFirstOrThrow(),
    records: await queries.selectFrom('audit_records').selectAll().where('event', 'like', 'proxy.%').execute(),
  }
}

onBothDatabases('a call on a connection', (engine) => {
  test('has the token injected, and redacted everywhere in the response', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response, { headers }) => {
        const said = headers.authorization ?? ''
        response.writeHead(200, { 'content-type': 'application/json', 'x-said': said, 'set-cookie': said })
        response.end(JSON.stringify({ said, deep: [{ [said]: encodeURIComponent(said) }] }))
      },
    })
    const reply = await calling.proxy({ headers: { Authorization: 'Bearer mine', 'x-mine': 'yes' } })
    const [sent] = calling.upstream.received
    assert.equal(sent?.headers.authorization, `Bearer ${accessToken}`)
    assert.equal(sent.headers['x-mine'], 'yes')
    assert.equal(reply.body.headers['x-said'], 'Bearer [REDACTED]')
    assert.deepEqual(reply.body.body.said, 'Bearer [REDACTED]')
    assert.deepEqual(reply.body.dropped_headers, ['authorization'])
    assert.equal(reply.body.headers['set-cookie'], undefined)
    assert.equal(reply.body.redactions, 4)
    assert.ok(!reply.text.includes(accessToken))
  })

  test('has a default User-Agent, as some APIs require one', async (t) => {
    const { proxy, stream, upstream } = await startCalling(t, engine)
    await proxy()
    await (await stream()).answer.toArray()
    await proxy({ headers: { 'User-Agent': 'mine/1' } })
    assert.deepEqual(
      upstream.received.map(({ headers }) => headers['user-agent']),
      [userAgent, userAgent, 'mine/1'],
    )
  })

  test("injects the token where the provider expects it, replacing the caller's header", async (t) => {
    const injection = { in: 'header', name: 'x-api-key', prefix: 'key ' }
    const { proxy, upstream } = await startCalling(t, engine, { provider: { injection } })
    const { body } = await proxy({ headers: { 'X-API-Key': 'mine', Authorization: 'also mine' } })
    assert.deepEqual(body.dropped_headers, ['x-api-key', 'authorization'])
    const [sent] = upstream.received
    assert.deepEqual([sent?.headers['x-api-key'], sent?.headers.authorization], [`key ${accessToken}`, undefined])
  })

  test('is recorded with agent, user, connection and provider, and updates last use', async (t) => {
    const calling = await startCalling(t, engine)
    calling.service.clock.advance(90)
    await calling.proxy({ url: `${calling.upstream.url}?q=a-value` })
    await calling.records()
    const { connection, usage, records } = await rowsOf(calling)
    const now = calling.service.clock.now().getTime()
    assert.deepEqual([connection.last_used_at, usage.last_used_at, usage.calls], [now, now, 1])
    assert.deepEqual(
      records.map(({ event }) => event),
      ['proxy.attempt', 'proxy.outcome'],
    )
    for (const one of records) {
      assert.deepEqual(
        [one.agent_id, one.user_id, one.grant_id, one.connection_id, one.provider],
        [calling.agent.agentId, calling.userId, calling.grantId, calling.connectionId, 'acme'],
      )
    }
    assert.deepEqual(JSON.parse(records[0]?.detail ?? ''), {
      ...{ method: 'GET', host: calling.upstream.host, path: '/things', query: ['q'] },
    })
  })

  test('is on disk before the request is sent, and its outcome when the service stops', async (t) => {
    const seen: RecordedEvent[][] = []
    const calling: Calling = await startCalling(t, engine, {
      answer: (response) => {
        const other = openDatabase(calling.service.config)
        void recorded({ database: other }, 'proxy.').then(async (events) => {
          seen.push(events)
          await other.close()
          response.end()
        })
      },
    })
    const { body } = await calling.proxy()
    await calling.service.app.jobsEnded()
    const eventsOf = (events: RecordedEvent[] = []) => events.map(({ event, audit_id }) => [event, audit_id])
    assert.deepEqual(seen.map(eventsOf), [[['proxy.attempt', body.audit_id]]])
    assert.deepEqual(eventsOf(await recorded(calling.service, 'proxy.')), [
      ['proxy.attempt', body.audit_id],
      ['proxy.outcome', body.audit_id],
    ])
  })

  test('is refused once its grant, connection, user, agent or provider has ended', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, proxy, upstream, providerId } = calling
    const { queries } = service.database
    const asAdmin = (path: string) => service.call('POST', path, { token: service.adminToken })
    const setStatus = (status: 'active' | 'needs_reauth' | 'revoked') =>
      queries.updateTable('connections').set({ status }).execute()

    assert.equal((await proxy()).status, 200)
    assertRefused(await proxy({ url: 'https://elsewhere.example/things' }), 403, 'host_not_allowed')
    await asAdmin(`/v4/providers/${providerId}/disable`)
    assertRefused(await proxy(), 409, 'conflict')
    await queries.updateTable('providers').set({ status: 'active' }).execute()
    assert.equal((await proxy()).status, 200)
    await setStatus('needs_reauth')
    assertRefused(await proxy(), 409, 'connection_needs_reauth')
    await setStatus('revoked')
    assertRefused(await proxy(), 403, 'grant_revoked')
    await setStatus('active')
    assert.equal((await proxy()).status, 200)
    await queries.updateTable('providers').set({ api_hosts: '["other.example"]' }).execute()
    assertRefused(await proxy(), 403, 'host_not_allowed')
    await queries.updateTable('users').set({ disabled_at: service.clock.now().getTime() }).execute()
    assertRefused(await proxy(), 403, 'grant_revoked')
    assert.equal(upstream.received.length, 3)
  })

  test('in flight when its agent or user is disabled ends, and its grant works once they are enabled', async (t) => {
    for (const [noun, code] of [
      ['agents', 'unauthenticated'],
      ['users', 'grant_revoked'],
    ] as const) {
      const reached = Promise.withResolvers<undefined>()
      let isFirst = true
      const calling = await startCalling(t, engine, {
        answer: (response) => {
          if (!isFirst) response.end('{}')
          isFirst = false
          reached.resolve(undefined)
        },
      })
      const { service, agent, userId, grantId, proxy } = calling
      const asAdmin = (method: string, path: string) => service.call(method, path, { token: service.adminToken })
      const figures = async () => {
        const [one] = (await asAdmin('GET', `/v4/${noun}`)).body[noun]
        return [one.status, one.active_grants, one.last_call_at]
      }
      const begun = service.clock.now().toISOString()
      const body = { grant_ids: [grantId] }
      const { key } = (await service.call('POST', '/v4/agents/keys', { token: agent.token, body })).body
      const call = proxy()
      await reached.promise
      const path = `/v4/${noun}/${noun === 'agents' ? agent.agentId : userId}`
      await asAdmin('POST', `${path}/disable`)
      assert.deepEqual((await figures()).slice(0, 2), ['disabled', 1])
      service.clock.advance(2)
      assert.equal((await asAdmin('POST', `${path}/enable`)).status, 200)
      const ended = await call
      assert.equal(ended.body.error?.code, code, ended.text)
      assert.equal((await proxy()).status, 200)
      const now = service.clock.now().toISOString()
      assert.notEqual(now, begun)
      assert.deepEqual(await figures(), ['active', 1, noun === 'agents' ? now : undefined])
      const identify = createToolIdentifier({ ...service, toolKeys: toolKeyStore, clock: service.clock.now })
      assert.equal(
        (await identify(new Secret(key), undefined)) !== undefined,
        noun === 'users',
        'keys end with the agent',
      )
    }
  })

  test('uses a changed client secret and header setting immediately', async (t) => {
    const fresh = 'Zq8vN2kP5wXr7tYb3mLc'
    const calling = await startCalling(t, engine, {
      answer: (response) => response.end(`${client.client_secret} ${fresh}`),
    })
    const { service, proxy, providerId, upstream } = calling
    assert.equal((await proxy()).body.body, `[REDACTED] ${fresh}`)
    const token = service.adminToken
    const body = { client_id: 'our-client', client_secret: fresh }
    await service.call('PATCH', `/v4/providers/${providerId}/credentials`, { token, body })
    assert.equal((await proxy()).body.body, `${client.client_secret} [REDACTED]`)
    const injection = JSON.stringify({ in: 'header', name: 'x-token', prefix: '' })
    await service.database.queries.updateTable('providers').set({ injection }).execute()
    await proxy()
    assert.equal(upstream.received.at(-1)?.headers['x-token'], accessToken)
    assert.equal(upstream.received.at(-1)?.headers.authorization, undefined)
  })
})
