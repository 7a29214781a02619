import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startGateway } from '../../testkit/gateway.ts'
import { startInstances } from '../../testkit/instances.ts'
import { startService } from '../../testkit/service.ts'
import { usualPort } from './gateway.ts'

onBothDatabases('where the gateway is, and what it has to be trusted for', (engine) => {
  test('agents and tools learn the address, anyone the certificates', async (t) => {
    const { service, agent, key, port } = await startGateway(t, engine)
    const { call, clock, adminToken, logIn } = service
    const pem = await call('GET', '/v4/gateway/ca.pem')
    assert.deepEqual([pem.status, pem.headers['content-type']], [200, 'application/x-pem-file'])
    const { fingerprint256: fingerprint, ca, subject } = new X509Certificate(pem.text)
    assert.ok(ca)
    assert.match(subject, /^CN=Sallyport gateway [0-9a-f]{8}$/)
    for (const token of [agent.token, key]) {
      const { status, body } = await call('GET', '/v4/gateway', { token })
      assert.deepEqual([status, body], [200, { host: '127.0.0.1', port, tls: false, fingerprint }])
    }
    for (const token of [adminToken, (await logIn({ email: 'ada@example.com' })).token]) {
      assert.equal((await call('GET', '/v4/gateway', { token })).status, 403)
    }
    assert.equal((await call('GET', '/v4/gateway')).status, 401)
    clock.advance(61 * 86_400)
    await service.app.sweep()
    const both = (await call('GET', '/v4/gateway/ca.pem')).text
    assert.equal(both.match(/BEGIN CERTIFICATE/g)?.length, 2)
    assert.ok(both.startsWith(pem.text))
    const { token } = await service.registerAgent()
    assert.equal((await call('GET', '/v4/gateway', { token })).body.fingerprint, fingerprint)
  })

  test('all instances show the same authority', async (t) => {
    const instances = await startInstances(t, engine)
    const shown = await Promise.all(
      instances.map(async ({ app, call }) => {
        await app.gateway.listen(0)
        return (await call('GET', '/v4/gateway/ca.pem')).text
      }),
    )
    assert.equal(new Set(shown).size, 1)
    assert.match(shown[0] ?? '', /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/)
  })
})

test('a gateway that is off, or whose usual port is taken, is nowhere', async (t) => {
  const other = createServer().listen(usualPort, '127.0.0.1')
  // Another test, or a service on this machine, may have it.
  await Promise.race([once(other, 'listening'), once(other, 'error')])
  t.after(() => other.close())
  for (const settings of [{ SALLYPORT_GATEWAY_PORT: 'off' }, {}]) {
    const { app, call, registerAgent, log } = await startService(t, 'sqlite', settings)
    await app.gateway.listen()
    const { token } = await registerAgent()
    for (const path of ['/v4/gateway', '/v4/gateway/ca.pem']) {
      const { status, body } = await call('GET', path, { token })
      assert.deepEqual([status, body.error.code], [404, 'not_found'])
      assert.match(body.error.message as string, /^This service has no gateway/)
    }
    const isSaid = log.some((line) => line.includes('the gateway is off: its port is in use'))
    assert.equal(isSaid, settings.SALLYPORT_GATEWAY_PORT === undefined)
  }
  const { app } = await startService(t, 'sqlite', { SALLYPORT_GATEWAY_PORT: String(usualPort) })
  await assert.rejects(app.gateway.listen(), { code: 'EADDRINUSE' })
})
