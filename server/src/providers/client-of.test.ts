import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import { dialectOf } from './client-of.ts'
import { presetMetadata } from './preset-metadata.ts'
import { findPreset, presets } from './presets/catalogue.ts'

test('every quirk of a preset reaches the one who speaks to its server', () => {
  for (const preset of presets) {
    const dialect = dialectOf(preset, { metadata: presetMetadata(preset) })
    assert.deepEqual(
      { ...dialect },
      {
        ...(preset.scopeSeparator && { scopeSeparator: preset.scopeSeparator }),
        ...(preset.scopeParameter && { scopeParameter: preset.scopeParameter }),
        ...(preset.tokenRequest && { tokenRequest: preset.tokenRequest }),
        ...(preset.tokenHeaders && { tokenHeaders: preset.tokenHeaders }),
        ...(preset.errorsWithStatus200 && { errorsWithStatus200: true }),
        ...(preset.tokenAnswer === 'slack_user' && { tokensIn: 'authed_user' }),
        ...(preset.tokenAnswer === 'scopes_array' && { scopeArray: true }),
        ...(preset.pkce === 'not_sent' && { omitsPkce: true }),
        ...(preset.isBasicUnencoded && { isBasicUnencoded: true }),
        ...(preset.refreshUrl && { refreshEndpoint: preset.refreshUrl }),
      },
      preset.id,
    )
  }
})

test('a refresh address holds for the preset’s own server alone', () => {
  const figma = findPreset('figma')
  assert.ok(figma)
  const metadata = { ...presetMetadata(figma), token_endpoint: 'https://figma.acme.example/token' }
  assert.equal(dialectOf(figma, { metadata }).refreshEndpoint, undefined)
})

test('a consent page that takes no code challenge is opened without one', async (t) => {
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
