import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('forwarded addresses', (engine) => {
  test('a forwarded address with a port is the same client, whatever the port', async (t) => {
    const settings = { SALLYPORT_TRUST_PROXY: '127.0.0.1', SALLYPORT_REGISTRATIONS_PER_MINUTE: '2' }
    const { call } = await startService(t, engine, settings)
    const register = async (forwardedFor: string) => {
      const headers = { 'x-forwarded-for': forwardedFor }
      return (await call('POST', '/v4/agents/register', { body: { name: 'a' }, headers })).status
    }
    for (const address of ['203.0.113.7', '[2001:db8::1]']) {
      assert.deepEqual([await register(`${address}:50001`), await register(`${address}:50002`)], [201, 201])
      assert.equal(await register(`${address}:50003`), 429)
    }
    assert.equal(await register('203.0.113.7'), 429)
    assert.equal(await register('2001:db8::2'), 429)
    assert.equal(await register('203.0.113.8:50001'), 201)
  })
})
