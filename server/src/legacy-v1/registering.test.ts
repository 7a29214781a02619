import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { keyPair, newKeyPair, read, refresh, refusal, register, save } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('registering with the legacy protocol', (engine) => {
  test('registering an active key again returns its identity and changes nothing', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service, keyPair(0), { client_label: 'mine', client_key_id: 'k' })
    await save(service, client, [{ key: 'a', value: 1 }])
    const stranger = await register(service, keyPair(0), {
      client_label: 'theirs',
      client_key_id: 'x',
      metadata: { a: 1 },
    })
    assert.equal(stranger.clientUuid, client.clientUuid)
    const row = await service.database.queries.selectFrom('v1_clients').selectAll().executeTakeFirstOrThrow()
    assert.deepEqual([row.label, row.metadata], ['mine', '{}'])
    assert.equal((await read(service, client, ['a'])).items[0].value, 1, 'its own challenge still works')
    const details = (await recorded(service, 'v1.registered')).map(({ detail }) => detail.again as boolean)
    assert.deepEqual(details, [false, true])
  })

  test('registrations are limited per address, and further per key and address', async (t) => {
    const settings = { SALLYPORT_V1_REGISTRATIONS_PER_MINUTE: '4', SALLYPORT_V1_REGISTRATIONS_PER_KEY: '2' }
    const service = await startService(t, engine, settings)
    const attempt = async (index: number, from = '192.0.2.1') => {
      const body = { client_public_key: keyPair(index).pem }
      return (await service.call('POST', '/v1/authai/register', { body, from })).status
    }
    assert.deepEqual([await attempt(0), await attempt(0), await attempt(0)], [201, 201, 429])
    assert.equal(await attempt(0, '192.0.2.2'), 201, 'a stranger does not lock the owner out')
    assert.deepEqual([await attempt(1), await attempt(1), await attempt(2)], [201, 201, 429])
    const { headers } = await service.call('POST', '/v1/authai/register', {
      body: { client_public_key: keyPair(2).pem },
      from: '192.0.2.1',
    })
    assert.equal(headers['retry-after'], '15')
  })

  test('with registration closed, only known keys get a challenge', async (t) => {
    const service = await startService(t, engine)
    await register(service)
    const closed = await startService(t, engine, {
      ...(engine === 'postgres' && { DATABASE_URL: service.config.databaseUrl.read()?.reveal() }),
      SALLYPORT_DATA_DIR: service.config.dataDir,
      SALLYPORT_MASTER_KEY: service.config.masterKey.read()?.reveal(),
      SALLYPORT_V1_REGISTRATION: 'closed',
    })
    await register(closed)
    const body = { client_public_key: keyPair(1).pem }
    assert.deepEqual(refusal(await closed.call('POST', '/v1/authai/register', { body })).slice(0, 2), [
      403,
      'forbidden',
    ])
  })

  test('clients that never authenticate are deleted after an hour', async (t) => {
    const service = await startService(t, engine)
    const busy = await register(service, keyPair(0))
    assert.equal((await refresh(service, busy)).status, 200)
    const idle = await register(service, keyPair(1))
    service.clock.advance(3600)
    await service.app.sweep()
    const again = await register(service, keyPair(1))
    assert.equal(again.clientUuid, idle.clientUuid)
    service.clock.advance(1)
    await service.app.sweep()
    assert.equal((await refresh(service, again)).status, 200, 'it has a challenge left')
    const gone = await register(service, keyPair(2))
    service.clock.advance(86_400 * 2)
    await service.app.sweep()
    const rows = await service.database.queries.selectFrom('v1_clients').select('client_uuid').execute()
    assert.deepEqual(rows.map((row) => row.client_uuid).toSorted(), [busy.clientUuid, idle.clientUuid].toSorted())
    assert.notEqual((await register(service, keyPair(2))).clientUuid, gone.clientUuid)
    const left = await service.database.queries.selectFrom('v1_challenges').select('challenge_id').execute()
    assert.equal(left.length, 1)
  })

  test('a key with the largest exponent is accepted', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service, newKeyPair(2048, 4_294_967_291))
    assert.equal((await refresh(service, client)).status, 200)
  })
})
