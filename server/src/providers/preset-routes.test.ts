import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../testkit/service.ts'
import { client } from '../../testkit/providers.ts'
import { findPreset, presets } from './presets/catalogue.ts'

test('an admin sees every preset, and can create a provider from each, with a client for OAuth', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token: agent } = await service.registerAgent()
  assert.equal((await service.call('GET', '/v4/providers/presets')).status, 401)
  assert.equal((await service.call('GET', '/v4/providers/presets', { token: agent })).status, 403)
  const { status, body } = await service.call('GET', '/v4/providers/presets', { token: service.adminToken })
  assert.equal(status, 200)
  const listed = body.presets as { preset: string; redirect_uri: string; scopes: string[]; api_hosts: string[] }[]
  assert.deepEqual(
    listed.map(({ preset }) => preset),
    presets.map(({ id }) => id),
  )
  for (const { preset, redirect_uri, scopes, api_hosts } of listed) {
    const body = { preset, ...(findPreset(preset)?.oauth && client) }
    const made = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
    assert.equal(made.status, 201, made.text)
    const { slug, status, verified } = made.body as Record<string, unknown>
    assert.deepEqual([slug, status, verified], [preset, 'active', true])
    assert.deepEqual([made.body.redirect_uri, made.body.scopes, made.body.api_hosts], [redirect_uri, scopes, api_hosts])
  }
})
