/** Opening tunnels: who may open which, and what happens in them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessToken } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { getOn, getOver, startGateway } from '../../testkit/gateway.ts'

onBothDatabases('a tunnel', (engine) => {
  test('carries calls of HTTP/1.1 and HTTP/2 to the host that it was opened for', async (t) => {
    const { upstream, tunnel, http2, records } = await startGateway(t, engine, {
      answer: (response, { path, headers }) => {
        response.setHeader('content-type', 'text/plain').end(`${path} ${headers.authorization ?? ''}`)
      },
    })
    const first = await getOn(await tunnel(), { path: '/things?a=1', headers: { host: upstream.host } })
    assert.deepEqual([first.status, first.body], [200, '/things?a=1 Bearer [REDACTED]'])
    const session = await http2()
    const paths = ['/two', '/three', '/four']
    const all = await Promise.all(paths.map((path) => getOver(session, { ':path': path })))
    assert.deepEqual(
      all.map(({ status, body }) => [status, body]),
      paths.map((path) => [200, `${path} Bearer [REDACTED]`]),
    )
    assert.ok(upstream.received.every(({ headers }) => headers.authorization === `Bearer ${accessToken}`))
    const attempts = (await records()).filter(({ event }) => event === 'proxy.attempt')
    assert.equal(attempts.length, 4)
    assert.ok(attempts.every(({ detail }) => detail.door === 'gateway' && detail.host === upstream.host))
  })
})
