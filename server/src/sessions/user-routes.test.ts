import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

function list(service: TestService, query = '') {
  return service.call('GET', `/v4/users${query}`, { token: service.adminToken })
}

function disable(service: TestService, userId: string) {
  return service.call('POST', `/v4/users/${userId}/disable`, { token: service.adminToken })
}

onBothDatabases('users', (engine) => {
  test('an admin lists users, newest first, in pages', async (t) => {
    const service = await startService(t, engine)
    for (const name of ['one', 'two', 'three']) {
      await service.logIn({ name })
      service.clock.advance(1)
    }
    const names = ({ body }: { body: any }) => body.users.map(({ name }: { name: string }) => name)
    const first = await list(service, '?limit=2')
    assert.deepEqual(names(first), ['three', 'two'])
    const second = await list(service, `?limit=2&cursor=${first.body.next_cursor}`)
    assert.deepEqual([names(second), second.body.next_cursor], [['one'], null])
    for (const query of ['?limit=0', '?limit=201', '?limit=1&limit=2', '?status=gone', '?__proto__=1']) {
      assert.equal((await list(service, query)).body.error.code, 'invalid_field', query)
    }
  })

  test('an admin sees when each user was last active', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn({ email: 'ada@example.com' })
    service.clock.advance(3_600)
    await service.logIn({ email: 'ada@example.com' })
    const invited = await service.call('POST', '/v4/auth/login-tokens', {
      token: service.adminToken,
      body: { email: 'eve@example.com' },
    })
    const seen = (await list(service, '')).body.users.map((one: any) => [one.user_id, one.last_seen_at])
    assert.deepEqual(seen, [
      [invited.body.user_id, null],
      [userId, service.clock.now().toISOString()],
    ])
  })

  test("a disabled user's sessions end with the next call, and no token signs them in", async (t) => {
    const service = await startService(t, engine)
    const { userId, token, cookie } = await service.logIn({ name: 'Ada' })
    const issued = await service.call('POST', '/v4/auth/login-tokens', {
      token: service.adminToken,
      body: { user_id: userId },
    })
    const { status, body } = await disable(service, userId)
    assert.deepEqual([status, body.status, body.disabled_at], [200, 'disabled', '2026-11-15T12:00:00.000Z'])
    assert.equal((await service.call('GET', '/v4/auth/me', { token })).status, 401)
    assert.equal((await service.call('GET', '/v4/auth/me', { headers: { cookie } })).status, 401)
    const { login_token } = issued.body
    assert.equal((await service.call('POST', '/v4/auth/login', { body: { login_token } })).status, 401)
  })

  test('disabling again is 200 and changes nothing; an unknown user is not found', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn()
    const other = await service.logIn()
    const first = await disable(service, userId)
    service.clock.advance(60)
    assert.deepEqual((await disable(service, userId)).body, first.body)
    assert.equal((await recorded(service, 'user.disabled')).length, 1)
    assert.equal((await disable(service, 'usr_00000000000000000000000000')).body.error.code, 'not_found')
    const ids = async (status: string) =>
      (await list(service, `?status=${status}`)).body.users.map((one: { user_id: string }) => one.user_id)
    assert.deepEqual(await ids('disabled'), [userId])
    assert.deepEqual(await ids('active'), [other.userId])
  })

  test('an enabled user signs in anew; sessions, links and pairing codes from before stay ended', async (t) => {
    const service = await startService(t, engine)
    const { userId, token } = await service.logIn({ name: 'Ada' })
    const other = await service.logIn({ name: 'Eve' })
    const issue = () =>
      service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body: { user_id: userId } })
    const enable = (by: string) => service.call('POST', `/v4/users/${userId}/enable`, { token: by })
    const { login_token } = (await issue()).body
    const { pairing_code } = (await service.call('POST', '/v4/devices/pairing-codes', { token })).body
    await disable(service, userId)
    service.clock.advance(2)
    assert.deepEqual([(await enable(token)).status, (await enable(other.token)).status], [401, 403])
    const replies = await Promise.all([enable(service.adminToken), enable(service.adminToken)])
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.status, body.disabled_at]),
      [
        [200, 'active', null],
        [200, 'active', null],
      ],
    )
    assert.equal((await service.call('GET', '/v4/auth/me', { token })).status, 401)
    assert.equal((await service.call('POST', '/v4/auth/login', { body: { login_token } })).status, 401)
    const paired = await service.call('POST', '/v4/devices/pair', { body: { pairing_code, device_name: 'Phone' } })
    assert.ok(paired.status >= 400, paired.text)
    const fresh = (await issue()).body.login_token
    assert.equal((await service.call('POST', '/v4/auth/login', { body: { login_token: fresh } })).status, 200)
    const events = (await recorded(service, '')).map(({ event }) => event)
    assert.equal(events.filter((event) => event === 'user.enabled').length, 1)
    assert.equal(events.filter((event) => event === 'session.revoked').length, 1)
    assert.equal((await service.call('GET', '/v4/auth/me', { token: other.token })).status, 200)
  })

  test('an admin searches users by name, email address and id', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn({ email: 'ada@example.com', name: 'Ada Lovelace' })
    service.clock.advance(1)
    await service.logIn({ email: 'grace@example.com' })
    await service.logIn()
    const found = async (query: string) =>
      (await list(service, `?query=${encodeURIComponent(query)}`)).body.users.map((one: any) => one.email)
    assert.deepEqual(await found('LOVE ada@'), ['ada@example.com'])
    assert.deepEqual(await found(userId), ['ada@example.com'])
    assert.deepEqual(await found('example.com'), ['grace@example.com', 'ada@example.com'])
    assert.deepEqual(await found('%'), [])
    assert.equal((await list(service, '?query=')).body.users.length, 3)
  })
})
