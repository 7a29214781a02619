import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder, matches } from './search.ts'

const provider = {
  provider_name: 'Café Calendar',
  slug: 'cafe',
  issuer_url: 'https://login.cafe.example',
  api_hosts: ['api.cafe.example', '*.calendar.example'],
}

test('a provider is found by parts of its name, domain or API host', () => {
  for (const wanted of ['', '  ', 'café', 'CAFE', 'cal caf', 'login.cafe', 'api.', '*.calendar']) {
    assert.equal(matches(provider, wanted), true, wanted)
  }
  for (const wanted of ['mail', 'café mail', '.*', '\\']) assert.equal(matches(provider, wanted), false, wanted)
})

test('agent-proposed providers come after the others', () => {
  const provider = (provider_name: string, verified: boolean) => ({ provider_name, verified })
  const sorted = inOrder([provider('AAA Google', false), provider('Slack', true), provider('Google', true)])
  assert.deepEqual(
    sorted.map(({ provider_name: name }) => name),
    ['Google', 'Slack', 'AAA Google'],
  )
})
