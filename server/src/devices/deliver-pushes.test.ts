import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApnsServer } from '../../testkit/apns-server.ts'
import { fixedClock } from '../../testkit/clock.ts'
import { migratedPostgres, onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import type { TestDevice } from '../../testkit/device.ts'
import { startFcmServer } from '../../testkit/fcm-server.ts'
import { startService } from '../../testkit/service.ts'
import { startWebPushServer } from '../../testkit/web-push-server.ts'
import type { Engine, Queries } from '../platform/database/database.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { createPushStore } from './push-store.ts'

const hourMs = 3_600_000

/** A user with a phone, and the push services on loopback. */
async function startPushTest(t: TestContext, engine: Engine) {
  const clock = fixedClock()
  const apns = await startApnsServer(t, clock.now)
  const fcm = await startFcmServer(t, clock.now)
  const web = await startWebPushServer(t)
  const env = {
    ...apns.settings,
    ...fcm.settings,
    SALLYPORT_EGRESS_ALLOW: [apns, fcm, web].map(({ host }) => host).join(),
    SALLYPORT_EGRESS_CA_FILE: apns.caFile,
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    SALLYPORT_DATA_DIR: temporaryFolder(t),
    ...(engine === 'postgres' && { DATABASE_URL: await migratedPostgres(t) }),
  }
  const service = await startService(t, engine, env, clock)
  const { database, vault, app } = service
  const pushes = createPushStore(vault)
  const user = await service.logIn()
  const setToken = async ({ deviceId, token }: TestDevice, pushToken: string) => {
    const body = { push_token: pushToken }
    const { status, text } = await service.call('POST', `/v4/devices/${deviceId}/push-token`, { token, body })
    assert.equal(status, 200, text)
  }
  const phoneToken = randomBytes(32).toString('hex')
  const phone = await pairDevice(service, user)
  await setToken(phone, phoneToken)
  return {
    ...service,
    ...{ apns, fcm, web, env, pushes, user, setToken, phone, phoneToken },
    deliver: () => app.catchUp(),
    enqueue: (accessRequestId = 'arq_1', lifetimeMs = hourMs) => {
      const now = clock.now()
      const message = {
        title: 'An agent asks',
        body: 'For mail',
        accessRequestId,
        url: `https://a.example/${accessRequestId}`,
      }
      const expiresAt = new Date(now.getTime() + lifetimeMs)
      return database.transaction((tx) => pushes.enqueue(tx, { userId: user.userId, message, now, expiresAt }))
    },
    waiting: async () => {
      const rows = await database.queries.selectFrom('pushes').select('access_request_id').execute()
      return rows.map((row) => row.access_request_id).sort()
    },
    hasToken: async () => {
      const { body } = await service.call('GET', '/v4/devices', { token: user.token })
      return (body.devices as { push: boolean }[]).map(({ push }) => push)
    },
  }
}

onBothDatabases('delivering pushes', (engine) => {
  test("each of the user's devices gets one push through its own service", async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, fcm, web, user } = test
    const browser = web.subscribe()
    const android = await pairDevice(test, user, { platform: 'android' })
    const androidToken = `fcm:${randomBytes(30).toString('base64url')}`
    await test.setToken(android, androidToken)
    await test.setToken(await pairDevice(test, user, { platform: 'web' }), browser.token)
    await pairDevice(test, user)
    assert.equal(await test.enqueue(), 3)
    apns.answers.push({ status: 500, reason: 'InternalServerError' })
    fcm.answers.push({ status: 400, body: { error: { status: 'INVALID_ARGUMENT', message: androidToken } } })
    web.answers.push({ status: 503 })
    await test.deliver()
    test.clock.advance(60)
    await test.deliver()
    await test.deliver()
    assert.deepEqual(
      apns.received.map(({ token, payload }) => [token, payload['access_request_id'], payload['url']]),
      Array.from({ length: 2 }, () => [test.phoneToken, 'arq_1', 'https://a.example/arq_1']),
    )
    // FCM refused what we sent: that is logged, and not tried again.
    assert.equal(fcm.received.length, 1)
    assert.equal(browser.received.length, 1)
    assert.deepEqual(Object.keys(JSON.parse(browser.received[0] ?? '') as object).sort(), [
      'access_request_id',
      'body',
      'title',
      'url',
    ])
    assert.deepEqual(await test.waiting(), [])
    const log = test.log.join('')
    assert.match(log, /"reason":"InternalServerError".*a push could not be delivered/)
    assert.match(log, /"level":"error".*"reason":"INVALID_ARGUMENT".*a push was rejected and is not retried/)
    const { keys, endpoint } = JSON.parse(browser.token) as { keys: Record<string, string>; endpoint: string }
    const provider = apns.received.map(({ providerToken }) => providerToken)
    for (const secret of [test.phoneToken, androidToken, endpoint, ...Object.values(keys), ...provider]) {
      assert.ok(!log.includes(secret), secret)
    }
  })

  test('nothing is sent to a revoked device or disabled user, or after expiry', async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, call, user, adminToken } = test
    await test.enqueue('arq_over', 60_000)
    test.clock.advance(60)
    await test.deliver()
    assert.deepEqual(await test.waiting(), [])
    const other = await pairDevice(test, user)
    await test.setToken(other, 'cd'.repeat(32))
    assert.equal(await test.enqueue('arq_revoked'), 2)
    await call('DELETE', `/v4/devices/${other.deviceId}`, { token: user.token })
    await test.deliver()
    assert.deepEqual(
      apns.received.map(({ token }) => token),
      [test.phoneToken],
    )
    assert.equal(await test.enqueue('arq_disabled'), 1)
    await call('POST', `/v4/users/${user.userId}/disable`, { token: adminToken })
    await test.deliver()
    assert.equal(apns.received.length, 1)
    assert.deepEqual(await test.waiting(), [])
  })

  test('an invalid token is deleted with its queued pushes', async (t) => {
    const test = await startPushTest(t, engine)
    await test.enqueue('arq_1')
    test.apns.answers.push({ status: 500, reason: 'InternalServerError' })
    await test.deliver()
    await test.enqueue('arq_2')
    assert.deepEqual(await test.waiting(), ['arq_1', 'arq_2'])
    test.apns.answers.push({ status: 410, reason: 'Unregistered' })
    await test.deliver()
    assert.deepEqual(await test.waiting(), [])
    assert.deepEqual(await test.hasToken(), [false])
    assert.equal(await test.enqueue('arq_3'), 0)
    await test.setToken(test.phone, test.phoneToken)
    assert.equal(await test.enqueue('arq_4'), 1)
  })

  test('a token that replaced an invalid one is kept', async (t) => {
    const test = await startPushTest(t, engine)
    const { pushes, database, phone } = test
    const asked = await pushes.addressOf(database.queries, phone.deviceId)
    assert.ok(asked)
    await test.setToken(phone, 'cd'.repeat(32))
    assert.equal(await pushes.forgetToken(database.queries, phone.deviceId, asked), false)
    assert.deepEqual(await test.hasToken(), [true])
    await test.enqueue()
    await test.deliver()
    assert.equal(test.apns.received[0]?.token, 'cd'.repeat(32))
  })

  test('a failed push is retried and delivered once the service is back', async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, clock } = test
    await test.enqueue()
    apns.answers.push({ status: 503, reason: 'ServiceUnavailable' }, 'lost')
    await test.deliver()
    await test.deliver()
    assert.equal(apns.received.length, 1)
    clock.advance(7)
    await test.deliver()
    assert.equal(apns.received.length, 2)
    clock.advance(7)
    await test.deliver()
    assert.equal(apns.received.length, 2)
    clock.advance(7)
    await test.deliver()
    assert.equal(apns.received.length, 3)
    assert.deepEqual(await test.waiting(), [])
  })

  test('Retry-After is honoured, and a push that would come too late is dropped', async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, clock } = test
    const busy = (seconds: number) => ({
      ...{ status: 429, reason: 'TooManyRequests' },
      headers: { 'retry-after': String(seconds) },
    })
    await test.enqueue()
    apns.answers.push(busy(600), busy(3600))
    await test.deliver()
    clock.advance(599)
    await test.deliver()
    assert.equal(apns.received.length, 1)
    clock.advance(1)
    await test.deliver()
    assert.equal(apns.received.length, 2)
    assert.deepEqual(await test.waiting(), [])
  })

  test('the expired lease of a killed sender is taken over, and a late result is ignored', async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, clock, database, pushes } = test
    await test.enqueue()
    const claim = () => pushes.claim(database, clock.now(), new Date(clock.now().getTime() + 90_000), 10)
    const [killed] = await claim()
    assert.ok(killed)
    await test.deliver()
    clock.advance(89)
    await test.deliver()
    assert.deepEqual(apns.received, [])
    clock.advance(1)
    const [heir] = await claim()
    assert.equal(heir?.pushId, killed.pushId)
    await pushes.drop(database.queries, killed)
    await pushes.postpone(database.queries, killed, clock.now())
    await test.deliver()
    assert.deepEqual([await test.waiting(), apns.received], [['arq_1'], []])
    clock.advance(90)
    await test.deliver()
    assert.deepEqual([await test.waiting(), apns.received.length], [[], 1])
  })

  test('a push in flight is not claimed again, however slow the service is', async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, clock, database, pushes } = test
    await test.enqueue()
    const slow = Promise.withResolvers<undefined>()
    apns.answers.push({ after: slow.promise })
    const sending = test.deliver()
    while (apns.received.length === 0) await sleep(10)
    // Longer than all calls of one push may take.
    clock.advance(60)
    assert.deepEqual(await pushes.claim(database, clock.now(), clock.now(), 10), [])
    slow.resolve(undefined)
    await sending
    assert.deepEqual([await test.waiting(), apns.received.length], [[], 1])
  })

  test("one user's slow push services do not delay another's push", async (t) => {
    const test = await startPushTest(t, engine)
    const { apns, clock, database, pushes } = test
    for (let count = 0; count < 30; count++) await test.enqueue(`arq_${count}`)
    clock.advance(1)
    const bob = await test.logIn({ email: 'bob@example.com' })
    const bobsToken = randomBytes(32).toString('hex')
    await test.setToken(await pairDevice(test, bob), bobsToken)
    const slow = Promise.withResolvers<undefined>()
    apns.answers.push(...Array.from({ length: 31 }, () => ({ after: slow.promise })))
    const sending = test.deliver()
    while (apns.received.length < 5) await sleep(10)
    const now = clock.now()
    const expiresAt = new Date(now.getTime() + hourMs)
    const message = { title: 'An agent asks', body: 'For mail', accessRequestId: 'arq_bob', url: 'https://a.example/' }
    await database.transaction((tx) => pushes.enqueue(tx, { userId: bob.userId, message, now, expiresAt }))
    const told = test.deliver()
    for (let times = 0; times < 300 && apns.received.at(-1)?.token !== bobsToken; times++) await sleep(10)
    assert.deepEqual([apns.received.length, apns.received.at(-1)?.token], [6, bobsToken])
    slow.resolve(undefined)
    await Promise.all([sending, told])
    assert.deepEqual([await test.waiting(), apns.received.length], [[], 31])
  })

  test('new pushes come before retries', async (t) => {
    const test = await startPushTest(t, engine)
    const { clock, database, pushes } = test
    await test.enqueue('arq_failed')
    const claim = () => pushes.claim(database, clock.now(), new Date(clock.now().getTime() + 90_000), 1)
    const [failed] = await claim()
    assert.ok(failed)
    await pushes.postpone(database.queries, failed, clock.now())
    clock.advance(1)
    await test.enqueue('arq_new')
    assert.deepEqual(
      [...(await claim()), ...(await claim())].map(({ message }) => message.accessRequestId),
      ['arq_new', 'arq_failed'],
    )
  })

  test('two instances send each push once', async (t) => {
    const test = await startPushTest(t, engine)
    const other = await startService(t, engine, test.env, test.clock)
    const ids = Array.from({ length: 60 }, (_, index) => `arq_${index}`)
    for (const id of ids) await test.enqueue(id)
    await Promise.all([test.deliver(), other.app.catchUp()])
    const received = test.apns.received.map(({ payload }) => String(payload['access_request_id']))
    assert.deepEqual(received.sort(), ids.sort())
    assert.deepEqual(await test.waiting(), [])
    assert.ok(test.apns.connections() <= 2)
  })

  if (engine === 'postgres') {
    test('concurrent claims of two instances neither block nor overlap', async (t) => {
      const test = await startPushTest(t, engine)
      const { clock, database, pushes } = test
      await test.enqueue('arq_1')
      await test.enqueue('arq_2')
      const claim = (queries: Queries) =>
        pushes.claim({ engine, queries }, clock.now(), new Date(clock.now().getTime() + 90_000), 1)
      const { other, ...rest } = await database.transaction(async (tx) => {
        const own = await claim(tx)
        const other = claim(database.queries)
        // Where it does wait, this has to end before it can.
        await Promise.race([other, sleep(5000, undefined, { ref: false })])
        return { own, other }
      })
      const claimed = [...rest.own, ...(await other)].map(({ message }) => message.accessRequestId)
      assert.deepEqual(claimed.sort(), ['arq_1', 'arq_2'])
    })
  }

  test('no push is sent for a request that was decided', async (t) => {
    const test = await startPushTest(t, engine)
    await test.enqueue('arq_decided')
    await test.enqueue('arq_open')
    await test.pushes.dropOf(test.database.queries, 'arq_decided')
    await test.deliver()
    assert.deepEqual(
      test.apns.received.map(({ payload }) => payload['access_request_id']),
      ['arq_open'],
    )
  })

  test('a push token moved to another device does not decrypt', async (t) => {
    const test = await startPushTest(t, engine)
    const { database, pushes, phone } = test
    const thief = await pairDevice(test, await test.logIn({ email: 'thief@example.com' }))
    await test.setToken(thief, 'cd'.repeat(32))
    const sealed = await database.queries
      .selectFrom('devices')
      .select(['push_token', 'push_token_key_id'])
      .where('device_id', '=', phone.deviceId)
      .executeTakeFirstOrThrow()
    await database.queries.updateTable('devices').set(sealed).where('device_id', '=', thief.deviceId).execute()
    await assert.rejects(pushes.addressOf(database.queries, thief.deviceId))
    const own = await pushes.addressOf(database.queries, phone.deviceId)
    assert.equal(own?.token.reveal(), test.phoneToken)
  })
})
