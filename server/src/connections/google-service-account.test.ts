/** Google service accounts, end to end. The other end verifies their assertions with jose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { scope } from '../../testkit/google-token-server.ts'
import { startServiceAccount } from '../../testkit/minting.ts'
import { assertInPlainNowhere } from '../../testkit/stored.ts'
import { rsaKey } from '../../testkit/token-issuer.ts'

const hour = 3600
const email = 'agents@ada-labs.iam.gserviceaccount.com'

onBothDatabases('a Google service account', (engine) => {
  test('gets a token for its scopes, which is kept and renewed when it has expired', async (t) => {
    const { server, connect, grantOn, clock, upstream, ...service } = await startServiceAccount(t, engine)
    const { status, body, text } = await connect(server.credential)
    assert.equal(status, 201, text)
    assert.deepEqual(
      [body.auth_method, body.account_label, body.scopes, body.renewable],
      ['google_service_account', email, [scope], true],
    )
    const { proxy } = await grantOn(body.connection_id)
    for (let calls = 0; calls < 2; calls++) assert.deepEqual((await proxy()).body.body, { path: '/things' })
    assert.equal(server.tokens.length, 1)
    clock.advance(hour - 30)
    assert.equal((await proxy()).body.status, 200)
    assert.equal(server.tokens.length, 2)
    assert.equal(upstream.received.at(-1)?.headers.authorization, `Bearer ${server.tokens[1]}`)
    const lines = (server.keyFile['private_key'] ?? '').split('\n').filter((line) => line.length > 20)
    const unused = ['tokens.evil.example', '103815']
    await assertInPlainNowhere(service, [...server.tokens, ...server.assertions, ...lines, ...unused])
  })

  test('keeps nothing of its key file but the address and the key', async (t) => {
    const { server, connect, database, vault } = await startServiceAccount(t, engine)
    const { body } = await connect(server.credential)
    const row = await database.queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
    const place = { table: 'connections', column: 'credential', rowColumn: 'connection_id', ownerColumn: 'user_id' }
    const sealed = { bytes: row.credential ?? new Uint8Array(), keyId: row.credential_key_id ?? '' }
    const where = { row: body.connection_id, owner: row.user_id }
    const text = (await vault.open(database.queries, place, where, sealed)).reveal()
    const kept = JSON.parse(Object.fromEntries(JSON.parse(text) as [string, string][])['key_json'] ?? '{}') as object
    assert.deepEqual(Object.keys(kept), ['client_email', 'private_key', 'private_key_id'])
  })

  test('acts for a user if its domain allows it, which is another account', async (t) => {
    const { server, connect, replace } = await startServiceAccount(t, engine)
    const acting = { ...server.credential, subject: 'ada@ada-labs.example' }
    const { status, body } = await connect(acting)
    assert.deepEqual([status, body.account_label], [201, `ada@ada-labs.example (${email})`])
    assert.equal(server.claims[0]?.['sub'], 'ada@ada-labs.example')
    const other = await connect({ ...server.credential, subject: 'eve@ada-labs.example' })
    assert.deepEqual([other.body.error.code, other.body.error.upstream_status], ['credential_refused', 401])
    assert.equal((await replace(body.connection_id, server.credential)).body.error.code, 'conflict')
    assert.equal((await connect(server.credential)).status, 201)
    assert.equal((await connect(server.credential)).body.error.code, 'conflict', 'connected already')
  })

  test('that Google refuses is not stored', async (t) => {
    const { server, connect, database, log } = await startServiceAccount(t, engine)
    const withFile = (members: object) => ({
      ...server.credential,
      key_json: JSON.stringify({ ...server.keyFile, ...members }),
    })
    for (const credential of [
      withFile({ private_key: rsaKey('another key') }),
      withFile({ private_key_id: 'deleted' }),
      withFile({ client_email: 'other@ada-labs.iam.gserviceaccount.com' }),
      { ...server.credential, scopes: 'https://www.googleapis.com/auth/nothing' },
    ]) {
      const { status, body } = await connect(credential)
      assert.deepEqual(
        [status, body.error.code, body.error.upstream_status, body.error.field],
        [400, 'credential_refused', 400, 'credential'],
      )
    }
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
    assert.ok(!log.join('').includes('PRIVATE KEY'))
  })

  test('whose key is deleted needs a person, and calls say so', async (t) => {
    const { server, granted, clock, statusOf, replace } = await startServiceAccount(t, engine)
    const { connectionId, proxy } = await granted()
    const key = server.keys.get('9f86d081884c7d65')
    server.keys.clear()
    clock.advance(hour)
    for (let calls = 0; calls < 2; calls++) {
      assert.equal((await proxy()).body.error.code, 'connection_needs_reauth')
    }
    assert.equal(await statusOf(connectionId), 'needs_reauth')
    const pem = rsaKey('next', { type: 'pkcs8' })
    server.keys.set('next', { email, pem })
    const next = JSON.stringify({ ...server.keyFile, private_key: pem, private_key_id: 'next' })
    server.keys.set('eve', { email: 'eve@evil.iam.gserviceaccount.com', pem: key?.pem ?? '' })
    const eve = { client_email: 'eve@evil.iam.gserviceaccount.com', private_key_id: 'eve' }
    const others = await replace(connectionId, {
      ...server.credential,
      key_json: JSON.stringify({ ...server.keyFile, ...eve }),
    })
    assert.deepEqual([others.status, others.body.error.code], [409, 'conflict'])
    const scopes = `${scope} `
    assert.equal((await replace(connectionId, { key_json: next, scopes })).body.status, 'active')
    assert.equal((await proxy()).body.status, 200, 'the same account: its grants stay')
  })

  test('is not to blame for an outage, a proxy on the way or a wrong clock', async (t) => {
    const { server, granted, connect, clock, statusOf } = await startServiceAccount(t, engine)
    const { connectionId, proxy } = await granted()
    clock.advance(hour)
    const late = 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.'
    const replies = [
      { status: 503, body: { error: 'invalid_grant' } },
      { status: 429, body: { error: 'rate_limit_exceeded' } },
      { status: 400, body: { error: 'internal_failure' } },
      { status: 400, body: { error: 'invalid_grant', error_description: late } },
      { status: 403, headers: { 'content-type': 'text/html' }, body: '<h1>Blocked by your company</h1>' },
      { status: 302, headers: { location: 'https://evil.example/' }, body: '' },
      { status: 200, body: { id_token: 'eyJhbGciOiJub25lIn0.e30.', token_type: 'Bearer' } },
      { status: 200, body: { access_token: 'ya29.0123456789012345', token_type: 'mac' } },
    ]
    for (const reply of replies) {
      server.instead = () => reply
      assert.equal((await proxy()).body.error.code, 'provider_unavailable', JSON.stringify(reply))
      assert.equal(await statusOf(connectionId), 'active')
    }
    server.instead = () => ({ status: 503, body: {} })
    assert.equal((await connect(server.credential)).status, 502)
    server.instead = undefined
    assert.equal((await proxy()).body.status, 200)
  })

  test('gets one new token when an API refuses the one it has', async (t) => {
    const { server, granted } = await startServiceAccount(t, engine)
    const { proxy } = await granted()
    assert.equal((await proxy()).body.status, 200)
    server.revoke(server.tokens[0] ?? '')
    assert.equal((await proxy()).body.status, 200)
    assert.equal(server.tokens.length, 2)
    server.api = (response) => response.writeHead(401).end('{}')
    assert.equal((await proxy()).body.status, 401)
    assert.equal(server.tokens.length, 2)
  })

  test('cannot be made to call its token endpoint', async (t) => {
    const { server, granted, upstream } = await startServiceAccount(t, engine)
    const { proxy } = await granted()
    const call = await proxy({ method: 'POST', url: `https://${upstream.host}/token` })
    assert.equal(call.body.error.code, 'credential_endpoint')
    assert.equal(server.asked(), 1)
  })
})
