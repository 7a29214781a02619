import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { ServiceError } from '../platform/errors.ts'
import type { FreshToken } from './fresh-token.ts'

const hour = 3600
const minute = 60

const refusedWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

function accepted({ oauth }: ConnectionTest, tokens: FreshToken[]): Promise<boolean[]> {
  return Promise.all(tokens.map(({ accessToken }) => oauth.accepts(accessToken.reveal())))
}

onBothDatabases('the token of a connection', (engine) => {
  test('is used until a minute before it expires, then refreshed', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    const first = await freshToken(id)
    service.clock.advance(hour - minute - 1)
    assert.equal((await freshToken(id)).accessToken.reveal(), first.accessToken.reveal())
    assert.equal(service.refreshes(), 0)
    service.clock.advance(1)
    const second = await freshToken(id)
    assert.equal(service.refreshes(), 1)
    assert.notEqual(second.accessToken.reveal(), first.accessToken.reveal())
    assert.equal(second.version, first.version + 1)
    assert.deepEqual(await accepted(service, [second]), [true])
    assert.equal((await freshToken(id)).accessToken.reveal(), second.accessToken.reveal())
    assert.equal(service.refreshes(), 1)
  })

  test('comes with the secrets to redact: unexpired old tokens, refresh token, client secret', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    const first = await freshToken(id)
    service.clock.advance(hour - minute)
    const second = await freshToken(id)
    const texts = second.secrets.map((secret) => secret.reveal())
    assert.ok(texts.includes(first.accessToken.reveal()))
    assert.ok(texts.includes(second.accessToken.reveal()))
    assert.ok(texts.includes(service.oauth.client.clientSecret))
    assert.equal(texts.length, 4)
    assert.ok(texts.every((text) => service.oauth.secrets.has(text)))
    service.clock.advance(minute)
    assert.equal((await freshToken(id)).secrets.length, 3)
  })

  test('is refreshed once for 50 concurrent calls, and all get a valid one', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    service.clock.advance(2 * hour)
    const tokens = await Promise.all(Array.from({ length: 50 }, () => freshToken(id)))
    assert.equal(service.refreshes(), 1)
    assert.deepEqual(new Set(await accepted(service, tokens)), new Set([true]))
    // The one rotated refresh token was stored: the next refresh works too.
    service.clock.advance(2 * hour)
    assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
    assert.equal(service.refreshes(), 2)
  })

  test('is refreshed once for calls on two instances', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    const [one, other] = [freshTokenOf(service), freshTokenOf(service)]
    const id = await service.connect()
    service.clock.advance(2 * hour)
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, index) => (index % 2 ? one : other)(id)))
    assert.equal(service.refreshes(), 1)
    assert.deepEqual(new Set(await accepted(service, tokens)), new Set([true]))
  })

  test('is refreshed after a 401 from the upstream, but not within five minutes of the last', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    const first = await freshToken(id)
    const second = await freshToken(id, first.version)
    assert.equal(service.refreshes(), 1)
    assert.equal(second.version, first.version + 1)
    // A call that was on its way with the old one: it has been replaced already.
    assert.equal((await freshToken(id, first.version)).version, second.version)
    assert.equal((await freshToken(id, second.version)).version, second.version)
    service.clock.advance(5 * minute - 1)
    assert.equal((await freshToken(id, second.version)).version, second.version)
    assert.equal(service.refreshes(), 1)
    service.clock.advance(1)
    assert.equal((await freshToken(id, second.version)).version, second.version + 1)
    assert.equal(service.refreshes(), 2)
  })

  test('without a known expiry is refreshed only after a 401', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const forget = service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, expires_in: undefined }))
    const id = await service.connect()
    forget()
    assert.equal((await service.connection(id)).expires_at, null)
    service.clock.advance(365 * 24 * hour)
    const { version } = await freshToken(id)
    assert.equal(service.refreshes(), 0)
    await freshToken(id, version)
    assert.equal(service.refreshes(), 1)
  })

  test('with expires_in 0 is used once instead of being refreshed for ever', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, expires_in: 0 }))
    service.clock.advance(hour)
    assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
    assert.equal(service.refreshes(), 1)
  })

  test('that the user revoked at the provider sets the connection to needs_reauth', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    await service.oauth.endGrants('ada')
    service.clock.advance(hour)
    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => freshToken(id)))
    assert.ok(calls.every((call) => call.status === 'rejected' && refusedWith('connection_needs_reauth')(call.reason)))
    assert.equal(service.refreshes(), 1)
    const { status, renewable } = await service.connection(id)
    assert.deepEqual([status, renewable], ['needs_reauth', false])
    await assert.rejects(freshToken(id), refusedWith('connection_needs_reauth'))
    assert.equal(service.refreshes(), 1)
    const records = await recorded(service, 'connection.needs_reauth')
    assert.deepEqual(
      records.map(({ user_id, detail }) => [user_id, detail]),
      [[service.user.userId, { connection_id: id, reason: 'invalid_grant' }]],
    )
    assert.equal(await service.connect(), id)
    assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
    assert.equal((await service.connection(id)).status, 'active')
  })

  test('that expired and cannot be refreshed sets the connection to needs_reauth', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const forget = service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, refresh_token: undefined }))
    const id = await service.connect()
    forget()
    assert.equal((await service.connection(id)).renewable, false)
    const { version } = await freshToken(id)
    // A 401 may have another reason, and there is nothing to renew it with.
    assert.equal((await freshToken(id, version)).version, version)
    service.clock.advance(hour - 1)
    assert.equal((await freshToken(id)).version, version)
    service.clock.advance(1)
    await assert.rejects(freshToken(id), refusedWith('connection_needs_reauth'))
    assert.equal((await service.connection(id)).status, 'needs_reauth')
  })

  test('too short to be redacted is refused and sets the connection to needs_reauth', async (t) => {
    const service = await startConnectionTest(t, engine)
    const id = await service.connect()
    service.oauth.fault.change(oauthPaths.token, (body) => ({ ...body, access_token: 'only-15-letters' }))
    service.clock.advance(hour)
    await assert.rejects(freshTokenOf(service)(id), refusedWith('connection_needs_reauth'))
    assert.equal((await service.connection(id)).status, 'needs_reauth')
  })
})

const outages = {
  'is down': { status: 503, body: 'down' },
  'says invalid_grant with status 500': {
    status: 500,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"invalid_grant"}',
  },
  'is overloaded': { status: 429, body: '{"error":"invalid_grant"}', headers: { 'content-type': 'application/json' } },
  'responds with a page': { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>maintenance</h1>' },
  redirects: { status: 302, headers: { location: 'https://localhost/' } },
  'responds with another object': { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
  'no longer accepts our client': {
    status: 401,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"invalid_client"}',
  },
  disconnects: 'cut',
} as const

onBothDatabases('while the provider is down', (engine) => {
  for (const [what, answer] of Object.entries(outages)) {
    test(`(it ${what}) the connection stays active, and calls are told to retry`, async (t) => {
      const service = await startConnectionTest(t, engine)
      const freshToken = freshTokenOf(service)
      const id = await service.connect()
      const lift = service.oauth.fault.answer(oauthPaths.token, answer)
      service.clock.advance(hour)
      await assert.rejects(freshToken(id), refusedWith('provider_unavailable'))
      const check = await service.call('POST', `/v4/connections/${id}/check`, { token: service.user.token })
      assert.equal(check.status, 502)
      assert.equal(check.body.error.code, 'provider_unavailable')
      assert.equal(check.body.error.retryable, true)
      assert.equal((await service.connection(id)).status, 'active')
      lift()
      assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
    })
  }

  test('a valid token is used, and concurrent calls do not flood the provider', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    service.oauth.fault.answer(oauthPaths.token, { status: 503 })
    service.clock.advance(hour - 1)
    assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
    service.clock.advance(1)
    const before = service.refreshes()
    const calls = await Promise.allSettled(Array.from({ length: 50 }, () => freshToken(id)))
    assert.ok(calls.every((call) => call.status === 'rejected' && refusedWith('provider_unavailable')(call.reason)))
    assert.ok(service.refreshes() - before < 5, `${service.refreshes() - before} refreshes`)
  })
})

onBothDatabases('a token is no longer returned', (engine) => {
  test('once an admin has disabled the provider, until it is enabled again', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    const switchTo = (what: string) =>
      service.call('POST', `/v4/providers/${service.providerId}/${what}`, { token: service.adminToken })
    assert.equal((await switchTo('disable')).status, 200)
    await assert.rejects(freshToken(id), refusedWith('conflict'))
    service.clock.advance(hour)
    await assert.rejects(freshToken(id), refusedWith('conflict'))
    assert.equal(service.refreshes(), 0)
    await switchTo('enable')
    assert.deepEqual(await accepted(service, [await freshToken(id)]), [true])
  })

  test('once its user is disabled or has disconnected, even if the old token is still valid', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const waitAtTheProvider = async (id: string) => {
      service.oauth.fault.answer(oauthPaths.token, { status: 503 }, 1)
      const held = service.oauth.fault.hold(oauthPaths.token, 1)
      const waiting = freshToken(id)
      await held.arrived
      return { waiting, release: held.release }
    }
    const id = await service.connect()
    const grace = await service.logIn()
    const other = await service.connect(grace, 'grace')
    service.clock.advance(hour - 30)

    const disconnecting = await waitAtTheProvider(other)
    await service.call('DELETE', `/v4/connections/${other}`, { token: grace.token })
    disconnecting.release()
    await assert.rejects(disconnecting.waiting, refusedWith('grant_revoked'))

    const expiring = await waitAtTheProvider(id)
    service.clock.advance(60)
    expiring.release()
    await assert.rejects(expiring.waiting, refusedWith('provider_unavailable'))

    const disabling = await waitAtTheProvider(id)
    await service.call('POST', `/v4/users/${service.user.userId}/disable`, { token: service.adminToken })
    disabling.release()
    await assert.rejects(disabling.waiting, refusedWith('grant_revoked'))
  })

  test('once its user is disabled or has disconnected, also to a call waiting for a refresh', async (t) => {
    const service = await startConnectionTest(t, engine)
    const freshToken = freshTokenOf(service)
    const id = await service.connect()
    service.clock.advance(hour)
    const held = service.oauth.fault.hold(oauthPaths.token)
    const waiting = freshToken(id)
    await held.arrived
    await service.call('POST', `/v4/users/${service.user.userId}/disable`, { token: service.adminToken })
    held.release()
    await assert.rejects(waiting, refusedWith('grant_revoked'))
    await assert.rejects(freshToken(id), refusedWith('grant_revoked'))
    const other = await service.logIn()
    const others = await service.connect(other, 'grace')
    assert.equal((await service.call('DELETE', `/v4/connections/${others}`, { token: other.token })).status, 200)
    await assert.rejects(freshToken(others), refusedWith('grant_revoked'))
    await assert.rejects(freshToken('con_that_is_not_there'), refusedWith('grant_revoked'))
  })
})
