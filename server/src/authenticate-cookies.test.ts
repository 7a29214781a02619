import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../testkit/databases.ts'
import { startService } from '../testkit/service.ts'

onBothDatabases('session cookies', (engine) => {
  test('a browser with a second session cookie planted by another site is signed in as neither', async (t) => {
    const { call, logIn } = await startService(t, engine)
    const [mine, theirs] = [await logIn({ name: 'owner' }), await logIn({ name: 'attacker' })]
    assert.equal((await call('GET', '/v4/auth/me', { headers: { cookie: mine.cookie } })).status, 200)
    // The one with the longer path comes first (RFC 6265 §5.4), and says nothing of who set it.
    for (const cookie of [
      `${theirs.cookie}; ${mine.cookie}`,
      `${mine.cookie};${theirs.cookie}`,
      `a=b; ${mine.cookie}; svc_session="x"`,
    ]) {
      const { status, body } = await call('GET', '/v4/auth/me', { headers: { cookie } })
      assert.deepEqual([status, body.error.code], [401, 'unauthenticated'], cookie)
    }
    const beside = `svc_session_2=x; ${mine.cookie}; not_svc_session=y`
    assert.equal((await call('GET', '/v4/auth/me', { headers: { cookie: beside } })).body.user.name, 'owner')
  })
})
