import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../testkit/service.ts'

test('a path that is not there is not found, whatever the method', async (t) => {
  const { call } = await startService(t, 'sqlite')
  for (const path of ['/nothing', '/v4/nothing', '/pages/index.html']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, body } = await call(method, path)
      assert.deepEqual({ status, code: body.error.code }, { status: 404, code: 'not_found' }, `${method} ${path}`)
    }
  }
})

test('the pages are there, and take no other method', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const page = await call('GET', '/')
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  const refused = await call('POST', '/')
  assert.equal(refused.body.error.code, 'http_method_not_supported')
  assert.equal(refused.headers['allow'], 'GET, HEAD')
})
