import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { keyPair, read, refusal, register, save, saveBody } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'
import { masterKeySource } from '../platform/operations/instance.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { sealedColumns } from '../sealed-columns.ts'

const full = [400, 'payload_invalid', 'data_envelope']

onBothDatabases('v1 storage limits', (engine) => {
  test('keys per client are limited; overwriting one does not count again', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_V1_KEYS_PER_CLIENT: '3' })
    const client = await register(service)
    const items = ['a', 'b', 'c'].map((key) => ({ key, value: key }))
    await save(service, client, items)
    await save(service, client, [{ key: 'a', value: 'again' }])
    const body = saveBody(service, client, [
      { key: 'b', value: 'not this' },
      { key: 'd', value: 'one too many' },
    ])
    assert.deepEqual(refusal(await service.call('POST', '/v1/kv/save', { body })), full)
    const found = await read(service, client, ['a', 'b', 'd'])
    assert.deepEqual(
      found.items.map(({ value }: { value: string }) => value),
      ['again', 'b'],
      'all or nothing',
    )
    assert.deepEqual(found.missing, ['d'])
  })

  test('bytes are limited per client and over all clients', async (t) => {
    const settings = { SALLYPORT_V1_BYTES_PER_CLIENT: '4096', SALLYPORT_V1_BYTES_IN_ALL: '5000' }
    const service = await startService(t, engine, settings)
    const [one, other] = [await register(service, keyPair(0)), await register(service, keyPair(1))]
    const attempt = async (client: typeof one, length: number) => {
      const body = saveBody(service, client, [{ key: 'a', value: 'x'.repeat(length) }])
      return service.call('POST', '/v1/kv/save', { body })
    }
    assert.deepEqual(refusal(await attempt(one, 4000)), full)
    await save(service, one, [{ key: 'a', value: 'x'.repeat(3000) }])
    const refused = await attempt(other, 3000)
    assert.deepEqual(refusal(refused), [429, 'rate_limited', undefined])
    assert.equal(refused.headers['retry-after'], '3600')
    await save(service, one, [{ key: 'a', value: 'less' }])
    await save(service, other, [{ key: 'a', value: 'x'.repeat(3000) }])
    service.clock.advance(60)
    assert.equal((await attempt(one, 3000)).status, 429, 'added up anew')
  })

  test('many values of the largest size can be read in one call', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const value = 'x'.repeat(65_534)
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const half of [keys.slice(0, 15), keys.slice(15)]) {
      await save(
        service,
        client,
        half.map((key) => ({ key, value })),
      )
    }
    const { items } = await read(service, client, keys)
    assert.ok(items.length === 30 && items.every((item: { value: string }) => item.value === value))
  })

  test('after a key rotation all v1 data is re-encrypted and works', async (t) => {
    const keyFile = join(temporaryFolder(t), 'master-key')
    writeFileSync(keyFile, newMasterKey().text.reveal(), { mode: 0o600 })
    const settings = { SALLYPORT_MASTER_KEY: undefined, SALLYPORT_MASTER_KEY_FILE: keyFile }
    const service = await startService(t, engine, settings)
    const { database, vault, clock, config } = service
    const client = await register(service)
    await save(service, client, [{ key: 'a', value: 1 }])
    const keysIn = async () => [
      ...(await database.queries.selectFrom('v1_items').select('content_key_id as id').execute()),
      ...(await database.queries.selectFrom('v1_clients').select('lookup_key_key_id as id').execute()),
      ...(await database.queries.selectFrom('v1_service_keys').select('private_key_key_id as id').execute()),
    ]
    const before = new Set((await keysIn()).map(({ id }) => id))
    const needs = { database, vault, source: masterKeySource(config), sealedColumns, newMasterKey, clock: clock.now }
    await rotateKeys({ ...needs, onProgress: () => undefined })
    const after = (await keysIn()).map(({ id }) => id)
    assert.ok(after.length === 3 && after.every((id) => !before.has(id)))
    assert.equal((await read(service, client, ['a'])).items[0].value, 1)
  })

  test('a body larger than any valid save is not read', async (t) => {
    const service = await startService(t, engine)
    const body = { data_envelope: 'x'.repeat(2 * 1024 * 1024) }
    const reply = await service.call('POST', '/v1/kv/save', { body })
    assert.deepEqual([reply.status, reply.body.error.code], [413, 'body_too_large'])
  })
})
