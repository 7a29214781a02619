import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'

const hour = 3600

function me(service: TestService, token: string) {
  return service.call('GET', '/v4/auth/me', { token })
}

async function list(service: TestService, token: string, query = '') {
  return (await service.call('GET', `/v4/auth/sessions${query}`, { token })).body
}

onBothDatabases('sessions', (engine) => {
  test('a session ends after 12 hours without a call', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.logIn()
    service.clock.advance(12 * hour - 1)
    assert.equal((await me(service, token)).status, 200)
    service.clock.advance(12 * hour - 1)
    assert.equal((await me(service, token)).status, 200, 'the call before kept it')
    service.clock.advance(12 * hour)
    assert.equal((await me(service, token)).status, 401)
    service.clock.advance(-1)
    assert.equal((await me(service, token)).status, 200, 'a second earlier it would have gone on')
  })

  test('a session ends after 7 days in all, however much it is used', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.logIn()
    for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
      service.clock.advance(6 * hour)
      assert.equal((await me(service, token)).status, 200)
    }
    service.clock.advance(6 * hour - 1)
    assert.equal((await me(service, token)).status, 200)
    service.clock.advance(1)
    const ended = await me(service, token)
    assert.deepEqual([ended.status, ended.body.error.code], [401, 'unauthenticated'])
  })

  test('last_seen_at follows the calls, to the minute', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.logIn()
    const lastSeen = async () => (await list(service, token)).sessions[0].last_seen_at
    service.clock.advance(59)
    assert.equal(await lastSeen(), '2026-11-15T12:00:00.000Z')
    service.clock.advance(1)
    assert.equal(await lastSeen(), '2026-11-15T12:01:00.000Z')
  })

  test('a refused call does not extend a session', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.logIn()
    service.clock.advance(12 * hour)
    assert.equal((await me(service, token)).status, 401)
    assert.equal((await me(service, token)).status, 401)
  })

  test('auth/me returns user and session', async (t) => {
    const service = await startService(t, engine)
    const { token, userId } = await service.logIn({ name: 'Ada' })
    const { body } = await me(service, token)
    assert.deepEqual([body.user.user_id, body.user.name], [userId, 'Ada'])
    assert.deepEqual(body.session, {
      session_id: body.session.session_id,
      status: 'active',
      created_at: '2026-11-15T12:00:00.000Z',
      last_seen_at: '2026-11-15T12:00:00.000Z',
      expires_at: '2026-11-22T12:00:00.000Z',
      revoked_at: null,
      current: true,
    })
  })

  test('logout ends this session and its cookie, and no other session', async (t) => {
    const service = await startService(t, engine)
    const { token, cookie, userId } = await service.logIn()
    const other = await service.logIn({ user_id: userId })
    const headers = { cookie, origin: service.config.baseUrl.origin }
    const { status, body, headers: answered } = await service.call('POST', '/v4/auth/logout', { headers })
    assert.deepEqual([status, body.status, body.revoked_at], [200, 'revoked', '2026-11-15T12:00:00.000Z'])
    assert.match(String(answered['set-cookie']), /^svc_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970/)
    assert.equal((await me(service, token)).status, 401)
    assert.equal((await service.call('POST', '/v4/auth/logout', { token })).status, 401)
    assert.equal((await me(service, other.token)).status, 200)
    const records = await recorded(service, 'session.revoked')
    assert.deepEqual(
      records.map(({ user_id, detail }) => [user_id, detail]),
      [[userId, { session_id: body.session_id }]],
    )
  })

  test('logout-all ends all sessions of this user only', async (t) => {
    const service = await startService(t, engine)
    const { token, userId } = await service.logIn()
    const second = await service.logIn({ user_id: userId })
    const ended = await service.logIn({ user_id: userId })
    await service.call('POST', '/v4/auth/logout', { token: ended.token })
    const stranger = await service.logIn()
    const { status, body } = await service.call('POST', '/v4/auth/logout-all', { token })
    assert.deepEqual([status, body], [200, { revoked: 2 }])
    assert.equal((await me(service, token)).status, 401)
    assert.equal((await me(service, second.token)).status, 401)
    assert.equal((await me(service, stranger.token)).status, 200)
    assert.equal((await recorded(service, 'session.revoked')).length, 3)
  })

  test('logout-all counts only the sessions it ended', async (t) => {
    const service = await startService(t, engine)
    const over = await service.logIn({ email: 'ada@example.com' })
    service.clock.advance(13 * 3600)
    const { token } = await service.logIn({ email: 'ada@example.com' })
    const list = await service.call('GET', '/v4/auth/sessions', { token })
    assert.equal(list.body.sessions.length, 2)
    assert.equal((await service.call('POST', '/v4/auth/logout-all', { token })).body.revoked, 1)
    assert.equal((await service.call('GET', '/v4/auth/me', { token: over.token })).status, 401)
  })

  test("the list has this user's sessions and statuses, newest first, and marks the current one", async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn()
    service.clock.advance(12 * hour)
    const revoked = await service.logIn({ user_id: userId })
    await service.call('POST', '/v4/auth/logout', { token: revoked.token })
    service.clock.advance(1)
    await service.logIn({ user_id: userId })
    service.clock.advance(1)
    const { token } = await service.logIn({ user_id: userId })
    await service.logIn()
    const rows = (page: any) => page.sessions.map((one: any) => [one.status, one.current])
    const all = await list(service, token)
    assert.deepEqual(rows(all), [
      ['active', true],
      ['active', false],
      ['revoked', false],
      ['expired', false],
    ])
    assert.equal(all.next_cursor, null)
    for (const status of ['active', 'revoked', 'expired']) {
      const expected = all.sessions.filter((one: any) => one.status === status)
      assert.deepEqual((await list(service, token, `?status=${status}`)).sessions, expected)
    }
    assert.ok(!JSON.stringify(all).includes('sp_session_'))
  })

  test('the list is paginated, with each session once', async (t) => {
    const service = await startService(t, engine)
    const { userId } = await service.logIn()
    for (let count = 0; count < 3; count++) await service.logIn({ user_id: userId })
    const { token } = await service.logIn({ user_id: userId })
    const seen: string[] = []
    let cursor = ''
    for (const expected of [2, 2, 1]) {
      const page = await list(service, token, `?limit=2${cursor}`)
      assert.equal(page.sessions.length, expected)
      seen.push(...page.sessions.map((one: any) => one.session_id))
      cursor = `&cursor=${page.next_cursor}`
    }
    assert.equal(cursor, '&cursor=null')
    assert.deepEqual([new Set(seen).size, seen.toSorted().toReversed()], [5, seen])
  })

  test("users can end their own sessions by id, repeatedly; others' are not found", async (t) => {
    const service = await startService(t, engine)
    const { token, userId } = await service.logIn()
    const other = await service.logIn({ user_id: userId })
    const stranger = await service.logIn()
    const end = (id: string) => service.call('DELETE', `/v4/auth/sessions/${id}`, { token })
    const otherId = (await me(service, other.token)).body.session.session_id
    const first = await end(otherId)
    assert.deepEqual([first.status, first.body.status, first.body.current], [200, 'revoked', false])
    assert.equal((await me(service, other.token)).status, 401)
    service.clock.advance(60)
    assert.deepEqual((await end(otherId)).body, first.body)
    assert.equal((await recorded(service, 'session.revoked')).length, 1)

    const strangerId = (await me(service, stranger.token)).body.session.session_id
    for (const id of [strangerId, 'all', 'ALL', '%25', '*', 'ses_00000000000000000000000000', "'%20or%201=1--"]) {
      const reply = await end(id)
      assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'], id)
    }
    assert.equal((await me(service, stranger.token)).status, 200)
    assert.equal((await me(service, token)).status, 200)
  })
})
