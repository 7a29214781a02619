/** Several processes on one database refresh a token once; one that is killed meanwhile leaves a correct status. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { oauthPaths, startOAuthServer } from '../server/testkit/oauth-server.ts'
import type { OAuthServer } from '../server/testkit/oauth-server.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startWithProvider } from './person.ts'
import type { Person } from './person.ts'
import { eventually, startService } from './running-service.ts'
import type { Engine, Environment, RunningService } from './running-service.ts'

/** A connection whose first access token expires after a second. */
async function shortLived(t: TestContext, engine: Engine, settings: Environment = {}): Promise<Connected> {
  const oauth = await startOAuthServer(t, { rotateRefreshToken: true })
  const person = await startWithProvider(t, engine, oauth, settings)
  const shorten = oauth.fault.change(oauthPaths.token, (answer) => ({ ...answer, expires_in: 1 }))
  const { connection_id: connectionId = '' } = await person.follow(await oauth.approve(await person.start()))
  shorten()
  assert.match(connectionId, /^con_/)
  await sleep(1100)
  return { ...person, oauth, connectionId }
}

interface Connected extends Person {
  oauth: OAuthServer
  connectionId: string
}

const refreshes = ({ calls }: OAuthServer) => calls.filter(({ grantType }) => grantType === 'refresh_token').length

test('50 calls on two processes with PostgreSQL on an expired connection: one refresh, all succeed', async (t) => {
  const { service, oauth, token, connectionId } = await shortLived(t, 'postgres')
  const port = String(await freePort())
  const other = await startService(t, 'postgres', {
    ...service.env,
    PORT: port,
    SALLYPORT_BASE_URL: `http://localhost:${service.port}`,
  })
  const host = `localhost:${service.port}`
  const check = (instance: RunningService) =>
    instance.call('POST', `/v4/connections/${connectionId}/check`, { token, headers: { host } })
  const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => check(index % 2 ? service : other)))
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  assert.deepEqual(new Set(replies.map(({ body }) => body.status)), new Set(['active']))
  assert.equal(refreshes(oauth), 1)
})

/** Blocks writes to the connection until it is lifted. `isAwaited` tells whether the service is trying to write. */
async function lockConnections(service: RunningService, engine: Engine) {
  if (engine === 'sqlite') {
    const file = new DatabaseSync(join(service.dataDir, 'sallyport.db'))
    file.exec('begin immediate')
    return {
      isAwaited: async () => service.log.includes('refreshed tokens could not be stored yet'),
      lift: async () => {
        file.close()
      },
    }
  }
  const client = new pg.Client({ connectionString: service.env['DATABASE_URL'] })
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from connections for update')
  return {
    isAwaited: async () => {
      const { rowCount } = await client.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
      return rowCount !== 0
    },
    lift: () => client.end(),
  }
}

onBothDatabases("a process killed between the provider's response and storing it", (engine) => {
  test('leaves a connection that works or is reported as needs_reauth', async (t) => {
    const { service, oauth, token, connectionId, start, follow } = await shortLived(t, engine)
    const held = oauth.fault.hold(oauthPaths.token)
    const call = service.call('POST', `/v4/connections/${connectionId}/check`, { token })
    call.catch(() => undefined)
    await held.arrived
    const lock = await lockConnections(service, engine)
    held.release()
    await eventually(lock.isAwaited, 'nobody tried to store the tokens')
    await service.kill()
    await lock.lift()
    await service.startAgain()
    const status = async () => {
      const { body } = await service.call('GET', '/v4/connections', { token })
      return body.connections[0].status as string
    }
    // The new refresh token was lost with the process, and the old one is used up: the connection needs
    // reauthorization.
    assert.equal(await status(), 'needs_reauth')
    await follow(await oauth.approve(await start({ connection_id: connectionId })))
    assert.equal(await status(), 'active')
    const check = await service.call('POST', `/v4/connections/${connectionId}/check`, { token })
    assert.deepEqual([check.status, check.body.status], [200, 'active'])
  })
})

test('stopping during a refresh cuts off the call but stores the tokens', async (t) => {
  const { service, oauth, token, connectionId } = await shortLived(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '0' })
  const held = oauth.fault.hold(oauthPaths.token)
  const cut = assert.rejects(service.call('POST', `/v4/connections/${connectionId}/check`, { token }))
  await held.arrived
  service.signal('SIGTERM')
  await cut
  held.release()
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
  await service.startAgain()
  const { status, body } = await service.call('POST', `/v4/connections/${connectionId}/check`, { token })
  assert.deepEqual([status, body.status, refreshes(oauth)], [200, 'active', 1])
})
