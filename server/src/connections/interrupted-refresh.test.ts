import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { ServiceError } from '../platform/errors.ts'
import { databaseFile } from '../platform/operations/instance.ts'
import type { FreshTokenOf } from './fresh-token.ts'
import { refreshLeaseMs } from './fresh-token.ts'

const hour = 3600
const leaseSeconds = refreshLeaseMs / 1000
const refusedWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

/** A refresh whose process dies after the provider's response and before anything is stored. */
async function dieInTheMiddle(service: ConnectionTest, id: string): Promise<void> {
  service.oauth.fault.answer(oauthPaths.token, 'lost', 1)
  await freshTokenOf(service)(id).catch(() => undefined)
  // A process that lives gives its lease back. A dead one's stays.
  await service.database.queries
    .updateTable('connections')
    .set({
      refresh_lease: 'of a process that is gone',
      refresh_lease_until: service.clock.now().getTime() + refreshLeaseMs,
    })
    .where('connection_id', '=', id)
    .execute()
}

onBothDatabases('an interrupted refresh', (engine) => {
  test('prevents other refreshes until its lease expires', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: false } })
    const id = await service.connect()
    service.clock.advance(hour - 30)
    const before = await freshTokenOf(service)(id).then(() => service.refreshes())
    service.clock.advance(hour - 59)
    await dieInTheMiddle(service, id)
    const asked = service.refreshes()
    assert.equal(asked, before + 1)
    // The old token still holds for a minute: calls go on with it.
    await freshTokenOf(service)(id)
    assert.equal(service.refreshes(), asked)
    assert.equal((await service.connection(id)).status, 'active')
    service.clock.advance(leaseSeconds)
    await freshTokenOf(service)(id)
    assert.equal(service.refreshes(), asked + 1)
  })

  test('is reported as needs_reauth until a new refresh succeeds', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: false } })
    const id = await service.connect()
    service.clock.advance(hour)
    await dieInTheMiddle(service, id)
    assert.equal((await service.connection(id)).status, 'needs_reauth')
    service.clock.advance(leaseSeconds)
    assert.equal((await service.connection(id)).status, 'needs_reauth')
    const filtered = (status: string) =>
      service.call('GET', `/v4/connections?status=${status}`, { token: service.user.token })
    assert.equal((await filtered('active')).body.connections.length, 0)
    assert.equal((await filtered('needs_reauth')).body.connections.length, 1)
    // An outage settles nothing.
    const lift = service.oauth.fault.answer(oauthPaths.token, { status: 503 })
    await service.app.catchUp()
    assert.equal((await service.connection(id)).status, 'needs_reauth')
    lift()
    await service.app.catchUp()
    assert.equal((await service.connection(id)).status, 'active')
    const { accessToken } = await freshTokenOf(service)(id)
    assert.equal(await service.oauth.accepts(accessToken.reveal()), true)
  })

  test('that lost a rotated token leaves the connection at needs_reauth', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    const id = await service.connect()
    service.clock.advance(hour)
    await dieInTheMiddle(service, id)
    service.clock.advance(leaseSeconds)
    assert.equal((await service.connection(id)).status, 'needs_reauth')
    await service.app.catchUp()
    assert.equal((await service.connection(id)).status, 'needs_reauth')
    await assert.rejects(freshTokenOf(service)(id), refusedWith('connection_needs_reauth'))
    assert.equal(await service.connect(), id)
    assert.equal((await service.connection(id)).status, 'active')
  })
})

onBothDatabases('refreshes that cannot be settled', (engine) => {
  test('do not block others, however many they are', async (t) => {
    const service = await startConnectionTest(t, engine)
    const gone = await service.logIn({ email: 'gone@example.com' })
    for (let count = 0; count < 25; count++) await service.connect(gone, `account-${count}`)
    const id = await service.connect()
    await service.call('POST', `/v4/users/${gone.userId}/disable`, { token: service.adminToken })
    service.clock.advance(hour)
    await service.database.queries
      .updateTable('connections')
      .set({ refresh_lease: 'of a process that is gone', refresh_lease_until: service.clock.now().getTime() })
      .execute()
    await service.app.catchUp()
    assert.equal((await service.connection(id)).status, 'active')
    assert.equal(service.refreshes(), 1)
  })
})

onBothDatabases('tokens that arrive while', (engine) => {
  test('the connection is being disconnected are revoked at the provider too', async (t) => {
    const service = await startConnectionTest(t, engine)
    const id = await service.connect()
    service.clock.advance(hour)
    const held = service.oauth.fault.hold(oauthPaths.token)
    const refreshing = freshTokenOf(service)(id)
    await held.arrived
    const before = new Set(service.oauth.secrets)
    const { body } = await service.call('DELETE', `/v4/connections/${id}`, { token: service.user.token })
    assert.equal(body.status, 'revoked')
    held.release()
    await assert.rejects(refreshing, refusedWith('grant_revoked'))
    await service.app.catchUp()
    assert.equal((await service.connection(id)).remote_revocation, 'done')
    const since = [...service.oauth.secrets].filter((secret) => !before.has(secret))
    for (const secret of [...since, ...before]) assert.equal(await service.oauth.accepts(secret), false)
  })

  test('the account is being reconnected do not replace the new ones', async (t) => {
    const service = await startConnectionTest(t, engine)
    const id = await service.connect()
    service.clock.advance(hour)
    const held = service.oauth.fault.hold(oauthPaths.token, 1)
    const freshToken = freshTokenOf(service)
    const refreshing = freshToken(id)
    await held.arrived
    const before = new Set(service.oauth.secrets)
    assert.equal(await service.connect(), id)
    held.release()
    await refreshing
    const { accessToken } = await freshToken(id)
    assert.equal(before.has(accessToken.reveal()), false, 'it is the one of the consent')
    assert.equal(await service.oauth.accepts(accessToken.reveal()), true)
    assert.equal((await service.connection(id)).status, 'active')
  })
})

/** Starts a refresh whose response arrives while the database can't be written to. */
async function refreshWhileLocked(service: ConnectionTest, id: string, lock: () => Promise<() => Promise<void>>) {
  const held = service.oauth.fault.hold(oauthPaths.token)
  const refreshing: ReturnType<FreshTokenOf> = freshTokenOf(service)(id)
  await held.arrived
  const unlock = await lock()
  held.release()
  await waitFor(() => service.log.some((line) => line.includes('refreshed tokens could not be stored yet')))
  await unlock()
  return refreshing
}

async function waitFor(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    assert.ok(tries < 400, 'it did not come to it')
    await sleep(50)
  }
}

test('refreshed tokens are not lost while SQLite is locked by another process', async (t) => {
  const service = await startConnectionTest(t, 'sqlite')
  const id = await service.connect()
  service.clock.advance(hour)
  const token = await refreshWhileLocked(service, id, async () => {
    const other = new DatabaseSync(databaseFile(service.config))
    other.exec('begin immediate')
    return async () => {
      other.exec('rollback')
      other.close()
    }
  })
  assert.equal(await service.oauth.accepts(token.accessToken.reveal()), true)
  assert.equal(service.refreshes(), 1)
})

test('refreshed tokens are not lost when PostgreSQL drops the connection', async (t) => {
  const service = await startConnectionTest(t, 'postgres')
  const id = await service.connect()
  service.clock.advance(hour)
  const client = new pg.Client({ connectionString: service.config.databaseUrl.read()?.reveal() })
  await client.connect()
  const token = await refreshWhileLocked(service, id, async () => {
    await client.query('begin')
    await client.query('select 1 from connections for update')
    const cut = setInterval(() => {
      void client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
    }, 100)
    return async () => {
      clearInterval(cut)
      await client.query('rollback')
      await client.end()
    }
  })
  assert.equal(await service.oauth.accepts(token.accessToken.reveal()), true)
  assert.equal(service.refreshes(), 1)
})
