/** Anybody can send what takes long to read. It is refused before it holds up others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authEnvelope, authPayload, refresh, refusal, register, saveBody, seal } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'

const listOf = (count: number) => `[${Array<string>(count).fill('{}').join(',')}]`

test('an auth_envelope over 16 KB is refused without decrypting', async (t) => {
  const service = await startService(t, 'sqlite')
  const client = await register(service)
  const { serviceKey } = client
  const padded = (bytes: number) => {
    const text = JSON.stringify(authPayload(service, client, 'authai.refresh'))
    return { auth_envelope: seal(serviceKey, Buffer.from(text.padEnd(bytes))) }
  }
  const call = (bytes: number) => service.call('POST', '/v1/authai/refresh', { body: padded(bytes) })
  assert.deepEqual(refusal(await call(16 * 1024 + 1)), [400, 'invalid_auth_envelope', 'auth_envelope'])
  assert.equal((await call(16 * 1024)).status, 200)
})

test('a save is limited in the number of JSON values, not only in bytes', async (t) => {
  const service = await startService(t, 'sqlite')
  const client = await register(service)
  const save = (values: string[]) => {
    const items = values.map((value, index) => `{"key":"${index}","value":${value}}`)
    const text = `{"v":"ksp1","type":"kv.save","namespace":"a","items":[${items.join(',')}]}`
    const auth_envelope = authEnvelope(service, client, 'kv.save')
    return service.call('POST', '/v1/kv/save', {
      body: { auth_envelope, data_envelope: seal(client.serviceKey, Buffer.from(text)) },
    })
  }
  const largest = listOf(21_845)
  assert.equal(Buffer.byteLength(largest), 64 * 1024)
  const crowded = Array<string>(15).fill(largest)
  assert.deepEqual(refusal(await save(crowded)), [400, 'payload_invalid', 'data_envelope'])
  assert.equal((await save([largest])).status, 200)
})

test('a body with too many JSON values is refused before parsing', async (t) => {
  const service = await startService(t, 'sqlite')
  const client = await register(service)
  const { auth_envelope, data_envelope } = saveBody(service, client, [{ key: 'a', value: 1 }])
  const body = { auth_envelope, data_envelope, more: Array<object>(6000).fill({}) }
  assert.deepEqual(refusal(await service.call('POST', '/v1/kv/save', { body })), [400, 'invalid_field', 'body'])
  assert.equal((await refresh(service, client)).status, 200)
})
