import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessToken, soon, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

async function setGrant({ service }: Calling, values: object): Promise<void> {
  await service.database.queries.updateTable('grants').set(values).execute()
}

onBothDatabases('a dry run', (engine) => {
  test('reports what would be sent, and sends, counts and records nothing', async (t) => {
    const injection = { in: 'header', name: 'x-api-key', prefix: 'key ' }
    const calling = await startCalling(t, engine, { provider: { injection }, terms: { maxCalls: 1 } })
    for (let run = 0; run < 3; run++) {
      const headers = { range: 'bytes=0-9', accept: 'text/plain' }
      const { status, body, text } = await calling.proxy({ dry_run: true, method: 'POST', body: {}, headers })
      assert.equal(status, 200)
      assert.deepEqual(body, {
        allowed: true,
        asks: false,
        access: 'write',
        term: 'mode',
        would_inject: { header: 'x-api-key', value: 'key [REDACTED]' },
        dropped_headers: ['range'],
        grant: {
          grant_id: calling.grantId,
          status: 'active',
          allowed_hosts: [calling.upstream.host],
          allowed_methods: null,
          allowed_paths: null,
          max_calls: 1,
          calls: 0,
          expires_at: null,
          mode: 'allow_all',
          exceptions: [],
          max_access: null,
        },
      })
      assert.ok(!text.includes(accessToken))
    }
    assert.deepEqual([calling.upstream.connections(), await recorded(calling.service, 'proxy.')], [0, []])
    assert.equal((await calling.proxy()).status, 200)
  })

  test('takes earlier calls into account', async (t) => {
    const calling = await startCalling(t, engine, { terms: { maxCalls: 2 } })
    for (const calls of [0, 1, 2]) {
      const { allowed, reason, grant } = (await calling.proxy({ dry_run: true })).body
      const expected = calls < 2 ? [true, undefined, 'active'] : [false, 'grant_exhausted', 'expired']
      assert.deepEqual([allowed, reason, grant.status, grant.calls], [...expected, calls])
      assert.equal((await calling.proxy()).status, calls < 2 ? 200 : 403)
    }
  })

  test('reports the same error as the call', async (t) => {
    const calling = await startCalling(t, engine, { terms: { allowedMethods: ['GET'], allowedPaths: ['/things'] } })
    const { queries } = calling.service.database
    const reasonOf = async (members: object = {}) => {
      const { status, body } = await calling.proxy({ dry_run: true, ...members })
      assert.deepEqual([status, body.would_inject, body.dropped_headers], [200, null, []], JSON.stringify(body))
      assert.equal(body.allowed, false)
      return [body.reason, body.grant?.status]
    }
    const { host } = calling.upstream
    assert.deepEqual(await reasonOf({ method: 'POST' }), ['method_not_allowed', 'active'])
    assert.deepEqual(await reasonOf({ url: `https://${host}/other` }), ['path_not_allowed', 'active'])
    assert.deepEqual(await reasonOf({ url: 'https://other.example/things' }), ['host_not_allowed', 'active'])
    assert.deepEqual(await reasonOf({ grant_id: 'grt_00000000000000000000000000' }), ['grant_not_found', undefined])
    await queries.updateTable('connections').set({ status: 'needs_reauth' }).execute()
    assert.deepEqual(await reasonOf(), ['connection_needs_reauth', 'active'])
    await queries.updateTable('connections').set({ status: 'active' }).execute()
    await setGrant(calling, { max_calls: 2 })
    await queries.updateTable('grant_usage').set({ calls: 2 }).execute()
    assert.equal((await reasonOf())[0], 'grant_exhausted')
    await setGrant(calling, { max_calls: null, expires_at: 1 })
    assert.deepEqual(await reasonOf(), ['grant_expired', 'expired'])
    await setGrant(calling, { revoked_at: 1 })
    assert.deepEqual(await reasonOf(), ['grant_revoked', 'revoked'])
    assert.deepEqual(await recorded(calling.service, 'proxy.'), [])
    assert.equal(calling.upstream.connections(), 0)
  })

  test('counts against the rate limit, as the call would', async (t) => {
    const { proxy } = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '1', SALLYPORT_PROXY_BURST_PER_AGENT: '2' },
    })
    assert.equal((await proxy({ dry_run: true })).body.allowed, true)
    assert.equal((await proxy()).status, 200)
    for (const members of [{ dry_run: true }, {}]) {
      const { status, body } = await proxy(members)
      assert.deepEqual([status, body.error.code], [429, 'rate_limited'])
    }
  })

  test('counts as a call in flight while it runs', async (t) => {
    const turn = Promise.withResolvers<undefined>()
    const arrival = Promise.withResolvers<undefined>()
    const { proxy } = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1' },
      answer: (response) => {
        arrival.resolve(undefined)
        void turn.promise.then(() => response.end())
      },
    })
    for (let run = 0; run < 3; run++) assert.equal((await proxy({ dry_run: true })).status, 200)
    const underWay = proxy()
    await soon(arrival.promise)
    assert.equal((await proxy({ dry_run: true })).status, 429)
    turn.resolve(undefined)
    assert.equal((await underWay).status, 200)
  })

  test('of a malformed call is refused like the call', async (t) => {
    const { proxy } = await startCalling(t, engine)
    for (const [members, field] of [
      [{ url: 'nonsense' }, 'url'],
      [{ method: 'TRACE' }, 'method'],
      [{ headers: { 'x\n': 'y' } }, 'headers.x\n'],
    ] as const) {
      const { status, body } = await proxy({ dry_run: true, ...members })
      assert.deepEqual([status, body.error.field], [400, field])
    }
  })
})

onBothDatabases('a policy error', (engine) => {
  test('has an access request that can be posted as it is', async (t) => {
    const calling = await startCalling(t, engine, {
      terms: { allowedMethods: ['GET'], allowedPaths: ['/things'], maxCalls: 1 },
    })
    const { service, upstream, agent } = calling
    const wanted = (method: string) => ({ provider: 'acme', hosts: [upstream.host], methods: [method] })
    const wayOf = async (members: object) => {
      const { status, body } = await calling.proxy(members)
      assert.ok([403, 404].includes(status), JSON.stringify(body))
      return body.error.access_request
    }
    const unknown = { grant_id: 'grt_00000000000000000000000000' }
    assert.deepEqual(await wayOf({ method: 'post' }), wanted('POST'))
    assert.deepEqual(await wayOf({ url: `https://${upstream.host}/other` }), wanted('GET'))
    assert.deepEqual(await wayOf(unknown), wanted('GET'))
    assert.equal((await calling.proxy()).status, 200)
    assert.deepEqual(await wayOf({}), wanted('GET'), 'it is used up')
    await setGrant(calling, { revoked_at: 1 })
    assert.deepEqual(await wayOf({ method: 'DELETE' }), wanted('DELETE'))
    const asked = await service.call('POST', '/v4/access-requests', { token: agent.token, body: wanted('DELETE') })
    assert.equal(asked.status, 201, asked.text)
  })

  test('has none for a host without a provider or with a disabled one', async (t) => {
    const calling = await startCalling(t, engine)
    const { service } = calling
    const unknown = { grant_id: 'grt_00000000000000000000000000' }
    for (const members of [{ url: 'https://other.example/' }, { ...unknown, url: 'https://other.example/' }]) {
      const { status, body } = await calling.proxy(members)
      assert.ok([403, 404].includes(status))
      assert.ok(!('access_request' in body.error))
    }
    await service.call('POST', `/v4/providers/${calling.providerId}/disable`, { token: service.adminToken })
    await setGrant(calling, { revoked_at: 1 })
    for (const [members, code] of [
      [unknown, 'grant_not_found'],
      [{}, 'grant_revoked'],
    ] as const) {
      const { body } = await calling.proxy(members)
      assert.deepEqual([body.error.code, body.error.access_request], [code, undefined])
    }
  })
})
