import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'

/** What anyone may read without a credential, and is the same for everyone. */
const documents = ['/openapi.json', '/docs/json', '/docs/yaml', '/llms.txt']

onBothDatabases('public documents', (engine) => {
  test('are made once, however many read them', async (t) => {
    const service = await startService(t, engine)
    const reference = (await service.call('GET', '/openapi.json')).body
    await service.call('GET', '/docs/yaml')
    const parsed = service.app.http.swagger()
    let serialised = 0
    // Whatever writes the document as JSON or YAML reads this member of it.
    const { info } = parsed
    Object.defineProperty(parsed, 'info', { enumerable: true, get: () => (serialised++, info) })
    for (const path of documents) await service.call('GET', path)
    const once = serialised
    for (let reader = 0; reader < 20; reader++) {
      for (const path of documents) assert.equal((await service.call('GET', path)).status, 200)
    }
    assert.equal(serialised, once)
    assert.deepEqual((await service.call('GET', '/docs/json')).body, reference)
  })

  test('say how long they may be cached, and are not sent again to who has them', async (t) => {
    const { call } = await startService(t, engine)
    for (const path of documents) {
      const { status, text, headers } = await call('GET', path)
      assert.deepEqual([status, headers['cache-control']], [200, 'public, max-age=300'], path)
      const etag = String(headers['etag'])
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await call('GET', path, { headers: { 'if-none-match': known } })
        assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag], path)
      }
      const other = await call('GET', path, { headers: { 'if-none-match': '"other"' } })
      assert.deepEqual([other.status, other.text], [200, text], path)
      const head = await call('HEAD', path)
      assert.deepEqual([head.status, head.text, head.headers['etag']], [200, '', etag], path)
    }
  })
})
