import assert from 'node:assert/strict'
import { createECDH } from 'node:crypto'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'

const phone = 'ab12'.repeat(16)
const curve = createECDH('prime256v1')
const p256dh = curve.generateKeys('base64url')
const auth = Buffer.alloc(16, 7).toString('base64url')

function subscription(members: object = {}, keys: object = {}): string {
  return JSON.stringify({
    endpoint: 'https://push.example/send/1',
    expirationTime: null,
    keys: { p256dh, auth, ...keys },
    ...members,
  })
}

const setter =
  ({ call }: TestService) =>
  (token: string, deviceId: string, body: object) =>
    call('POST', `/v4/devices/${deviceId}/push-token`, { token, body })

onBothDatabases('push tokens', (engine) => {
  test('a device or its user sets its push token, which is stored encrypted', async (t) => {
    const service = await startService(t, engine)
    const set = setter(service)
    const user = await service.logIn()
    const device = await pairDevice(service, user)
    const { status, body, text } = await set(device.token, device.deviceId, { push_token: phone })
    assert.equal(status, 200, text)
    assert.equal(body.device_id, device.deviceId)
    assert.equal(body.push, true)
    assert.ok(!text.includes(phone))
    const other = 'cd34'.repeat(16)
    const again = await set(user.token, device.deviceId, { push_token: other, push_environment: 'sandbox' })
    assert.equal(again.status, 200, again.text)
    const row = await service.database.queries.selectFrom('devices').selectAll().executeTakeFirstOrThrow()
    assert.equal(row.push_environment, 'sandbox')
    const disk = await stored(service)
    for (const token of [phone, other]) {
      assert.ok(!disk.includes(token))
      assert.ok(!disk.includes(Buffer.from(token, 'hex')))
      assert.ok(!service.log.join('').includes(token))
    }
  })

  test("nobody else can set a device's push token, and a revoked device has none", async (t) => {
    const service = await startService(t, engine)
    const set = setter(service)
    const user = await service.logIn()
    const device = await pairDevice(service, user)
    const sibling = await pairDevice(service, user)
    const stranger = await service.logIn({ email: 'stranger@example.com' })
    const agent = await service.registerAgent()
    const body = { push_token: phone }
    assert.equal((await set(sibling.token, device.deviceId, body)).body.error.code, 'not_found')
    assert.equal((await set(stranger.token, device.deviceId, body)).body.error.code, 'not_found')
    assert.equal((await set(user.token, 'dev_00000000000000000000000000', body)).body.error.code, 'not_found')
    assert.equal((await set(agent.token, device.deviceId, body)).body.error.code, 'forbidden')
    assert.equal((await set(service.adminToken, device.deviceId, body)).body.error.code, 'forbidden')
    assert.equal((await service.call('DELETE', `/v4/devices/${device.deviceId}`, { token: user.token })).status, 200)
    assert.equal((await set(device.token, device.deviceId, body)).body.error.code, 'unauthenticated')
    assert.equal((await set(user.token, device.deviceId, body)).body.error.code, 'not_found')
    const held = service.database.queries.selectFrom('devices').where('push_token', 'is not', null).select('device_id')
    assert.deepEqual(await held.execute(), [])
  })
})

test('a push token has the form of its platform', async (t) => {
  const service = await startService(t, 'sqlite')
  const set = setter(service)
  const user = await service.logIn()
  const [ios, android, web] = await Promise.all(
    (['ios', 'android', 'web'] as const).map((platform) => pairDevice(service, user, { platform })),
  )
  assert.ok(ios && android && web)
  const onCurve = Buffer.from(p256dh, 'base64url')
  const offCurve = Buffer.from(onCurve)
  offCurve.writeUInt8(offCurve.readUInt8(64) ^ 1, 64)
  const compressed = Buffer.concat([Buffer.from([2]), onCurve.subarray(1, 33)])
  const refused: [typeof ios, string][] = [
    [ios, 'ab'.repeat(31)],
    [ios, 'ab'.repeat(101)],
    [ios, `${phone}a`],
    [ios, `${phone.slice(0, -1)}g`],
    [ios, `${phone}/../../x`],
    [android, 'with a space'],
    [android, 'na\u00efve'],
    [web, phone],
    [web, 'null'],
    [web, '[]'],
    [web, subscription({ endpoint: undefined })],
    [web, subscription({ endpoint: 'push' })],
    [web, subscription({ keys: null })],
    [web, subscription({}, { auth: undefined })],
    [web, subscription({}, { auth: auth.slice(0, -3) })],
    [web, subscription({}, { auth: `${auth}==` })],
    [web, subscription({}, { p256dh: offCurve.toString('base64url') })],
    [web, subscription({}, { p256dh: compressed.toString('base64url') })],
    [web, subscription({}, { p256dh: `${p256dh}AAAA` })],
  ]
  for (const [device, push_token] of refused) {
    const { status, body, text } = await set(device.token, device.deviceId, { push_token })
    assert.equal(status, 400, `${push_token} ${text}`)
    assert.deepEqual([body.error.code, body.error.field], ['invalid_field', 'push_token'], push_token)
    assert.ok(!text.includes(push_token) || push_token === 'null')
  }
  const taken: [typeof ios, string][] = [
    [ios, phone.toUpperCase()],
    [ios, 'ab'.repeat(100)],
    [android, 'c:APA91b-_x'.padEnd(4096, 'x')],
    [web, subscription()],
  ]
  for (const [device, push_token] of taken) {
    const { status, text } = await set(device.token, device.deviceId, { push_token })
    assert.equal(status, 200, text)
  }
  assert.equal((await set(ios.token, ios.deviceId, {})).body.error.code, 'missing_field')
  const wrongEnvironment = await set(ios.token, ios.deviceId, { push_token: phone, push_environment: 'beta' })
  assert.deepEqual([wrongEnvironment.status, wrongEnvironment.body.error.field], [400, 'push_environment'])
})

test('a subscription with a private address is refused', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8' })
  const set = setter(service)
  const user = await service.logIn()
  const { token, deviceId } = await pairDevice(service, user, { platform: 'web' })
  const cases: [string, string][] = [
    ['http://push.example/1', 'invalid_url'],
    ['https://me@push.example/1', 'invalid_url'],
    ['https://push.example:8443/1', 'address_not_allowed'],
    ['https://127.0.0.1/1', 'address_not_allowed'],
    ['https://10.0.0.1/1', 'address_not_allowed'],
    ['https://[::1]/1', 'address_not_allowed'],
    ['https://169.254.169.254/latest', 'address_not_allowed'],
  ]
  for (const [endpoint, code] of cases) {
    const { body } = await set(token, deviceId, { push_token: subscription({ endpoint }) })
    assert.deepEqual([body.error.code, body.error.field], [code, 'push_token'], endpoint)
  }
})

test('pairing gives a browser the VAPID key to subscribe with', async (t) => {
  const service = await startService(t, 'sqlite')
  const user = await service.logIn()
  const issued = await service.call('POST', '/v4/devices/pairing-codes', { token: user.token })
  const { pairing_code } = issued.body as { pairing_code: string }
  const { body } = await service.call('POST', '/v4/devices/pair', { body: { pairing_code, platform: 'web' } })
  const point = Buffer.from(body.vapid_public_key as string, 'base64url')
  assert.deepEqual([point.length, point[0]], [65, 4])
})
