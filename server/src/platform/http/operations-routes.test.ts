import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { agentInSandbox } from '../../../testkit/sandbox.ts'
import { startService } from '../../../testkit/service.ts'
import { migrations } from '../../migrations/migrations.ts'

onBothDatabases('operations', (engine) => {
  test('healthz and readyz say ok to anyone', async (t) => {
    const service = await startService(t, engine)
    const alive = await service.call('GET', '/healthz')
    assert.deepEqual([alive.status, alive.body], [200, { status: 'ok' }])
    const ready = await service.call('GET', '/readyz')
    assert.deepEqual([ready.status, ready.body], [200, { status: 'ok', clock_offset_ms: 0 }])
  })

  test('from the stop signal on the service is not_ready, and calls are still answered', async (t) => {
    const service = await startService(t, engine)
    service.app.beginStop()
    const { status, body } = await service.call('GET', '/readyz')
    assert.deepEqual([status, body.error.code], [503, 'not_ready'])
    assert.equal((await service.call('GET', '/healthz')).status, 200)
    assert.equal((await service.call('POST', '/v4/agents/register', { body: { name: 'a' } })).status, 201)
  })

  test('readyz says that a newer version has changed the schema', async (t) => {
    const service = await startService(t, engine)
    const newer = { number: migrations.length + 1, name: 'from the future', applied_at: 0 }
    await service.database.queries.insertInto('migrations').values(newer).execute()
    const { status, body } = await service.call('GET', '/readyz')
    assert.deepEqual([status, body.error.code], [503, 'not_ready'])
    assert.match(body.error.message, /newer version/)
  })

  test('readyz needs a database that can be written to, and is ready again with it', async (t) => {
    const service = await startService(t, engine)
    const [off, on] = {
      sqlite: ['pragma query_only = on', 'pragma query_only = off'],
      postgres: ['alter table rate_limits rename to gone', 'alter table gone rename to rate_limits'],
    }[engine]
    const run = (text: string) => sql.raw(text).execute(service.database.queries)
    await run(off ?? '')
    const { status, body } = await service.call('GET', '/readyz')
    await run(on ?? '')
    assert.deepEqual([status, body.error.code], [503, 'not_ready'])
    assert.equal((await service.call('GET', '/readyz')).status, 200)
  })

  test('healthz reports a stuck transaction', async (t) => {
    const service = await startService(t, engine)
    assert.equal((await service.call('GET', '/healthz')).status, 200)
    const release = Promise.withResolvers<undefined>()
    const stuck = service.database.transaction(() => release.promise)
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + 121_000)
    const { status, body } = await service.call('GET', '/healthz')
    release.resolve(undefined)
    await stuck
    assert.deepEqual([status, body.error.code], [503, 'not_ready'])
    assert.equal((await service.call('GET', '/healthz')).status, 200)
  })

  test('metrics are for the admin only', async (t) => {
    const service = await startService(t, engine)
    const { token: agent } = await service.registerAgent()
    const { token: user, cookie } = await service.logIn()
    assert.equal((await service.call('GET', '/metrics')).status, 401)
    assert.equal((await service.call('GET', '/metrics', { token: agent })).status, 403)
    assert.equal((await service.call('GET', '/metrics', { token: user })).status, 403)
    assert.equal((await service.call('GET', '/metrics', { headers: { cookie } })).status, 403)
    const { status, headers } = await service.call('GET', '/metrics', { token: service.adminToken })
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^text\/plain/)
  })

  test('a metrics token reads the metrics and nothing else', async (t) => {
    const token = 'a-metrics-token-of-32-or-more-characters'
    const service = await startService(t, engine, { SALLYPORT_METRICS_TOKEN: token })
    assert.equal((await service.call('GET', '/metrics', { token })).status, 200)
    assert.equal((await service.call('GET', '/metrics', { token: service.adminToken })).status, 200)
    assert.equal((await service.call('GET', '/metrics', { token: `${token}x` })).status, 401)
    const { paths } = (await service.call('GET', '/openapi.json')).body
    const routes = Object.entries<object>(paths).flatMap(([path, one]) =>
      Object.keys(one).map((method) => [method, path]),
    )
    assert.ok(routes.length > 50, 'it looks at every route')
    for (const [method = '', path = ''] of routes) {
      const call = (by: { token?: string }) => service.call(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), by)
      const [without, withIt] = [(await call({})).status, (await call({ token })).status]
      // What anyone may call looks at no credential.
      assert.equal(withIt, without === 401 ? 403 : without, `${method} ${path}`)
    }
    assert.ok(!service.log.join('').includes(token))
  })

  test('metrics on a port of their own are not served here', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_METRICS_PORT: '9464' })
    assert.equal((await service.call('GET', '/metrics', { token: service.adminToken })).status, 404)
  })

  test('metrics are labelled by route and outcome, never by text from a caller', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    await proxy()
    await proxy({ url: 'https://made-up.example/' })
    for (const path of [
      '/made-up',
      '/v4/made-up',
      '/made-up.html?made-up=1',
      '/%zz/made-up',
      '/docs/static/made-up',
      '/v4/agents/made-up/disable',
      '/v4/sandbox/echo?made-up=1',
    ]) {
      for (const method of ['GET', 'POST', 'PROPFIND']) await service.call(method, path, { token: service.adminToken })
    }
    const { text } = await service.call('GET', '/metrics', { token: service.adminToken })
    assert.doesNotMatch(text, /made-up|none_|agt_|grt_|sp_/)
    assert.match(
      text,
      /sallyport_http_request_duration_seconds_count\{method="POST",route="\/v4\/proxy",status="200"\} 1/,
    )
    assert.match(text, /route="\/v4\/agents\/:id\/disable",status="404"/)
    assert.match(text, /route="\(none\)",status="404"/)
    assert.match(text, /sallyport_proxy_calls_total\{outcome="answered",provider="sandbox"\} 1/)
    assert.match(text, /sallyport_proxy_calls_total\{outcome="refused",provider="sandbox"\} 1/)
  })
})

test('on PostgreSQL readyz does not wait for connections that are in use', async (t) => {
  const service = await startService(t, 'postgres', { SALLYPORT_DATABASE_CONNECTIONS: '1' })
  const release = Promise.withResolvers<undefined>()
  const using = service.database.transaction(async (tx) => {
    await sql`select 1`.execute(tx)
    await release.promise
  })
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  const { text } = await service.call('GET', '/metrics', { token: service.adminToken })
  assert.match(text, /^sallyport_database_connections_used 1$/m)
  release.resolve(undefined)
  await using
})
