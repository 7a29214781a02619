import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'

onBothDatabases('the Host', (engine) => {
  test("a host other than the base URL's is wrong_host", async (t) => {
    const service = await startService(t, engine)
    for (const host of [
      'evil.example',
      'localhost',
      'localhost:80',
      'localhost:8788',
      'localhost:87870',
      '127.0.0.1:8787',
      '[::1]:8787',
      'localhost.:8787',
      'localhost:8787.evil.example',
      'evil.example@localhost:8787',
      'localhost:8787, evil.example',
    ]) {
      for (const path of ['/v4/agents/register', '/', '/openapi.json', '/metrics', '/nothing', '/%zz', '/healthz/x']) {
        const reply = await service.call('GET', path, { headers: { host } })
        assert.deepEqual([reply.status, reply.body.error.code], [421, 'wrong_host'], `${host} ${path}`)
      }
    }
    const { error } = (await service.call('GET', '/', { headers: { host: 'evil.example' } })).body
    assert.match(error.message, /http:\/\/localhost:8787/)
  })

  test('the host is case-insensitive, and its default port may be given', async (t) => {
    const service = await startService(t, engine)
    assert.equal((await service.call('GET', '/', { headers: { host: 'LocalHost:8787' } })).status, 200)
    for (const [base, port] of [
      ['http://sallyport.example', '80'],
      ['https://sallyport.example', '443'],
    ] as const) {
      const named = await startService(t, engine, { SALLYPORT_BASE_URL: base })
      const statusFor = async (host: string) => (await named.call('GET', '/', { headers: { host } })).status
      assert.equal(await statusFor('sallyport.example'), 200)
      assert.equal(await statusFor(`Sallyport.Example:${port}`), 200)
      assert.equal(await statusFor('sallyport.example:8787'), 421)
      assert.equal(await statusFor(`sallyport.example:${port === '80' ? '443' : '80'}`), 421)
    }
  })

  test('health probes may use the IP address', async (t) => {
    const service = await startService(t, engine)
    for (const path of ['/healthz', '/readyz']) {
      const reply = await service.call('GET', path, { headers: { host: '10.0.0.7:8787' } })
      assert.deepEqual([reply.status, reply.body.status], [200, 'ok'])
    }
  })

  test('X-Forwarded-Host has no effect, not even from a trusted proxy', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_TRUST_PROXY: '127.0.0.1' })
    const forwarded = (host: string, claimed: string) =>
      service.call('GET', '/', { headers: { host, 'x-forwarded-host': claimed } })
    assert.equal((await forwarded('evil.example', 'localhost:8787')).status, 421)
    assert.equal((await forwarded('localhost:8787', 'evil.example')).status, 200)
  })

  test('a call without a Host is refused', async (t) => {
    const { app } = await startService(t, engine)
    await app.http.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((app.http.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    socket.end('GET /openapi.json HTTP/1.0\r\n\r\n')
    const answer = await text(socket)
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /"code":"invalid_http"/)
  })
})
