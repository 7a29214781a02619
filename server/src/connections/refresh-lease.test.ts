import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Connection } from './connection.ts'
import { createConnectionStore } from './connection-store.ts'
import { refreshLeaseMs } from './fresh-token.ts'
import { createRefreshStore } from './refresh-store.ts'

const hour = 3600
const leaseSeconds = refreshLeaseMs / 1000
const refusedWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

async function found({ database, vault, user }: ConnectionTest, id: string): Promise<Connection> {
  const connection = await createConnectionStore(vault).findOfUser(database.queries, user.userId, id)
  assert.ok(connection)
  return connection
}

onBothDatabases('the lease of a refresh', (engine) => {
  test('is free immediately after a failure, also for a caller that read it while taken', async (t) => {
    const service = await startConnectionTest(t, engine)
    const id = await service.connect()
    const refreshes = createRefreshStore(service.vault)
    const { queries } = service.database
    const leaseOf = (name: string) => {
      const now = service.clock.now()
      return { id: name, now, until: new Date(now.getTime() + refreshLeaseMs) }
    }
    const before = await found(service, id)
    assert.equal(await refreshes.takeLease(queries, before, leaseOf('first')), true)
    const meanwhile = await found(service, id)
    await refreshes.releaseLease(queries, before, leaseOf('first'))
    assert.equal(await refreshes.takeLease(queries, meanwhile, leaseOf('second')), true)
    await refreshes.releaseLease(queries, meanwhile, leaseOf('second'))
    assert.equal((await found(service, id)).refreshLeaseUntil, null)
    assert.equal(await refreshes.takeLease(queries, meanwhile, leaseOf('third')), true)
  })

  test('that expired under a slow process loses no tokens, whatever the next one got', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    const id = await service.connect()
    service.clock.advance(hour)
    const held = service.oauth.fault.hold(oauthPaths.token)
    const slow = freshTokenOf(service)(id)
    await held.arrived
    service.clock.advance(leaseSeconds)
    // Another instance takes over, and its refresh with the old, already rotated token is refused.
    const connection = await found(service, id)
    const refreshes = createRefreshStore(service.vault)
    const { queries } = service.database
    const now = service.clock.now()
    const next = { id: 'next', now, until: new Date(now.getTime() + refreshLeaseMs) }
    assert.equal(await refreshes.takeLease(queries, connection, next), true)
    assert.equal(await refreshes.markNeedsReauth(queries, connection, next.id), true)
    await assert.rejects(freshTokenOf(service)(id), refusedWith('connection_needs_reauth'))
    held.release()
    const { accessToken } = await slow
    assert.equal(await service.oauth.accepts(accessToken.reveal()), true)
    assert.equal((await service.connection(id)).status, 'active')
    assert.equal((await recorded(service, 'connection.refreshed')).length, 1)
  })

  test('that expired no longer allows marking the connection needs_reauth', async (t) => {
    const service = await startConnectionTest(t, engine)
    const id = await service.connect()
    const connection = await found(service, id)
    const refreshes = createRefreshStore(service.vault)
    const { queries } = service.database
    const now = service.clock.now()
    await refreshes.takeLease(queries, connection, { id: 'slow', now, until: now })
    await refreshes.takeLease(queries, connection, { id: 'next', now, until: new Date(now.getTime() + refreshLeaseMs) })
    assert.equal(await refreshes.markNeedsReauth(queries, connection, 'slow'), false)
    assert.equal(await refreshes.markNeedsReauth(queries, connection, 'next'), true)
  })
})

onBothDatabases('stopping', (engine) => {
  test('waits for refreshes in progress and starts no others', async (t) => {
    const service = await startConnectionTest(t, engine, { oauth: { rotateRefreshToken: true } })
    const [one, other] = [await service.connect(), await service.connect(service.user, 'grace')]
    service.clock.advance(hour)
    const check = (id: string) => service.call('POST', `/v4/connections/${id}/check`, { token: service.user.token })
    const held = service.oauth.fault.hold(oauthPaths.token)
    const begun = check(one)
    await held.arrived
    const ended = service.app.jobsEnded()
    // A call that was cut off goes on behind its socket; what it would begin now, nobody would wait for.
    assert.equal((await check(other)).body.error.code, 'provider_unavailable')
    held.release()
    await ended
    assert.equal((await begun).status, 200)
    assert.equal(service.refreshes(), 1)
  })
})
