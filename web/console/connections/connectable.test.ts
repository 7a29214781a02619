import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Preset, Provider } from '@sallyport/sdk'
import { connectables, matches } from './connectable.ts'

const method = (kind: 'oauth2' | 'api_key') => ({
  ...{ kind, name: kind, label: null, help: null, members: [], checks: 'nothing' as const },
})
const provider = (slug: string, more: Partial<Provider> = {}): Provider => ({
  ...{ provider_id: `prv_${slug}`, provider_name: slug, slug, issuer_url: null, scopes: [], api_hosts: [] },
  ...{
    device_flow: false,
    auth_methods: [method('oauth2')],
    docs: [],
    env: [],
    abilities: [],
    verified: true,
    status: 'active',
  },
  ...more,
})
const preset = (id: string, more: Partial<Preset> = {}): Preset => ({
  ...{ preset: id, provider_name: id, issuer_url: null, scopes: [], api_hosts: [], device_flow: true },
  ...{ auth_methods: [method('oauth2'), method('api_key')], needs_client: false, connectable: true },
  ...{ redirect_uri: '', register_url: null, notes: null, docs: [], ...more },
})

test('a provider is found by parts of its name, domain or API host', () => {
  const [found] = connectables(
    [
      provider('cafe', {
        provider_name: 'Café Calendar',
        issuer_url: 'https://login.cafe.example',
        api_hosts: ['api.cafe.example', '*.calendar.example'],
      }),
    ],
    [],
  )
  assert.ok(found)
  for (const wanted of ['', '  ', 'café', 'CAFE', 'cal caf', 'login.cafe', 'api.', '*.calendar']) {
    assert.equal(matches(found, wanted), true, wanted)
  }
  for (const wanted of ['mail', 'café mail', '.*', '\\']) assert.equal(matches(found, wanted), false, wanted)
})

test('agent-proposed providers come after the others', () => {
  const all = [
    provider('AAA Google', { verified: false }),
    provider('Slack', { verified: true }),
    provider('Google', { verified: true }),
  ]
  assert.deepEqual(
    connectables(all, []).map(({ name }) => name),
    ['Google', 'Slack', 'AAA Google'],
  )
})

test('presets that need no admin are listed, by their forms alone, unless there is a provider', () => {
  const all = connectables(
    [provider('stripe')],
    [preset('stripe'), preset('github'), preset('google', { connectable: false, needs_client: true })],
  )
  assert.deepEqual(
    all.map(({ slug, providerId, methods, hasDeviceFlow }) => [
      slug,
      providerId,
      methods.map((one) => one.kind),
      hasDeviceFlow,
    ]),
    [
      ['github', undefined, ['api_key'], false],
      ['stripe', 'prv_stripe', ['oauth2'], false],
    ],
  )
})
