import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

onBothDatabases('a session that ends during the token request', (engine) => {
  test('connects nothing, in a browser or with a device code', async (t) => {
    const { call, oauth, clock, logIn, user, start, follow } = await startConnectionTest(t, engine)
    const callback = await oauth.approve(await start(user))
    const device = await logIn({ user_id: user.userId })
    const body = { provider_slug: slug }
    const { body: flow } = await call('POST', '/v4/oauth/device/start', { token: device.token, body })
    await oauth.approveDevice(flow.user_code)
    clock.advance(flow.interval)

    const browser = oauth.fault.hold(oauthPaths.token, 1)
    const landing = follow(callback, user.cookie)
    await browser.arrived
    const poll = oauth.fault.hold(oauthPaths.token, 1)
    const polling = call('POST', '/v4/oauth/device/poll', {
      token: device.token,
      body: { device_flow_id: flow.device_flow_id },
    })
    await poll.arrived
    assert.equal((await call('POST', '/v4/auth/logout-all', { token: user.token })).body.revoked, 2)
    browser.release()
    poll.release()

    assert.deepEqual((await landing).params, { error: 'invalid_state' })
    const polled = await polling
    assert.deepEqual([polled.status, polled.body.error.code], [401, 'unauthenticated'])
    const again = await logIn({ user_id: user.userId })
    assert.deepEqual((await call('GET', '/v4/connections', { token: again.token })).body.connections, [])
  })
})
