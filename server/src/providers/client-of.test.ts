import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import type { Dialect } from '../platform/oauth/dialect.ts'
import { dialectOf } from './client-of.ts'
import { presetMetadata } from './preset-metadata.ts'
import { findPreset, presets } from './presets/catalogue.ts'

/** Where each server differs from RFC 6749, according to its documentation. */
const quirks: Record<string, Dialect> = {
  atlassian: { isAlwaysBearer: true },
  figma: {
    isBasicUnencoded: true,
    isAlwaysBearer: true,
    refreshEndpoint: 'https://api.figma.com/v1/oauth/refresh',
  },
  github: { errorsWithStatus200: true },
  hubspot: { scopeArray: true },
  linear: { scopeSeparator: ',' },
  notion: { isBasicUnencoded: true, omitsPkce: true, tokenRequest: 'json' },
  slack: {
    omitsPkce: true,
    scopeSeparator: ',',
    scopeParameter: 'user_scope',
    tokensIn: 'authed_user',
    isAlwaysBearer: true,
    errorsWithStatus200: true,
  },
  zoom: { isBasicUnencoded: true },
}

test('every quirk of a preset is part of its dialect', () => {
  for (const { id, oauth } of presets) {
    if (oauth) assert.deepEqual(dialectOf(oauth, { metadata: presetMetadata(oauth) }), quirks[id] ?? {}, id)
  }
})

test("a refresh endpoint applies only to the preset's own server", () => {
  const figma = findPreset('figma')?.oauth
  assert.ok(figma)
  const metadata = { ...presetMetadata(figma), token_endpoint: 'https://figma.acme.example/token' }
  assert.deepEqual(dialectOf(figma, { metadata }), { isBasicUnencoded: true, isAlwaysBearer: true })
})

test('a provider without PKCE support gets no code challenge', async (t) => {
  const service = await startService(t, 'sqlite')
  const { token } = await service.logIn()
  const challengeOf = async (preset: string) => {
    await service.call('POST', '/v4/providers', { token: service.adminToken, body: { preset, ...client } })
    const body = { provider_slug: preset }
    const started = await service.call('POST', '/v4/oauth/connect/start', { token, body })
    return new URL(started.body.authorization_url as string).searchParams.has('code_challenge')
  }
  assert.deepEqual([await challengeOf('slack'), await challengeOf('notion')], [false, false])
  assert.equal(await challengeOf('linear'), true)
})
