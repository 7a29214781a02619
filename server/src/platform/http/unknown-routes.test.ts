import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'

onBothDatabases('paths', (engine) => {
  test('an unknown path is not_found with any method', async (t) => {
    const service = await startService(t, engine)
    for (const path of [
      '/v4/nothing',
      '/v4/agents/',
      '/v4/agents/a/b/disable',
      '/V4/agents',
      '/v5/agents',
      '/nothing.html',
      '/../package.json',
      '/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/%zz',
      '/v4/agents/%ff/disable',
      '//evil.example',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        const reply = await service.call(method, path)
        assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'], `${method} ${path}`)
        assert.equal(reply.headers['allow'], undefined)
      }
    }
  })

  test('an invalid id is not_found', async (t) => {
    const service = await startService(t, engine)
    for (const id of ['a', 'a'.repeat(101), 'a'.repeat(8000), '%00', 'agt_%00', '%F0%9F%99%82']) {
      const path = `/v4/agents/${id}/disable`
      const reply = await service.call('POST', path, { token: service.adminToken })
      assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'], id)
      assert.equal((await service.call('POST', path)).status, 401, 'to whoever may not ask it says nothing')
    }
  })

  test('a wrong method is http_method_not_supported, and Allow lists the right ones', async (t) => {
    const service = await startService(t, engine)
    const cases: [string, string, string][] = [
      ['GET', '/v4/auth/login', 'POST'],
      ['DELETE', '/v4/agents', 'GET, HEAD'],
      ['OPTIONS', '/v4/agents', 'GET, HEAD'],
      ['GET', '/v4/agents/agt_1/disable', 'POST'],
      ['GET', '/v4/auth/sessions/ses_1?a=b', 'DELETE'],
      ['TRACE', '/v4/sandbox/echo', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'],
      ['POST', '/healthz', 'GET, HEAD'],
    ]
    for (const [method, path, allow] of cases) {
      const reply = await service.call(method, path, { token: service.adminToken })
      assert.deepEqual([reply.status, reply.body?.error.code], [405, 'http_method_not_supported'], `${method} ${path}`)
      assert.equal(reply.headers['allow'], allow)
    }
  })
})
