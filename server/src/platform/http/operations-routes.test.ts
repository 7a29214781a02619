import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { agentInSandbox } from '../../../testkit/sandbox.ts'
import { startService } from '../../../testkit/service.ts'

onBothDatabases('operations', (engine) => {
  test('healthz and readyz say ok to anyone', async (t) => {
    const service = await startService(t, engine)
    for (const path of ['/healthz', '/readyz']) {
      const { status, body } = await service.call('GET', path)
      assert.deepEqual([status, body], [200, { status: 'ok' }])
    }
  })

  test('from the stop signal on the service is not_ready, and calls are still answered', async (t) => {
    const service = await startService(t, engine)
    service.app.beginStop()
    const { status, body } = await service.call('GET', '/readyz')
    assert.deepEqual([status, body.error.code], [503, 'not_ready'])
    assert.equal((await service.call('GET', '/healthz')).status, 200)
    assert.equal((await service.call('POST', '/v4/agents/register', { body: { name: 'a' } })).status, 201)
  })

  test('metrics are for the admin alone', async (t) => {
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

  test('metrics on a port of their own are not served here', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_METRICS_PORT: '9464' })
    assert.equal((await service.call('GET', '/metrics', { token: service.adminToken })).status, 404)
  })

  test('metrics are labelled by route and outcome, never by what a caller made up', async (t) => {
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
    assert.match(text, /sallyport_proxy_calls_total\{outcome="answered"\} 1/)
    assert.match(text, /sallyport_proxy_calls_total\{outcome="refused"\} 1/)
  })
})
