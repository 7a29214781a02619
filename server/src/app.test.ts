import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../testkit/service.ts'

test('an unknown path is not found with any method', async (t) => {
  const { call } = await startService(t, 'sqlite')
  for (const path of ['/nothing', '/v4/nothing', '/pages/index.html']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, body } = await call(method, path)
      assert.deepEqual({ status, code: body.error.code }, { status: 404, code: 'not_found' }, `${method} ${path}`)
    }
  }
})

test('the pages are served, and accept no other method', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const page = await call('GET', '/')
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  const refused = await call('POST', '/')
  assert.equal(refused.body.error.code, 'http_method_not_supported')
  assert.equal(refused.headers['allow'], 'GET, HEAD')
})

test('only the page files are served: no directory listing and no path traversal', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const odd = [
    '',
    '.',
    './',
    'sub/',
    '..%2findex.html',
    '%2e%2e/index.html',
    '..%5cindex.html',
    '%00',
    'x.js%00',
    '%252e',
  ]
  for (const rest of odd) {
    const { status, headers } = await call('GET', `/assets/${rest}`)
    assert.deepEqual([status, headers['cache-control']], [404, 'no-store'], rest)
  }
})

test('the authenticator can be installed: the files of its manifest exist', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const manifest = JSON.parse((await call('GET', '/authenticator.webmanifest')).text) as {
    start_url: string
    icons: { src: string; type: string }[]
  }
  for (const { src, type } of [{ src: manifest.start_url, type: 'text/html' }, ...manifest.icons]) {
    const { status, headers } = await call('GET', src)
    assert.equal(status, 200, src)
    assert.ok(String(headers['content-type']).startsWith(type), src)
  }
})

test('the approve page is public, not frameable and not cached, and separate from the API path', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const id = `arq_${'0'.repeat(26)}`
  const { status, headers } = await call('GET', `/approve-proxy/${id}?user=ada`)
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/html/)
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-frame-options'], 'DENY')
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
  const elsewhere = await call('GET', `/v4/access-requests/${id}/approve`)
  assert.equal(elsewhere.body.error.code, 'http_method_not_supported')
})
