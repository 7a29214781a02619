/** Invalid and malicious device authorization responses of a provider. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

async function beginWith({ call, user, oauth }: ConnectionTest, change: object) {
  const lift = oauth.fault.change(oauthPaths.deviceAuthorization, (body) => ({ ...body, ...change }))
  const reply = await call('POST', '/v4/oauth/device/start', { token: user.token, body: { provider_slug: slug } })
  lift()
  return reply
}

onBothDatabases("a provider's device authorization response", (engine) => {
  test('an unsafe verification URL or user code is refused', async (t) => {
    const test = await startConnectionTest(t, engine)
    const table: object[] = [
      { verification_uri: 'javascript:alert(1)' },
      { verification_uri: 'http://localhost/device' },
      { verification_uri: 'data:text/html,hello' },
      { verification_uri: 'https://user:password@acme.example/' },
      { verification_uri: '/device' },
      { verification_uri: `https://acme.example/${'x'.repeat(2000)}` },
      { verification_uri: undefined },
      { verification_uri: 1 },
      { verification_uri_complete: 'javascript:alert(1)' },
      { verification_uri_complete: 'http://acme.example/?code=1' },
      { user_code: '' },
      { user_code: 'x'.repeat(65) },
      { user_code: 'AB\u202eCD' },
      { user_code: 'AB\nCD' },
      { device_code: undefined },
      { expires_in: -1 },
      { expires_in: 'soon' },
      { interval: -5 },
    ]
    for (const change of table) {
      const { status, body, text } = await beginWith(test, change)
      assert.deepEqual([status, body.error?.code], [502, 'provider_unavailable'], JSON.stringify(change) + text)
    }
    for (const instead of [
      'cut',
      { status: 500 },
      { status: 302, headers: { location: 'https://a.example' } },
    ] as const) {
      test.oauth.fault.answer(oauthPaths.deviceAuthorization, instead, 1)
      assert.equal((await beginWith(test, {})).body.error.code, 'provider_unavailable')
    }
    assert.deepEqual(await test.database.queries.selectFrom('device_flows').selectAll().execute(), [])
  })

  test('a verification URL may be http only on the origin of a loopback consent page', async (t) => {
    const test = await startConnectionTest(t, engine)
    const here = 'http://127.0.0.1:8788'
    const begin = (origin: string) =>
      beginWith(test, { verification_uri: `${origin}/device`, verification_uri_complete: undefined })
    assert.equal((await begin(here)).body.error.code, 'provider_unavailable')
    const queries = test.database.queries
    const { metadata } = await queries.selectFrom('providers').select('metadata').executeTakeFirstOrThrow()
    const changed = JSON.stringify({ ...JSON.parse(metadata), authorization_endpoint: `${here}/auth` })
    await queries.updateTable('providers').set({ metadata: changed }).execute()
    assert.equal((await begin(here)).body.verification_uri, `${here}/device`)
    for (const elsewhere of ['http://127.0.0.1:8789', 'http://localhost:8788', 'http://me@127.0.0.1:8788']) {
      assert.equal((await begin(elsewhere)).body.error?.code, 'provider_unavailable', elsewhere)
    }
  })

  test('an extreme interval or lifetime is clamped', async (t) => {
    const test = await startConnectionTest(t, engine)
    const table: [object, number, number][] = [
      [{ interval: 1e12 }, 300, 600],
      [{ interval: 0.2 }, 1, 600],
      [{ interval: undefined }, 5, 600],
      [{ expires_in: 1e15 }, 5, 3600],
      [{ expires_in: 0 }, 5, 0],
    ]
    for (const [change, interval, lifetime] of table) {
      const { body, text } = await beginWith(test, change)
      assert.equal(body.interval, interval, text)
      assert.equal(Date.parse(body.expires_at) - test.clock.now().getTime(), lifetime * 1000)
    }
  })

  test('a proposed provider cannot send users to another site to enter a code', async (t) => {
    const test = await startConnectionTest(t, engine)
    const elsewhere = { verification_uri: 'https://github.com/login/device', verification_uri_complete: undefined }
    assert.equal((await beginWith(test, elsewhere)).status, 201, 'an admin answers for this one')
    await test.database.queries.updateTable('providers').set({ source: 'proposal' }).execute()
    for (const change of [
      elsewhere,
      { verification_uri_complete: 'https://github.com/login/device' },
      { verification_uri: 'https://localhost.evil.example/' },
      { verification_uri: `https://${new URL(test.oauth.issuer).hostname}:1/` },
    ]) {
      assert.equal((await beginWith(test, change)).body.error.code, 'provider_unavailable', JSON.stringify(change))
    }
    assert.equal((await beginWith(test, {})).status, 201)
  })
})
