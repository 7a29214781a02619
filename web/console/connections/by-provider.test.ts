import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '@sallyport/sdk'
import { byProvider } from './by-provider.ts'

const connection = (provider: string, name: string, label: string, status: Connection['status'] = 'active') =>
  ({
    connection_id: `con_${provider}_${label}`,
    provider_id: provider,
    provider_name: name,
    verified: true,
    account_label: label,
    status,
  }) as Connection

test('accounts stand with their provider; who needs to sign in comes first', () => {
  const groups = byProvider([
    connection('prv_z', 'Zulu', 'ida'),
    connection('prv_a', 'Acme', 'bob'),
    connection('prv_a', 'Acme', 'ada'),
    connection('prv_a', 'Acme', 'zoe', 'needs_reauth'),
  ])
  assert.deepEqual(
    groups.map(({ name, accounts }) => [name, ...accounts.map(({ account_label: label }) => label)]),
    [
      ['Acme', 'zoe', 'ada', 'bob'],
      ['Zulu', 'ida'],
    ],
  )
})

test('a provider that calls itself like another does not mix with it', () => {
  const groups = byProvider([connection('prv_1', 'Acme', 'ada'), connection('prv_2', 'Acme', 'ada')])
  assert.deepEqual(
    groups.map(({ providerId }) => providerId),
    ['prv_1', 'prv_2'],
  )
})
