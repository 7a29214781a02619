/** GitHub Apps, end to end. The other end verifies their assertions with jose, and the API takes only tokens of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startGitHubApp } from '../../testkit/minting.ts'
import { assertInPlainNowhere } from '../../testkit/stored.ts'
import { rsaKey } from '../../testkit/token-issuer.ts'

const hour = 3600

onBothDatabases('a GitHub App', (engine) => {
  test('gets a token of its installation, which is kept and renewed when it has expired', async (t) => {
    const { server, connect, grantOn, clock, upstream, ...service } = await startGitHubApp(t, engine)
    const { status, body, text } = await connect(server.credential)
    assert.equal(status, 201, text)
    assert.deepEqual(
      [body.auth_method, body.account_label, body.scopes, body.renewable],
      ['github_app', 'ada-labs (agents)', ['contents:write', 'issues:write', 'metadata:read'], true],
    )
    const { proxy } = await grantOn(body.connection_id)
    for (let calls = 0; calls < 2; calls++) assert.deepEqual((await proxy()).body.body, { path: '/things' })
    assert.equal(server.tokens.length, 1)
    clock.advance(hour - 30)
    assert.equal((await proxy()).body.status, 200)
    assert.equal(server.tokens.length, 2)
    const calls = upstream.received.filter(({ path }) => path === '/things').map(({ headers }) => headers.authorization)
    assert.deepEqual(
      calls,
      [server.tokens[0], server.tokens[0], server.tokens[1]].map((token) => `Bearer ${token}`),
    )
    const lines = server.credential.private_key.split('\n').filter((line) => line.length > 20)
    await assertInPlainNowhere(service, [...server.tokens, ...server.assertions, ...lines])
  })

  test('can be limited to repositories and permissions, which the installation must have', async (t) => {
    const { server, connect } = await startGitHubApp(t, engine)
    const limited = { ...server.credential, repositories: 'website,  docs', permissions: 'contents:read, issues:write' }
    const { status, body } = await connect(limited)
    assert.deepEqual([status, body.scopes], [201, ['contents:read', 'issues:write']])
    assert.deepEqual(server.wanted, [
      { repositories: ['website', 'docs'], permissions: { contents: 'read', issues: 'write' } },
    ])
    const refused = await connect({ ...server.credential, permissions: 'secrets:write' })
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.upstream_status],
      [400, 'credential_refused', 422],
    )
  })

  test('is shown without a name, or a permission, that GitHub would not give', async (t) => {
    const { server, connect } = await startGitHubApp(t, engine)
    const odd = {
      account: { id: 1, login: `ghs_${'x'.repeat(40)}` },
      permissions: { ['x'.repeat(99)]: 'read', a: [1] },
    }
    server.installations.set('48150623', { appId: '3915', ...odd })
    const { status, body } = await connect(server.credential)
    assert.deepEqual([status, body.account_label, body.scopes], [201, '(agents)', []])
  })

  test('is sent to Git over https as a password, and redacted in that form too', async (t) => {
    const { server, granted, upstream } = await startGitHubApp(t, engine)
    const { proxy } = await granted()
    server.api = (response, { headers }) => response.end(`you sent ${headers.authorization ?? ''}`)
    const { body, text } = await proxy({
      url: `https://${upstream.host}/ada/site.git/info/refs?service=git-upload-pack`,
    })
    const basic = Buffer.from(`x-access-token:${server.tokens[0] ?? ''}`).toString('base64')
    assert.equal(upstream.received.at(-1)?.headers.authorization, `Basic ${basic}`)
    assert.equal(body.body, 'you sent Basic [REDACTED]')
    assert.ok(!text.includes(basic.slice(24)))
    const dry = await proxy({ dry_run: true })
    assert.deepEqual(dry.body.would_inject, { header: 'authorization', value: 'Bearer [REDACTED]' })
  })

  test('whose key, app or installation is wrong is refused, and nothing is stored', async (t) => {
    const { server, connect, database, log } = await startGitHubApp(t, engine)
    server.keys.set('77', rsaKey('another app'))
    const wrong: [members: object, status: number][] = [
      [{ private_key: rsaKey('another key') }, 401],
      [{ app_id: '77' }, 401],
      [{ app_id: '77', private_key: rsaKey('another app') }, 404],
      [{ installation_id: '1' }, 404],
    ]
    for (const [members, upstream] of wrong) {
      const { status, body } = await connect({ ...server.credential, ...members })
      assert.deepEqual(
        [status, body.error.code, body.error.field, body.error.upstream_status],
        [400, 'credential_refused', 'credential', upstream],
      )
    }
    assert.deepEqual(await database.queries.selectFrom('connections').selectAll().execute(), [])
    assert.ok(!log.join('').includes('PRIVATE KEY'))
  })

  test('whose installation is suspended needs a person, and calls say so', async (t) => {
    const { server, granted, clock, statusOf, replace, ...service } = await startGitHubApp(t, engine)
    for (const status of [401, 403, 404]) {
      const { connectionId, proxy } = await granted()
      clock.advance(hour)
      server.instead = () => ({ status, body: { message: 'This installation has been suspended' } })
      for (let calls = 0; calls < 2; calls++) {
        assert.equal((await proxy()).body.error.code, 'connection_needs_reauth', String(status))
      }
      assert.equal(await statusOf(connectionId), 'needs_reauth')
      server.instead = undefined
      assert.equal((await replace(connectionId, server.credential)).body.status, 'active')
      assert.equal((await proxy()).body.status, 200, 'the same account: its grants stay')
      await service.call('DELETE', `/v4/connections/${connectionId}`, { token: service.user.token })
    }
    const reasons = (await recorded(service, 'connection.needs_reauth')).map(({ detail }) => detail.reason)
    assert.deepEqual(reasons, ['invalid_client', 'access_denied', 'invalid_grant'])
  })

  test('is not to blame for an outage, a rate limit, a proxy on the way or a wrong clock', async (t) => {
    const { server, granted, connect, clock, statusOf } = await startGitHubApp(t, engine)
    const { connectionId, proxy } = await granted()
    clock.advance(hour)
    const message = 'something'
    const replies = [
      { status: 500, body: { message } },
      { status: 429, body: { message } },
      { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } },
      { status: 403, headers: { 'x-ratelimit-remaining': '0' }, body: { message } },
      { status: 403, headers: { 'retry-after': '60' }, body: { message } },
      { status: 403, headers: { 'content-type': 'text/html' }, body: '<h1>Blocked by your company</h1>' },
      { status: 401, body: { message: "'Expiration time' claim ('exp') is too far in the future" } },
      { status: 302, headers: { location: 'https://evil.example/' }, body: { message } },
      { status: 201, body: { token: 'ghs_0123456789012345', expires_at: 'soon' } },
      { status: 201, body: { expires_at: '2030-01-01T00:00:00Z' } },
    ]
    for (const reply of replies) {
      server.instead = () => reply
      assert.equal((await proxy()).body.error.code, 'provider_unavailable', JSON.stringify(reply))
      assert.equal(await statusOf(connectionId), 'active')
    }
    for (const reply of replies.slice(0, 3)) {
      server.instead = () => reply
      assert.equal((await connect(server.credential)).status, 502)
    }
    server.instead = undefined
    assert.equal((await proxy()).body.status, 200)
  })

  test('keeps its grants with another key of the app, and is another account for another app or owner', async (t) => {
    const { server, granted, replace, statusOf } = await startGitHubApp(t, engine)
    const { connectionId, proxy } = await granted()
    const pem = rsaKey('next', { type: 'pkcs8' })
    server.keys.set('3915', pem)
    assert.equal((await replace(connectionId, { ...server.credential, private_key: pem })).status, 200)
    assert.equal((await proxy()).body.status, 200)
    const account = { id: 1815, login: 'ada-labs' }
    const others = [
      { appId: '77', account, id: '11' },
      { appId: '3915', account: { id: 1852, login: 'eve' }, id: '12' },
    ]
    server.keys.set('77', rsaKey('another app'))
    for (const { appId, account, id } of others) {
      server.installations.set(id, { appId, account, permissions: {} })
      const credential = { app_id: appId, installation_id: id, private_key: server.keys.get(appId) ?? '' }
      const { status, body } = await replace(connectionId, credential)
      assert.deepEqual([status, body.error.code, body.error.field], [409, 'conflict', 'credential'])
    }
    // Installed again, by the same owner.
    server.installations.set('13', { appId: '3915', account, permissions: {} })
    const again = await replace(connectionId, { ...server.credential, installation_id: '13', private_key: pem })
    assert.deepEqual([again.status, await statusOf(connectionId)], [200, 'active'])
    assert.equal((await proxy()).body.status, 200)
  })

  test('gets one new token when the API refuses the one it has', async (t) => {
    const { server, granted, upstream } = await startGitHubApp(t, engine)
    const { proxy } = await granted()
    assert.equal((await proxy()).body.status, 200)
    server.revoke(server.tokens[0] ?? '')
    assert.equal((await proxy()).body.status, 200)
    assert.equal(server.tokens.length, 2)
    server.api = (response) => response.writeHead(401).end('{}')
    assert.equal((await proxy()).body.status, 401, 'a token that is refused too is not the reason')
    assert.equal(server.tokens.length, 2)
    assert.equal(upstream.received.filter(({ path }) => path === '/things').length, 4)
  })

  test('never lends its assertion to a call, nor lets one reach the places that issue tokens', async (t) => {
    const { server, granted, upstream } = await startGitHubApp(t, engine)
    const { proxy } = await granted()
    const at = (path: string) => `https://${upstream.host}${path}`
    const paths = [
      '/api/v3/app/installations/48150623/access_tokens',
      '/api/v3/app',
      '/API/v3//app',
      '/api/v3/user/keys',
    ]
    for (const path of [...paths, '/api/v3/installation/token']) {
      const { body } = await proxy({ method: 'POST', url: at(path) })
      assert.equal(body.error?.code, 'credential_endpoint', path)
    }
    const authorizations = upstream.received.map(({ path, headers }) => [path, headers.authorization])
    assert.ok(authorizations.every(([path]) => path?.startsWith('/api/v3/app/installations/')))
    assert.equal(server.asked(), 2)
  })
})
