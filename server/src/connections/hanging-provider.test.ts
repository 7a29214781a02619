/** In a separate file, as each of these waits for a timeout of 15 seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

test('a provider that hangs is unavailable after a timeout', async (t) => {
  const { call, oauth, user, clock, start, follow } = await startConnectionTest(t, 'sqlite')
  const { token } = user
  const begin = () => call('POST', '/v4/oauth/device/start', { token, body: { provider_slug: slug } })
  const { body: flow } = await begin()
  const callback = await oauth.approve(await start(user))
  oauth.fault.answer(oauthPaths.token, 'hang')
  oauth.fault.answer(oauthPaths.deviceAuthorization, 'hang')
  clock.advance(flow.interval)
  const [landed, polled, begun] = await Promise.all([
    follow(callback, user.cookie),
    call('POST', '/v4/oauth/device/poll', { token, body: { device_flow_id: flow.device_flow_id } }),
    begin(),
  ])
  assert.deepEqual(landed.params, { error: 'provider_unavailable' })
  for (const { status, body } of [polled, begun]) {
    assert.deepEqual([status, body.error.code, body.error.retryable], [502, 'provider_unavailable', true])
  }
})
