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

test('accounts are grouped by provider, those that need sign-in first', () => {
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

test('providers with the same name are not merged', () => {
  const groups = byProvider([connection('prv_1', 'Acme', 'ada'), connection('prv_2', 'Acme', 'ada')])
  assert.deepEqual(
    groups.map(({ providerId }) => providerId),
    ['prv_1', 'prv_2'],
  )
})
