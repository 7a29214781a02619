import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../../testkit/service.ts'

test('a path under the reference that leads to no file is not found', async (t) => {
  const { call } = await startService(t, 'sqlite')
  for (const path of ['%00', 'a%00b', '%2f..%2f..%2fpackage.json', 'a'.repeat(300), '%5c..%5c', 'none']) {
    const { status, body } = await call('GET', `/docs/static/${path}`)
    assert.deepEqual([status, body.error.code], [404, 'not_found'], path)
  }
})

test('a method that needs a body and comes without one is no fault of ours', async (t) => {
  const { call } = await startService(t, 'sqlite')
  for (const path of ['/', '/v4/agents/me', '/nowhere']) {
    const { status, body } = await call('QUERY', path)
    assert.deepEqual([status, body.error.code], [415, 'unsupported_media_type'], path)
  }
})
