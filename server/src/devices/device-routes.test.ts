import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice, signAction } from '../../testkit/device.ts'
import { startService } from '../../testkit/service.ts'
import type { Reply, TestService } from '../../testkit/service.ts'

function refusal({ status, body }: Reply): [number, string] {
  return [status, body.error.code as string]
}

const remove = (service: TestService, token: string, deviceId: string, body?: object) =>
  service.call('DELETE', `/v4/devices/${deviceId}`, { token, body })

const me = (service: TestService, token: string) => service.call('GET', '/v4/auth/me', { token })

onBothDatabases('devices', (engine) => {
  test('a user sees their own devices, newest first, revoked ones too, in pages', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const ids: string[] = []
    for (const name of ['one', 'two', 'three']) {
      ids.unshift((await pairDevice(service, person, { name, withKey: name === 'two' })).deviceId)
      service.clock.advance(1)
    }
    await pairDevice(service, await service.logIn())
    await remove(service, person.token, ids[2] ?? '')
    const list = async (query: string) => {
      const { status, body } = await service.call('GET', `/v4/devices${query}`, { token: person.token })
      assert.equal(status, 200)
      return body as {
        devices: { device_id: string; device_name: string; status: string }[]
        next_cursor: string | null
      }
    }
    const { devices, next_cursor } = await list('')
    assert.deepEqual(
      devices.map((one) => [one.device_id, one.device_name, one.status]),
      [
        [ids[0], 'three', 'active'],
        [ids[1], 'two', 'active'],
        [ids[2], 'one', 'revoked'],
      ],
    )
    assert.equal(next_cursor, null)
    const named = async (query: string) => (await list(query)).devices.map((one) => one.device_name)
    assert.deepEqual(await named('?status=active'), ['three', 'two'])
    assert.deepEqual(await named('?status=revoked'), ['one'])
    const first = await list('?limit=2')
    assert.deepEqual(await named(`?limit=2&cursor=${first.next_cursor}`), ['one'])
  })

  test('a removed device is unauthenticated at once, and removing it again changes nothing', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const phone = await pairDevice(service, person)
    service.clock.advance(5)
    const { status, body } = await remove(service, person.token, phone.deviceId)
    assert.deepEqual([status, body.status, body.revoked_at], [200, 'revoked', '2026-11-15T12:00:05.000Z'])
    assert.deepEqual(refusal(await me(service, phone.token)), [401, 'unauthenticated'])
    service.clock.advance(5)
    assert.deepEqual((await remove(service, person.token, phone.deviceId)).body, body)
    const events = await recorded(service, 'device.revoked')
    assert.deepEqual(
      events.map(({ user_id, detail }) => [user_id, detail]),
      [[person.userId, { device_id: phone.deviceId, by: 'user' }]],
    )
  })

  test('users change only their own devices, and a device removes only itself', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const phone = await pairDevice(service, person, { withKey: false })
    const tablet = await pairDevice(service, person)
    const stranger = await service.logIn()
    const theirs = await pairDevice(service, stranger)
    for (const [token, deviceId] of [
      [stranger.token, phone.deviceId],
      [phone.token, tablet.deviceId],
      [phone.token, theirs.deviceId],
      [person.token, 'dev_none'],
    ] as const) {
      assert.deepEqual(refusal(await remove(service, token, deviceId)), [404, 'not_found'])
    }
    const enrol = await service.call('POST', `/v4/devices/${phone.deviceId}/enrol`, { token: stranger.token })
    assert.deepEqual(refusal(enrol), [404, 'not_found'])
    assert.equal((await remove(service, phone.token, phone.deviceId)).body.status, 'revoked')
    assert.equal((await me(service, phone.token)).status, 401)
    assert.equal((await me(service, tablet.token)).status, 200)
    const [event] = await recorded(service, 'device.revoked')
    assert.deepEqual(event?.detail, { device_id: phone.deviceId, by: 'device' })
  })

  test("a device session outlives the user's session, ends with the user, and is bearer-only", async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const phone = await pairDevice(service, person)
    await service.call('POST', '/v4/auth/logout-all', { token: person.token })
    service.clock.advance(400 * 86_400)
    assert.equal((await me(service, phone.token)).status, 200)
    const headers = { cookie: `svc_session=${phone.token}` }
    assert.deepEqual(refusal(await service.call('GET', '/v4/auth/me', { headers })), [401, 'unauthenticated'])
    await service.call('POST', `/v4/users/${person.userId}/disable`, { token: service.adminToken })
    assert.deepEqual(refusal(await me(service, phone.token)), [401, 'unauthenticated'])
  })

  test('a device session may only call what is needed to decide', async (t) => {
    const service = await startService(t, engine)
    const { token } = await pairDevice(service, await service.logIn())
    const { paths } = (await service.call('GET', '/openapi.json')).body as { paths: Record<string, object> }
    const all = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((one) => [one, path] as const),
    )
    const reached: string[] = []
    // The stream of events admits a device too, and has no end to wait for: its own tests listen to it.
    for (const [method, path] of all.filter(([, one]) => one.startsWith('/v4/') && one !== '/v4/events')) {
      const call = (options: object) => service.call(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'none'), options)
      if ((await call({})).status !== 401) continue
      // No browser sends a device's token by itself: as a cookie it is nobody's.
      const cookie = { cookie: `svc_session=${token}`, origin: service.config.baseUrl.origin }
      assert.equal((await call({ headers: cookie })).status, 401, path)
      if ((await call({ token })).status !== 403) reached.push(`${method} ${path}`)
    }
    assert.deepEqual(reached.sort(), [
      'delete /v4/devices/{id}',
      'get /v4/access-requests/pending',
      'get /v4/access-requests/{id}',
      'get /v4/auth/me',
      'get /v4/calls',
      'get /v4/calls/repeats',
      'get /v4/calls/{id}',
      'get /v4/connections',
      'get /v4/devices',
      'patch /v4/auth/me',
      'patch /v4/grants/{id}',
      'post /v4/access-requests/{id}/approve',
      'post /v4/access-requests/{id}/challenge',
      'post /v4/access-requests/{id}/deny',
      'post /v4/calls/decide',
      'post /v4/calls/{id}/approve',
      'post /v4/calls/{id}/challenge',
      'post /v4/calls/{id}/deny',
      'post /v4/devices/challenge',
      'post /v4/devices/{id}/enrol',
      'post /v4/devices/{id}/push-token',
      'post /v4/grants/{id}/challenge',
    ])
  })

  test('last_seen_at of a device is kept to the minute', async (t) => {
    const service = await startService(t, engine)
    const phone = await pairDevice(service, await service.logIn())
    const seen = async () => (await service.database.queries.selectFrom('devices').select('last_seen_at').execute())[0]
    const paired = (await seen())?.last_seen_at ?? 0
    service.clock.advance(59)
    await me(service, phone.token)
    assert.equal((await seen())?.last_seen_at, paired)
    service.clock.advance(1)
    await me(service, phone.token)
    assert.equal((await seen())?.last_seen_at, paired + 60_000)
  })

  test('a device without an enrolled key gets no challenge', async (t) => {
    const service = await startService(t, engine)
    const phone = await pairDevice(service, await service.logIn(), { withKey: false })
    const ask = (body: object) => service.call('POST', '/v4/devices/challenge', { token: phone.token, body })
    assert.deepEqual(refusal(await ask({ action: 'off' })), [403, 'device_key_required'])
  })

  test('a challenge contains what to sign, for the three actions only', async (t) => {
    const service = await startService(t, engine)
    const { userId, token } = await service.logIn()
    const phone = await pairDevice(service, { token })
    const ask = (body: object) => service.call('POST', '/v4/devices/challenge', { token: phone.token, body })
    const nonces = new Set<string>()
    for (const action of ['off', `remove:${phone.deviceId}`, `enrol:${phone.thumbprint}`]) {
      const { status, body } = await ask({ action })
      assert.equal(status, 201)
      const { challenge_id, nonce, expires_at, signing_input } = body
      assert.equal(signing_input, `svc-device.v1.${challenge_id}.${nonce}.${userId}.${action}`)
      assert.equal(expires_at, '2026-11-15T12:02:00.000Z')
      assert.equal(Buffer.from(nonce, 'base64url').length, 32)
      nonces.add(nonce as string)
    }
    assert.equal(nonces.size, 3)
    for (const action of [
      '',
      'on',
      'off.',
      'OFF',
      'remove:',
      'remove:dev_1',
      `enrol:${phone.thumbprint}.x`,
      'off\n',
      7,
    ]) {
      const reply = await ask({ action })
      assert.deepEqual(refusal(reply), [400, 'invalid_field'], String(action))
    }
    assert.deepEqual(refusal(await ask({ action: 'off', for: 'me' })), [400, 'invalid_field'])
  })

  test('challenges are limited per device and deleted a day after they expire', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_CHALLENGES_PER_MINUTE: '3' })
    const person = await service.logIn()
    const phone = await pairDevice(service, person)
    for (let count = 0; count < 3; count++) await signAction(service, phone, 'off')
    const ask = () => service.call('POST', '/v4/devices/challenge', { token: phone.token, body: { action: 'off' } })
    assert.deepEqual(refusal(await ask()), [429, 'rate_limited'])
    await signAction(service, await pairDevice(service, person), 'off')
    const rows = async () => (await service.database.queries.selectFrom('challenges').selectAll().execute()).length
    service.clock.advance(120 + 86_400)
    await service.app.sweep()
    assert.equal(await rows(), 4)
    service.clock.advance(0.001)
    await service.app.sweep()
    assert.equal(await rows(), 0)
    assert.equal((await service.database.queries.selectFrom('devices').selectAll().execute()).length, 2, 'devices stay')
  })
})
