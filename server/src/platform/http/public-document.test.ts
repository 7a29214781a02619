import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'

/** What anyone may read without a credential, and is the same for everyone. */
const documents = ['/openapi.json', '/docs', '/docs/json', '/docs/yaml', '/docs/static/reference.css', '/llms.txt']

onBothDatabases('public documents', (engine) => {
  test('are generated once', async (t) => {
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

  test('can be cached and revalidated', async (t) => {
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

  test('files are read from disk once', async (t) => {
    const { call } = await startService(t, engine)
    const page = (await call('GET', '/')).text
    const paths = ['/', '/authenticator', '/favicon.svg', '/docs', '/docs/static/openapi-explorer.js']
    paths.push(...[...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path))
    assert.ok(paths.length > 6)
    for (const path of paths) await call('GET', path)
    const requests: string[] = []
    const hook = createHook({
      init: (_id, type) => {
        if (/^FS|FILEHANDLE/.test(type)) requests.push(type)
      },
    }).enable()
    for (const path of [...paths, '/docs/static/none', '/assets/none.js']) await call('GET', path)
    hook.disable()
    assert.deepEqual(requests, [])
  })

  test('files are compressed if the client accepts it', async (t) => {
    const { call } = await startService(t, engine)
    const [, script = ''] = /src="(\/assets\/[^"]+)"/.exec((await call('GET', '/')).text) ?? []
    const plain = await call('GET', script, { headers: { 'accept-encoding': 'identity' } })
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.match(String(plain.headers['content-type']), /^text\/javascript/)
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['br; q=0.000, gzip;q=0', undefined],
      ['x-br', undefined],
    ] as const) {
      const { headers } = await call('GET', script, { headers: { 'accept-encoding': accepted } })
      assert.deepEqual([headers['content-encoding'], headers['vary']], [encoding, 'accept-encoding'], accepted)
    }
  })
})
