import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { reaching } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import { createConnectionStore } from './connection-store.ts'

const json = { 'content-type': 'application/json' }
const day = 86_400

async function connected(test: ConnectionTest) {
  const { database, vault, user } = test
  const id = await test.connect()
  const store = createConnectionStore(vault)
  const connection = await store.findOfUser(database.queries, user.userId, id)
  const tokens = connection && (await store.tokens(database.queries, connection))
  return { id, access: tokens?.accessToken?.reveal() ?? '', refresh: tokens?.refreshToken?.reveal() ?? '' }
}

const remove = ({ call, user }: ConnectionTest, id: string) =>
  call('DELETE', `/v4/connections/${id}`, { token: user.token })

const asked = ({ oauth }: ConnectionTest) => oauth.calls.filter(({ path }) => path === oauthPaths.revocation).length

const row = ({ database }: ConnectionTest) =>
  database.queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow()

async function assertWiped(test: ConnectionTest): Promise<void> {
  const { access_token, access_token_key_id, refresh_token, refresh_token_key_id } = await row(test)
  const found = [access_token, access_token_key_id, refresh_token, refresh_token_key_id]
  assert.deepEqual(found, [null, null, null, null])
  assert.deepEqual(await test.database.queries.selectFrom('former_tokens').selectAll().execute(), [])
}

onBothDatabases('remote revocation', (engine) => {
  test('disconnecting revokes both tokens at the provider and deletes them here', async (t) => {
    const test = await startConnectionTest(t, engine)
    await test.connect()
    const { id, access, refresh } = await connected(test)
    assert.ok(await test.oauth.accepts(access))
    const { status, body } = await remove(test, id)
    assert.deepEqual([status, body.status, body.remote_revocation], [200, 'revoked', 'done'])
    assert.equal(body.renewable, false)
    assert.equal(asked(test), 2)
    await assertWiped(test)
    assert.equal(await test.oauth.accepts(access), false)
    const { clientId, clientSecret } = test.oauth.client
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const reply = await test.oauth.fetch(`${test.oauth.issuer}${oauthPaths.token}`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refresh }),
    })
    assert.deepEqual([reply.status, ((await reply.json()) as { error: string }).error], [400, 'invalid_grant'])
    const events = (await recorded(test, 'connection.revoked')).map(({ event, detail }) => [event, detail.outcome])
    assert.deepEqual(events, [
      ['connection.revoked', undefined],
      ['connection.revoked_remotely', 'done'],
    ])
  })

  test('a provider that is down is retried with backoff until it responds', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { app, clock, oauth } = test
    const { id, access } = await connected(test)
    const lift = oauth.fault.answer(oauthPaths.revocation, { status: 503 })
    const { status, body } = await remove(test, id)
    assert.deepEqual([status, body.status, body.remote_revocation], [200, 'revoked', 'pending'])
    assert.ok((await row(test)).access_token, 'kept, for the provider to be shown')
    const attempts: number[] = []
    for (let second = 0; second < 120; second++) {
      const before = asked(test)
      await app.catchUp()
      if (asked(test) > before) attempts.push(second)
      clock.advance(1)
    }
    const pauses = attempts.map((at, index) => at - (attempts[index - 1] ?? 0))
    // 10 s, 20 s, 40 s …, each shortened or lengthened by up to a quarter.
    for (const [index, pause] of pauses.entries()) {
      const planned = 10 * 2 ** index
      assert.ok(pause >= planned * 0.75 && pause <= planned * 1.25 + 1, `pauses of ${pauses.join(', ')} seconds`)
    }
    assert.ok(attempts.length >= 3)
    lift()
    clock.advance(3600 * 1.25)
    await app.catchUp()
    assert.equal((await test.connection(id)).remote_revocation, 'done')
    assert.equal(await oauth.accepts(access), false)
    await assertWiped(test)
    const before = asked(test)
    clock.advance(day)
    await app.catchUp()
    assert.equal(asked(test), before)
  })

  test('a provider that stays down is given up after three days, and the tokens are deleted', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { id } = await connected(test)
    test.oauth.fault.answer(oauthPaths.revocation, 'cut')
    await remove(test, id)
    test.clock.advance(3 * day)
    await test.app.catchUp()
    assert.equal((await row(test)).remote_revocation, 'pending')
    test.clock.advance(3600 * 1.25)
    await test.app.catchUp()
    assert.equal((await row(test)).remote_revocation, 'failed')
    await assertWiped(test)
    const [ended] = await recorded(test, 'connection.revoked_remotely')
    assert.equal(ended?.detail.outcome, 'failed')
  })

  test('a refusal is final, and the other token is still revoked', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { id, access } = await connected(test)
    const refusal = { status: 400, headers: json, body: '{"error":"unsupported_token_type"}' }
    test.oauth.fault.answer(oauthPaths.revocation, refusal, 1)
    assert.equal((await remove(test, id)).body.remote_revocation, 'failed')
    assert.equal(asked(test), 2)
    assert.equal(await test.oauth.accepts(access), false)
    await assertWiped(test)
  })

  for (const [what, refusal] of Object.entries({
    'an error in its body': { status: 401, headers: json, body: '{"error":"invalid_client"}' },
    'a WWW-Authenticate challenge': { status: 401, headers: { 'www-authenticate': 'Basic realm="acme"' } },
  })) {
    test(`a provider that refuses our client with ${what} is retried`, async (t) => {
      const test = await startConnectionTest(t, engine)
      const { id, access } = await connected(test)
      const lift = test.oauth.fault.answer(oauthPaths.revocation, refusal)
      assert.equal((await remove(test, id)).body.remote_revocation, 'pending')
      lift()
      test.clock.advance(60)
      await test.app.catchUp()
      assert.equal((await row(test)).remote_revocation, 'done')
      assert.equal(await test.oauth.accepts(access), false)
    })
  }

  test('without a revocation endpoint the tokens are deleted immediately', async (t) => {
    const test = await startConnectionTest(t, engine, { oauth: { revocation: false } })
    const { id } = await connected(test)
    await test.connect()
    assert.equal((await remove(test, id)).body.remote_revocation, 'unsupported')
    await assertWiped(test)
    await test.app.catchUp()
    assert.equal(asked(test), 0)
  })

  test('a disabled provider is still called; for a deleted one revocation has failed', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { id } = await connected(test)
    const change = (members: object) => test.database.queries.updateTable('providers').set(members).execute()
    await change({ status: 'disabled' })
    assert.equal((await remove(test, id)).body.remote_revocation, 'done')
    await change({ status: 'active' })
    const second = await test.connect()
    const lift = test.oauth.fault.answer(oauthPaths.revocation, 'cut')
    await remove(test, second)
    lift()
    await change({ deleted_at: 1, slug: null, status: 'disabled' })
    test.clock.advance(60)
    await test.app.catchUp()
    assert.equal((await test.connection(second)).remote_revocation, 'failed')
  })

  test('two instances that catch up concurrently call the provider once', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { config, clock, oauth } = test
    const shared = {
      SALLYPORT_DATA_DIR: config.dataDir,
      SALLYPORT_MASTER_KEY: config.masterKey.read()?.reveal(),
      ...(engine === 'postgres' && { DATABASE_URL: config.databaseUrl.read()?.reveal() }),
    }
    const other = await startService(t, engine, { ...reaching(oauth), ...shared }, clock)
    const { id } = await connected(test)
    oauth.fault.answer(oauthPaths.revocation, { status: 503 }, 1)
    await remove(test, id)
    clock.advance(20)
    const before = asked(test)
    await Promise.all([test.app.catchUp(), other.app.catchUp(), test.app.catchUp(), other.app.catchUp()])
    assert.equal(asked(test) - before, 2, 'once for each of the two tokens')
    assert.equal((await test.connection(id)).remote_revocation, 'done')
  })

  test('a revocation of a crashed process is taken over by another', async (t) => {
    const test = await startConnectionTest(t, engine)
    const { id } = await connected(test)
    const lift = test.oauth.fault.answer(oauthPaths.revocation, 'cut')
    await remove(test, id)
    lift()
    // What a claim leaves behind: the time at which somebody else may try.
    const until = test.clock.now().getTime() + 60_000
    await test.database.queries.updateTable('connections').set({ revoke_after: until }).execute()
    test.clock.advance(59)
    await test.app.catchUp()
    assert.equal((await test.connection(id)).remote_revocation, 'pending')
    test.clock.advance(1)
    await test.app.catchUp()
    assert.equal((await test.connection(id)).remote_revocation, 'done')
  })
})
