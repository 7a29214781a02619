import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import type { TestService } from '../../../testkit/service.ts'

const onePerMinute = { SALLYPORT_REGISTRATIONS_PER_MINUTE: '1' }

function register(service: TestService, from: string, forwardedFor?: string) {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
  return service.call('POST', '/v4/agents/register', { body: { name: 'a' }, from, headers })
}

onBothDatabases('the client address of a call', (engine) => {
  test('X-Forwarded-For is ignored unless a proxy is trusted', async (t) => {
    const service = await startService(t, engine, onePerMinute)
    assert.equal((await register(service, '192.0.2.1', '198.51.100.1')).status, 201)
    assert.equal((await register(service, '192.0.2.1', '198.51.100.2')).status, 429)
    assert.equal((await register(service, '198.51.100.1')).status, 201)
  })

  test('X-Forwarded-For counts only from a trusted proxy, up to the last untrusted address', async (t) => {
    const service = await startService(t, engine, { ...onePerMinute, SALLYPORT_TRUST_PROXY: '192.0.2.1, 10.0.0.0/8' })
    assert.equal((await register(service, '192.0.2.1', '198.51.100.1')).status, 201)
    assert.equal((await register(service, '192.0.2.1', '198.51.100.2')).status, 201)
    assert.equal((await register(service, '192.0.2.1', '198.51.100.2')).status, 429)
    assert.equal((await register(service, '192.0.2.1', '203.0.113.9, 198.51.100.2, 10.1.2.3')).status, 429)
    assert.equal((await register(service, '192.0.2.2', '198.51.100.3')).status, 201)
    assert.equal((await register(service, '192.0.2.2', '198.51.100.4')).status, 429, 'not a proxy of ours')
  })
})
