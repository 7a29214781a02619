/** The device flow of the tests' authorization server, polled once at a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { discover, refusedWith } from './oauth-client.ts'
import { startOAuthServer } from './oauth-server.ts'
import type { OAuthServerOptions } from './oauth-server.ts'

async function startDevice(t: Parameters<typeof startOAuthServer>[0], options: OAuthServerOptions = {}) {
  const server = await startOAuthServer(t, options)
  const config = await discover(server)
  const device = await oauth.initiateDeviceAuthorization(config, { scope: 'openid offline_access' })
  const poll = () =>
    oauth.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:device_code', {
      device_code: device.device_code,
    })
  return { server, device, poll }
}

test('a device waits until the user allows it, and gets its tokens once', async (t) => {
  const { server, device, poll } = await startDevice(t)
  assert.equal(device.interval, undefined, 'so 5 seconds (RFC 8628 §3.2)')
  assert.ok(server.secrets.has(device.device_code))
  await assert.rejects(poll(), refusedWith('authorization_pending'))
  await server.approveDevice(device.user_code, { account: 'grace' })
  const tokens = await poll()
  assert.ok(tokens.refresh_token)
  assert.equal(tokens.claims()?.sub, 'grace')
  await assert.rejects(poll(), refusedWith('invalid_grant'))
})

test('a device that the user denies gets access_denied', async (t) => {
  const { server, device, poll } = await startDevice(t)
  await server.denyDevice(device.user_code)
  await assert.rejects(poll(), refusedWith('access_denied'))
})

test('a device code expires and can then no longer be entered', async (t) => {
  const { server, device, poll } = await startDevice(t, { deviceCodeSeconds: 1 })
  const error = async () => poll().then(undefined, (reason: unknown) => (reason as oauth.ResponseBodyError).error)
  while ((await error()) === 'authorization_pending') await new Promise((resolve) => setTimeout(resolve, 100))
  await assert.rejects(poll(), refusedWith('expired_token'))
  await assert.rejects(server.approveDevice(device.user_code), /That code does not work/)
})

test('an unknown user code does not work', async (t) => {
  const server = await startOAuthServer(t)
  await assert.rejects(server.approveDevice('WXYZ-WXYZ'), /That code does not work/)
})
