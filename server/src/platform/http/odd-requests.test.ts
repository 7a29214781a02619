import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'

onBothDatabases('unusual requests', (engine) => {
  test('an invalid path under /docs/static is not found', async (t) => {
    const { call } = await startService(t, engine)
    for (const path of ['%00', 'a%00b', '%2f..%2f..%2fpackage.json', 'a'.repeat(300), '%5c..%5c', 'none']) {
      const { status, body } = await call('GET', `/docs/static/${path}`)
      assert.deepEqual([status, body.error.code], [404, 'not_found'], path)
    }
  })

  test('a QUERY request without a body is 415, not 500', async (t) => {
    const { call } = await startService(t, engine)
    for (const path of ['/', '/v4/agents/me', '/nowhere']) {
      const { status, body } = await call('QUERY', path)
      assert.deepEqual([status, body.error.code], [415, 'unsupported_media_type'], path)
    }
  })

  test('range and precondition headers are ignored: the whole file is sent', async (t) => {
    const { call } = await startService(t, engine)
    const oddities = [
      { range: 'bytes=99999999-' },
      { range: 'bytes=0-1,4-5' },
      { range: 'bytes=0-1', 'if-range': '"x"' },
      { 'if-match': '"x"' },
      { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    ]
    for (const path of ['/favicon.svg', '/authenticator-sw.js', '/docs/static/reference.css']) {
      const { text } = await call('GET', path)
      for (const headers of oddities) {
        const answer = await call('GET', path, { headers })
        assert.deepEqual([answer.status, answer.text === text], [200, true], JSON.stringify(headers))
      }
    }
  })
})
