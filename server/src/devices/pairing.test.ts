import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { newDeviceKey, pairDevice } from '../../testkit/device.ts'
import { startService } from '../../testkit/service.ts'
import type { Reply, TestService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'
import { pairingAlphabet, readPairingCode, showPairingCode } from './pairing-code.ts'

async function issue(service: TestService, person: { token: string }): Promise<string> {
  const { body } = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
  return body.pairing_code as string
}

function pair(service: TestService, body: object, from?: string): Promise<Reply> {
  return service.call('POST', '/v4/devices/pair', { body, ...(from !== undefined && { from }) })
}

function refusal({ status, body }: Reply): [number, string, string | undefined] {
  return [status, body.error.code as string, body.error.field as string | undefined]
}

/** How many slow hashes were begun since. */
function countHashes(t: TestContext): () => number {
  let count = 0
  const hook = createHook({ init: (_, type) => (count += type === 'SCRYPTREQUEST' ? 1 : 0) }).enable()
  t.after(() => hook.disable())
  return () => count
}

const unknown = [404, 'not_found', 'pairing_code']

test('a code is accepted in any case, with or without the dash, and with look-alike characters', () => {
  assert.equal(showPairingCode('AB0D1F2H'), 'AB0D-1F2H')
  for (const text of ['AB0D1F2H', 'AB0D-1F2H', 'ab0d-1f2h', 'abOd if2h', 'aBoD-LF2h', ' ab-0d-lf-2h ']) {
    assert.equal(readPairingCode(text), 'AB0D1F2H', text)
  }
  for (const text of ['', 'AB0D1F2', 'AB0D1F2HH', 'UB0D1F2H', 'AB0D_1F2H', 'AB0D1F2\u212A', 'AB0D1F2H\n']) {
    assert.equal(readPairingCode(text), undefined, JSON.stringify(text))
  }
})

onBothDatabases('pairing', (engine) => {
  test('a code pairs a device, whose session acts for its user', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn({ email: 'ann@example.com' })
    const issued = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
    assert.equal(issued.status, 201)
    const { pairing_code, expires_at, pairing_url } = issued.body
    assert.match(pairing_code, new RegExp(`^[${pairingAlphabet}]{4}-[${pairingAlphabet}]{4}$`))
    assert.equal(expires_at, '2026-11-15T12:10:00.000Z')
    assert.equal(pairing_url, `http://localhost:8787/authenticator#pairing_code=${pairing_code}`)

    const { publicKey, thumbprint } = newDeviceKey()
    const written = { pairing_code: pairing_code.toLowerCase().replace('-', ''), device_name: 'Ann’s phone' }
    const reply = await pair(service, { ...written, platform: 'android', public_key_jwk: publicKey })
    assert.equal(reply.status, 201, reply.text)
    const { device, session_token, vapid_public_key, ...rest } = reply.body
    assert.deepEqual(rest, {})
    assert.match(vapid_public_key, /^B[\w-]{86}$/)
    assert.match(session_token, /^sp_device_/)
    assert.match(device.device_id, /^dev_/)
    const at = '2026-11-15T12:00:00.000Z'
    assert.deepEqual(device, {
      device_id: device.device_id,
      device_name: 'Ann’s phone',
      platform: 'android',
      status: 'active',
      key: { thumbprint, enrolled: true },
      push: false,
      created_at: at,
      last_seen_at: at,
      revoked_at: null,
    })
    const me = await service.call('GET', '/v4/auth/me', { token: session_token })
    assert.equal(me.status, 200)
    assert.deepEqual([me.body.user.user_id, me.body.session, me.body.device], [person.userId, null, device])
    assert.equal(reply.headers['set-cookie'], undefined, 'a device has no cookie')
  })

  test('only the code is needed: the platform is then ios, and without a key nothing is enrolled', async (t) => {
    const service = await startService(t, engine)
    const { status, body } = await pair(service, { pairing_code: await issue(service, await service.logIn()) })
    assert.equal(status, 201)
    assert.deepEqual([body.device.device_name, body.device.platform, body.device.key], [null, 'ios', null])
  })

  test('of concurrent uses of one code exactly one pairs', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const pairing_code = await issue(service, person)
    const bring = (_: unknown, index: number) => pair(service, { pairing_code }, `192.0.2.${index + 1}`)
    const replies = await Promise.all(Array.from({ length: 20 }, bring))
    const lost = replies.filter(({ status }) => status !== 201)
    assert.equal(lost.length, 19)
    for (const one of lost) assert.deepEqual(refusal(one), unknown)
    const { body } = await service.call('GET', '/v4/devices', { token: person.token })
    assert.equal(body.devices.length, 1)
  })

  test("a used code is unknown, an old one expired, and a disabled user's invalid", async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const [used, late, last] = [
      await issue(service, person),
      await issue(service, person),
      await issue(service, person),
    ]
    assert.equal((await pair(service, { pairing_code: used })).status, 201)
    assert.deepEqual(refusal(await pair(service, { pairing_code: used })), unknown)
    service.clock.advance(600)
    assert.deepEqual(refusal(await pair(service, { pairing_code: late })), [410, 'expired', 'pairing_code'])
    assert.deepEqual(refusal(await pair(service, { pairing_code: used })), unknown, 'also after its time')

    const other = await service.logIn()
    const orphan = await issue(service, other)
    await service.call('POST', `/v4/users/${other.userId}/disable`, { token: service.adminToken })
    assert.deepEqual(refusal(await pair(service, { pairing_code: orphan }, '192.0.2.7')), unknown)
    service.clock.advance(86_400 - 600)
    await service.app.sweep()
    assert.deepEqual(refusal(await pair(service, { pairing_code: last })), [410, 'expired', 'pairing_code'])
    service.clock.advance(86_400)
    await service.app.sweep()
    assert.deepEqual(refusal(await pair(service, { pairing_code: last })), unknown, 'swept')
  })

  test('a code ends with the session that created it, or with logout-all', async (t) => {
    const service = await startService(t, engine)
    const { call, logIn } = service
    for (const end of ['logout-all', 'logout', 'sessions']) {
      const person = await logIn({ email: 'ada@example.com' })
      const other = await logIn({ user_id: person.userId })
      const issued = await call('POST', '/v4/devices/pairing-codes', { token: person.token })
      const { body: me } = await call('GET', '/v4/auth/me', { token: person.token })
      const ended =
        end === 'sessions'
          ? await call('DELETE', `/v4/auth/sessions/${me.session.session_id}`, { token: other.token })
          : await call('POST', `/v4/auth/${end}`, { token: person.token })
      assert.equal(ended.status, 200)
      const paired = await call('POST', '/v4/devices/pair', { body: { pairing_code: issued.body.pairing_code } })
      assert.deepEqual([paired.status, paired.body.error.code], [404, 'not_found'], end)
    }
  })

  test('after five wrong codes from an address in a minute, the right one has to wait too', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const right = await issue(service, person)
    const wrong = ['0000-0000', 'no code', '', 'ZZZZ-ZZZZ']
    const guess = (_: unknown, index: number) => pair(service, { pairing_code: wrong[index % 4] })
    const replies = await Promise.all(Array.from({ length: 30 }, guess))
    assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(5).fill(404), ...Array(25).fill(429)])
    const refused = await pair(service, { pairing_code: right })
    assert.deepEqual(refusal(refused), [429, 'rate_limited', undefined])
    assert.equal(refused.headers['retry-after'], '12')
    assert.equal((await pair(service, { pairing_code: await issue(service, person) }, '192.0.2.9')).status, 201)
    service.clock.advance(12)
    assert.equal((await pair(service, { pairing_code: right })).status, 201)
  })

  test('a /48 of addresses gets at most 100 wrong codes a minute', async (t) => {
    const service = await startService(t, engine)
    const from = (network: number, house = 1) => `2001:db8:${house}:${network.toString(16)}::1`
    for (let network = 0; network < 20; network++) {
      const guess = () => pair(service, { pairing_code: 'wrong' }, from(network))
      for (const { status } of await Promise.all([guess(), guess(), guess(), guess(), guess()]))
        assert.equal(status, 404)
    }
    const refused = await pair(service, { pairing_code: 'wrong' }, from(20))
    assert.deepEqual(refusal(refused), [429, 'rate_limited', undefined])
    assert.equal((await pair(service, { pairing_code: 'wrong' }, from(0, 2))).status, 404)
  })

  test('a right code does not count as an attempt', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    for (let count = 0; count < 4; count++) await pair(service, { pairing_code: 'wrong' })
    for (let count = 0; count < 7; count++) await pairDevice(service, person)
    assert.equal((await pair(service, { pairing_code: 'wrong' })).status, 404)
    assert.equal((await pair(service, { pairing_code: 'wrong' })).status, 429)
    // Nor one of the network that it comes from.
    const buckets = () => service.database.queries.selectFrom('rate_limits').selectAll().orderBy('key').execute()
    await pair(service, { pairing_code: 'wrong' }, '2001:db8::1')
    const before = await buckets()
    const right = await issue(service, await service.logIn())
    assert.equal((await pair(service, { pairing_code: right }, '2001:db8::1')).status, 201)
    const tries = (rows: typeof before) => rows.filter(({ key }) => key.startsWith('pair:'))
    assert.deepEqual(tries(await buckets()), tries(before))
  })

  test('a user can create twenty codes an hour', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    for (let count = 0; count < 20; count++) await issue(service, person)
    const hashes = countHashes(t)
    const reply = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
    assert.deepEqual(refusal(reply), [429, 'rate_limited', undefined])
    assert.equal(hashes(), 0, 'who has used up the limit costs no slow hash')
    assert.match(await issue(service, await service.logIn()), /-/)
    assert.equal(hashes(), 1)
  })

  test('an invalid key is refused, naming the member, and the code stays usable', async (t) => {
    const service = await startService(t, engine)
    const pairing_code = await issue(service, await service.logIn())
    const { publicKey, key } = newDeviceKey()
    const short = Buffer.alloc(31, 1).toString('base64url')
    const long = Buffer.alloc(33, 1).toString('base64url')
    const cases: [unknown, string, string?][] = [
      [{ ...publicKey, kty: 'RSA' }, 'kty'],
      [{ ...publicKey, crv: 'P-384' }, 'crv'],
      [{ ...publicKey, crv: 'secp256k1' }, 'crv'],
      [{ ...publicKey, x: short }, 'x'],
      [{ ...publicKey, y: long }, 'y'],
      [{ ...publicKey, x: `${publicKey.x}=` }, 'x'],
      [{ ...publicKey, x: `${publicKey.x.slice(0, -1)}B` }, 'x'],
      [{ ...publicKey, x: `+${publicKey.x.slice(1)}` }, 'x'],
      [{ ...publicKey, y: 7 }, 'y'],
      [key.export({ format: 'jwk' }), 'd'],
      [{ ...publicKey, kid: 'mine' }, 'kid'],
      [{ ...publicKey, key_ops: ['verify'] }, 'key_ops'],
      [{ kty: 'EC', crv: 'P-256', x: publicKey.x }, 'y', 'missing_field'],
      [{ ...publicKey, y: publicKey.x }, ''],
      [JSON.stringify(publicKey), ''],
      [[], ''],
    ]
    for (const [public_key_jwk, member, code = 'invalid_field'] of cases) {
      const reply = await pair(service, { pairing_code, public_key_jwk })
      const field = member === '' ? 'public_key_jwk' : `public_key_jwk.${member}`
      assert.deepEqual(refusal(reply), [400, code, field], JSON.stringify(public_key_jwk))
    }
    for (const [name, value] of [
      ['platform', 'symbian'],
      ['device_name', 'a\u202eb'],
      ['device_name', ''],
      ['push_token', 'x'],
    ] as const) {
      assert.deepEqual(refusal(await pair(service, { pairing_code, [name]: value })), [400, 'invalid_field', name])
    }
    assert.equal((await pair(service, { pairing_code, public_key_jwk: publicKey })).status, 201)
  })

  test('another site cannot pair a device', async (t) => {
    const service = await startService(t, engine)
    const { cookie, ...person } = await service.logIn()
    const body = { pairing_code: await issue(service, person) }
    const post = (headers: Record<string, string>) => service.call('POST', '/v4/devices/pair', { body, headers })
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { cookie },
    ] as Record<string, string>[]) {
      assert.deepEqual(refusal(await post(headers)), [403, 'cross_site_request', undefined])
    }
    assert.equal((await post({ origin: service.config.baseUrl.origin })).status, 201)
  })

  test('codes and tokens are not stored, logged or recorded; that they were issued is', async (t) => {
    const service = await startService(t, engine)
    const person = await service.logIn()
    const pairing_code = await issue(service, person)
    const { publicKey, thumbprint } = newDeviceKey()
    const { body } = await pair(service, { pairing_code, public_key_jwk: publicKey })
    const { device, session_token } = body
    const kept = `${(await stored(service)).toString('latin1')}${service.log.join('')}`
    for (const secret of [pairing_code, pairing_code.replace('-', ''), session_token]) assert.ok(!kept.includes(secret))
    assert.ok(kept.includes(device.device_id))
    const events = await recorded(service)
    assert.deepEqual(
      events.slice(-2).map(({ event, user_id, detail }) => ({ event, user_id, detail })),
      [
        { event: 'pairing_code.issued', user_id: person.userId, detail: {} },
        {
          event: 'device.paired',
          user_id: person.userId,
          detail: { device_id: device.device_id, platform: 'ios', key_thumbprint: thumbprint, enrolled: true },
        },
      ],
    )
  })
})
