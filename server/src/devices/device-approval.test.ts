/** Attacks on "approve on device only" with a stolen console session. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceMessage } from '@sallyport/protocol/approval-message'
import { sql } from 'kysely'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { newDeviceKey, pairDevice, signAction } from '../../testkit/device.ts'
import type { TestDevice } from '../../testkit/device.ts'
import { startService } from '../../testkit/service.ts'
import type { Reply, TestService } from '../../testkit/service.ts'
import type { Queries } from '../platform/database/database.ts'
import { userStore } from '../sessions/user-store.ts'
import { challengeStore } from './challenge-store.ts'
import { deviceStore } from './device-store.ts'
import { takeSignature } from './take-signature.ts'

type Engine = Parameters<typeof startService>[1]

function refusal({ status, body }: Reply): [number, string, string | undefined] {
  return [status, body.error.code as string, body.error.field as string | undefined]
}

const unsigned = [403, 'device_signature_required', undefined]

/** A user with device-only approval, and a console session that an attacker has too. */
async function guarded(t: Parameters<typeof startService>[0], engine: Engine, settings = {}) {
  const service = await startService(t, engine, settings)
  const person = await service.logIn()
  const phone = await pairDevice(service, person)
  const { token } = person
  const change = (body: object) => service.call('PATCH', '/v4/auth/me', { token, body })
  const off = (signed: object = {}) => change({ require_device_approval: false, ...signed })
  const on = () => change({ require_device_approval: true })
  const remove = (deviceId: string, body?: object, by = token) =>
    service.call('DELETE', `/v4/devices/${deviceId}`, { token: by, body })
  const enrol = (deviceId: string, body?: object, by = token) =>
    service.call('POST', `/v4/devices/${deviceId}/enrol`, { token: by, body })
  const isOn = async () => {
    const { body } = await service.call('GET', '/v4/auth/me', { token })
    return body.user.require_device_approval as boolean
  }
  const deciding = async () => {
    const { body } = await service.call('GET', '/v4/devices?status=active', { token })
    const devices = body.devices as { device_id: string; key: { enrolled: boolean } | null }[]
    return devices.filter(({ key }) => key?.enrolled).map(({ device_id }) => device_id)
  }
  assert.equal((await on()).body.user.require_device_approval, true)
  return { service, person, phone, on, off, change, remove, enrol, isOn, deciding }
}

async function pairAnother(service: TestService, person: { token: string }): Promise<TestDevice> {
  service.clock.advance(1)
  return pairDevice(service, person)
}

onBothDatabases('approve on device only', (engine) => {
  test('an enrolled device can turn it off with a signature, but not on', async (t) => {
    const { service, phone, off, isOn } = await guarded(t, engine)
    const asDevice = (body: object, token = phone.token) => service.call('PATCH', '/v4/auth/me', { token, body })
    assert.deepEqual(refusal(await asDevice({ require_device_approval: false })), unsigned)
    assert.ok(await isOn())
    const signed = await signAction(service, phone, 'off')
    assert.equal((await asDevice({ require_device_approval: false, ...signed })).status, 200)
    assert.ok(!(await isOn()))
    assert.deepEqual(refusal(await asDevice({ require_device_approval: true })), [403, 'forbidden', undefined])
    assert.equal((await off()).status, 200)
  })

  test("a device sees only its user's devices", async (t) => {
    const { service, phone, person } = await guarded(t, engine)
    const other = await pairAnother(service, person)
    await pairDevice(service, await service.logIn({ email: 'somebody@example.com' }))
    const { body } = await service.call('GET', '/v4/devices', { token: phone.token })
    const ids = (body.devices as { device_id: string }[]).map(({ device_id }) => device_id)
    assert.deepEqual(ids.toSorted(), [phone.deviceId, other.deviceId].toSorted())
  })

  test("needs an enrolled device and the user's own session", async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const change = (token: string, body: object) => service.call('PATCH', '/v4/auth/me', { token, body })
    const on = { require_device_approval: true }
    const needsKey = [403, 'device_key_required', undefined]
    assert.deepEqual(refusal(await change(person.token, on)), needsKey)
    await pairDevice(service, person, { withKey: false })
    assert.deepEqual(refusal(await change(person.token, on)), needsKey)
    const phone = await pairDevice(service, person)
    await service.call('DELETE', `/v4/devices/${phone.deviceId}`, { token: person.token })
    assert.deepEqual(refusal(await change(person.token, on)), needsKey)
    await pairDevice(service, await service.logIn())
    assert.deepEqual(refusal(await change(person.token, on)), needsKey, "another's device is none")

    const another = await pairDevice(service, person)
    assert.deepEqual(refusal(await change(another.token, on)), [403, 'forbidden', undefined])
    const signed = await signAction(service, another, 'off')
    assert.deepEqual(refusal(await change(person.token, { ...on, ...signed }))[2], 'challenge_id')
    assert.deepEqual(refusal(await change(person.token, {})), [400, 'missing_field', 'require_device_approval'])
    const { status, body } = await change(person.token, on)
    assert.deepEqual([status, body.user.require_device_approval, body.device], [200, true, null])
    assert.equal((await change(person.token, on)).status, 200, 'again changes nothing')
    const events = await recorded(service, 'device_approval')
    assert.deepEqual(
      events.map(({ event, user_id, detail }) => [event, user_id, detail]),
      [['device_approval.required', person.userId, { devices: [another.deviceId] }]],
    )
  })

  test('a stolen console session cannot turn device-only off', async (t) => {
    const { service, person, phone, off, isOn } = await guarded(t, engine)
    assert.deepEqual(refusal(await off()), unsigned)
    const thief = await pairAnother(service, person)
    const ask = await service.call('POST', '/v4/devices/challenge', { token: thief.token, body: { action: 'off' } })
    assert.deepEqual(refusal(ask), [403, 'device_key_required', undefined], 'its own device gets no challenge')
    const { challenge_id, signature } = await signAction(service, phone, 'off')
    const forged = thief.sign('anything')
    assert.deepEqual(refusal(await off({ challenge_id, signature: forged })), [403, 'invalid_signature', 'signature'])
    assert.deepEqual(refusal(await off({ signature })), [400, 'missing_field', 'challenge_id'])
    assert.deepEqual(refusal(await off({ challenge_id })), [400, 'missing_field', 'signature'])
    assert.equal(await isOn(), true)
    assert.equal((await off({ challenge_id, signature })).body.user.require_device_approval, false)
    const [, lifted] = await recorded(service, 'device_approval')
    assert.deepEqual(
      [lifted?.event, lifted?.detail],
      ['device_approval.lifted', { signed_by: phone.deviceId, challenge_id }],
    )
  })

  test('a stolen console session cannot pair a device that can approve', async (t) => {
    const { service, person, phone, enrol, deciding } = await guarded(t, engine)
    const thief = await pairAnother(service, person)
    assert.deepEqual(await deciding(), [phone.deviceId])
    assert.deepEqual(refusal(await enrol(thief.deviceId)), unsigned)
    assert.deepEqual(refusal(await enrol(thief.deviceId, undefined, thief.token)), unsigned)
    const other = await signAction(service, phone, `enrol:${newDeviceKey().thumbprint}`)
    assert.deepEqual(refusal(await enrol(thief.deviceId, other)), [404, 'not_found', 'challenge_id'])
    const off = await signAction(service, phone, 'off')
    assert.deepEqual(refusal(await enrol(thief.deviceId, off)), [404, 'not_found', 'challenge_id'])
    assert.deepEqual(await deciding(), [phone.deviceId])
  })

  test('a code issued before it was turned on cannot pair a device that can approve', async (t) => {
    const { service, person, phone, off, on, deciding } = await guarded(t, engine)
    await off(await signAction(service, phone, 'off'))
    const { body } = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
    await on()
    const { pairing_code } = body as { pairing_code: string }
    const { publicKey } = newDeviceKey()
    const paired = await service.call('POST', '/v4/devices/pair', { body: { pairing_code, public_key_jwk: publicKey } })
    assert.equal(paired.body.device.key.enrolled, false)
    assert.deepEqual(await deciding(), [phone.deviceId])
  })

  test('a new device can approve once an enrolled one has signed its key', async (t) => {
    const { service, person, phone, enrol, deciding, off } = await guarded(t, engine)
    const tablet = await pairAnother(service, person)
    const signed = await signAction(service, phone, `enrol:${tablet.thumbprint}`)
    const { status, body } = await enrol(tablet.deviceId, signed, tablet.token)
    assert.deepEqual([status, body.key], [200, { thumbprint: tablet.thumbprint, enrolled: true }])
    assert.equal((await enrol(tablet.deviceId)).status, 200, 'again changes nothing')
    assert.deepEqual(await deciding(), [tablet.deviceId, phone.deviceId])
    const [enrolled, ...rest] = await recorded(service, 'device.enrolled')
    assert.deepEqual(rest, [])
    const { challenge_id } = signed
    const { deviceId: device_id, thumbprint: key_thumbprint } = tablet
    assert.deepEqual(enrolled?.detail, { device_id, key_thumbprint, signed_by: phone.deviceId, challenge_id })
    assert.equal((await off(await signAction(service, tablet, 'off'))).status, 200)
  })

  test('neither a stolen console session nor a stolen device session can remove enrolled devices', async (t) => {
    const { service, person, phone, remove, deciding } = await guarded(t, engine)
    const plain = await pairDevice(service, person, { withKey: false })
    for (const { deviceId } of [phone, plain]) assert.deepEqual(refusal(await remove(deviceId)), unsigned)
    assert.deepEqual(refusal(await remove(phone.deviceId, undefined, phone.token)), unsigned)
    assert.deepEqual(refusal(await remove(plain.deviceId, undefined, plain.token)), unsigned)
    const other = await signAction(service, phone, `remove:${plain.deviceId}`)
    assert.deepEqual(refusal(await remove(phone.deviceId, other)), [404, 'not_found', 'challenge_id'])
    assert.deepEqual(await deciding(), [phone.deviceId])
    assert.equal((await remove(plain.deviceId, other)).body.status, 'revoked')
    const [removed] = await recorded(service, 'device.revoked')
    const { challenge_id } = other
    assert.deepEqual(removed?.detail, {
      device_id: plain.deviceId,
      by: 'user',
      signed_by: phone.deviceId,
      challenge_id,
    })
  })

  test('losing the last device does not turn it off; the operator can, on record', async (t) => {
    const { service, person, phone, remove, isOn, off, deciding } = await guarded(t, engine)
    const bye = await signAction(service, phone, `remove:${phone.deviceId}`)
    assert.equal((await remove(phone.deviceId, bye, phone.token)).status, 200)
    const waiting = await pairAnother(service, person)
    assert.deepEqual([await isOn(), await deciding()], [true, []])
    assert.deepEqual(refusal(await off()), unsigned)
    const path = `/v4/users/${person.userId}/reset-device-approval`
    assert.deepEqual(refusal(await service.call('POST', path, { token: person.token })), [403, 'forbidden', undefined])
    const reset = () => service.call('POST', path, { token: service.adminToken })
    const { status, body } = await reset()
    assert.deepEqual([status, body.user_id, body.require_device_approval], [200, person.userId, false])
    assert.equal((await reset()).status, 200)
    const nobody = await service.call('POST', '/v4/users/usr_none/reset-device-approval', { token: service.adminToken })
    assert.deepEqual(refusal(nobody), [404, 'not_found', undefined])
    const events = (await recorded(service, 'device_approval')).map(({ event, user_id }) => [event, user_id])
    assert.deepEqual(events.slice(1), [['device_approval.reset', person.userId]])
    assert.deepEqual(await deciding(), [], 'what waited still waits')
    const enrol = (token: string) => service.call('POST', `/v4/devices/${waiting.deviceId}/enrol`, { token })
    assert.deepEqual(refusal(await enrol(waiting.token)), unsigned, 'a device never speaks for itself')
    assert.equal((await enrol(person.token)).body.key.enrolled, true)
  })

  test('a challenge works once, for two minutes, for its own action and its own user', async (t) => {
    const { service, phone, off, on } = await guarded(t, engine)
    const used = await signAction(service, phone, 'off')
    assert.equal((await off(used)).status, 200)
    await on()
    assert.deepEqual(refusal(await off(used)), [409, 'challenge_already_used', 'challenge_id'])
    const late = await signAction(service, phone, 'off')
    service.clock.advance(120)
    assert.deepEqual(refusal(await off(late)), [410, 'expired', 'challenge_id'])
    assert.deepEqual(refusal(await off(used)), [409, 'challenge_already_used', 'challenge_id'], 'also after its time')
    const stranger = await service.logIn()
    const theirs = await pairDevice(service, stranger)
    const foreign = await signAction(service, theirs, 'off')
    assert.deepEqual(refusal(await off(foreign)), [404, 'not_found', 'challenge_id'])
    const none = { ...used, challenge_id: 'chl_none' }
    assert.deepEqual(refusal(await off(none)), [404, 'not_found', 'challenge_id'])
    const malformed = { ...(await signAction(service, phone, 'off')), signature: 'AAAA' }
    assert.deepEqual(refusal(await off(malformed)), [400, 'invalid_field', 'signature'])
  })

  test("an enrolled device removes another of its user with a signature, and no one else's", async (t) => {
    const { service, person, phone, remove, enrol, deciding } = await guarded(t, engine)
    const lost = await pairAnother(service, person)
    await enrol(lost.deviceId, await signAction(service, phone, `enrol:${lost.thumbprint}`))
    const stranger = await pairDevice(service, await service.logIn({ email: 'mallory@example.com' }))
    assert.deepEqual(refusal(await remove(lost.deviceId, undefined, phone.token)), [404, 'not_found', undefined])
    const theirs = await signAction(service, stranger, `remove:${lost.deviceId}`)
    assert.deepEqual(refusal(await remove(lost.deviceId, theirs, stranger.token)), [404, 'not_found', undefined])
    const foreign = await signAction(service, phone, `remove:${stranger.deviceId}`)
    assert.deepEqual(refusal(await remove(stranger.deviceId, foreign, phone.token)), [404, 'not_found', undefined])
    const signed = await signAction(service, phone, `remove:${lost.deviceId}`)
    assert.equal((await remove(lost.deviceId, signed, phone.token)).body.status, 'revoked')
    assert.deepEqual(await deciding(), [phone.deviceId])
    assert.equal((await service.call('GET', '/v4/auth/me', { token: lost.token })).status, 401)
  })

  test('devices of a disabled user approve again once confirmed, unless only devices approve', async (t) => {
    const { service, person, phone, enrol, remove } = await guarded(t, engine)
    const again = async () => {
      for (const verb of ['disable', 'enable']) {
        await service.call('POST', `/v4/users/${person.userId}/${verb}`, { token: service.adminToken })
        service.clock.advance(2)
      }
    }
    const challenged = async () =>
      (await service.call('POST', '/v4/devices/challenge', { token: phone.token, body: { action: 'off' } })).status
    await again()
    assert.equal(await challenged(), 201, 'nothing else could confirm it')
    const body = { require_device_approval: false, ...(await signAction(service, phone, 'off')) }
    assert.equal((await service.call('PATCH', '/v4/auth/me', { token: phone.token, body })).status, 200)

    const early = await signAction(service, phone, `remove:${phone.deviceId}`)
    await again()
    assert.equal(await challenged(), 403)
    const fresh = await service.logIn({ user_id: person.userId })
    const list = await service.call('GET', '/v4/devices', { token: fresh.token })
    assert.deepEqual(
      list.body.devices.map((one: any) => [one.status, one.key.enrolled]),
      [['active', false]],
    )
    const used = await remove(phone.deviceId, early, fresh.token)
    assert.deepEqual(refusal(used), [403, 'invalid_signature', 'signature'])
    assert.deepEqual(refusal(await enrol(phone.deviceId, undefined, phone.token)), unsigned)
    assert.equal((await enrol(phone.deviceId, undefined, fresh.token)).body.key.enrolled, true)
    assert.equal(await challenged(), 201)
    const enabled = await recorded(service, 'user.enabled')
    assert.deepEqual(
      enabled.map(({ detail }) => detail),
      [{}, { devices: [phone.deviceId] }],
    )
  })

  test('a signature counts for nothing once its device was removed', async (t) => {
    const { service, person, phone, enrol, remove, off } = await guarded(t, engine)
    const tablet = await pairAnother(service, person)
    await enrol(tablet.deviceId, await signAction(service, phone, `enrol:${tablet.thumbprint}`))
    const kept = await signAction(service, tablet, 'off')
    await remove(tablet.deviceId, await signAction(service, phone, `remove:${tablet.deviceId}`))
    assert.deepEqual(refusal(await off(kept)), [403, 'invalid_signature', 'signature'])
    const late = await enrol(tablet.deviceId, await signAction(service, phone, `enrol:${tablet.thumbprint}`))
    assert.deepEqual(refusal(late), [409, 'conflict', undefined])
    const plain = await pairDevice(service, person, { withKey: false })
    assert.deepEqual(refusal(await enrol(plain.deviceId)), [409, 'conflict', undefined])
  })

  test('of concurrent uses of one signature exactly one succeeds', async (t) => {
    const { service, person, phone } = await guarded(t, engine)
    const { challenge_id: challengeId, signature } = await signAction(service, phone, 'off')
    const { database, clock } = service
    const needs = { database, users: userStore, devices: deviceStore, challenges: challengeStore, clock: clock.now }
    const { userId } = person
    const take = () =>
      database.transaction((tx) =>
        takeSignature(
          needs,
          tx,
          { challengeId, signature },
          {
            userId,
            subject: 'off',
            message: ({ nonce }) => deviceMessage(challengeId, nonce, userId, 'off'),
          },
        ),
      )
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, take))
    const won = outcomes.filter(({ status }) => status === 'fulfilled')
    assert.equal(won.length, 1)
    for (const one of outcomes) {
      if (one.status === 'rejected') assert.equal((one.reason as { code: string }).code, 'challenge_already_used')
    }
  })

  // On SQLite one transaction is open at a time.
  if (engine !== 'postgres') return

  /** Lets a call begin while a transaction has changed something, and commits once the call waits, or came through. */
  async function during(service: TestService, change: (tx: Queries) => Promise<unknown>, call: () => Promise<Reply>) {
    const { database } = service
    const begun = await database.transaction(async (tx) => {
      await change(tx)
      const reply = call()
      const progress = { isThrough: false }
      void reply.finally(() => (progress.isThrough = true))
      for (let isWaiting = false; !isWaiting && !progress.isThrough;) {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(database.queries)
        isWaiting = rows.length > 0
      }
      return { reply }
    })
    return begun.reply
  }

  test('pairing during the switch leaves a device that cannot approve', async (t) => {
    const { service, person, phone, off } = await guarded(t, engine)
    await off(await signAction(service, phone, 'off'))
    const { body } = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
    const { pairing_code } = body as { pairing_code: string }
    const { publicKey: public_key_jwk } = newDeviceKey()
    const paired = await during(
      service,
      (tx) => userStore.requireDevice(tx, person.userId, true),
      () => service.call('POST', '/v4/devices/pair', { body: { pairing_code, public_key_jwk } }),
    )
    assert.equal(paired.body.device.key.enrolled, false)
  })

  test('removing a device during the switch needs a signature', async (t) => {
    const { service, person, phone, off, remove } = await guarded(t, engine)
    await off(await signAction(service, phone, 'off'))
    const refused = await during(
      service,
      (tx) => userStore.requireDevice(tx, person.userId, true),
      () => remove(phone.deviceId),
    )
    assert.deepEqual(refusal(refused), unsigned)
  })

  test('the signature of a device that is removed concurrently does not count', async (t) => {
    const { service, person, phone, off } = await guarded(t, engine)
    const signed = await signAction(service, phone, 'off')
    const refused = await during(
      service,
      async (tx) => {
        await userStore.lock(service.database, tx, person.userId)
        await deviceStore.revoke(tx, person.userId, phone.deviceId, service.clock.now())
      },
      () => off(signed),
    )
    assert.deepEqual(refusal(refused), [403, 'invalid_signature', 'signature'])
  })

  test('if the last enrolled device is removed during the switch, it stays off', async (t) => {
    const { service, person, phone, off, on, isOn } = await guarded(t, engine)
    await off(await signAction(service, phone, 'off'))
    const refused = await during(
      service,
      async (tx) => {
        await userStore.lock(service.database, tx, person.userId)
        await deviceStore.revoke(tx, person.userId, phone.deviceId, service.clock.now())
      },
      on,
    )
    assert.deepEqual(refusal(refused), [403, 'device_key_required', undefined])
    assert.equal(await isOn(), false)
  })
})
