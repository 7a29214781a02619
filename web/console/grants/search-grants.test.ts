import assert from 'node:assert/strict'
import test from 'node:test'
import type { Grant } from '@sallyport/sdk'
import { groupByAgent, searchGrants } from './search-grants.ts'

const grant = (id: string, name: string, account: string | null): Grant =>
  ({
    ...{ grant_id: id, agent: { agent_id: `agt_${name}`, name }, provider: 'acme', provider_name: 'Acme Mail' },
    ...{ account_label: account, allowed_hosts: ['api.acme.example'] },
  }) as unknown as Grant

const all = [grant('1', 'Mail helper', 'ada'), grant('2', 'Builder', null), grant('3', 'Mail helper', 'work')]

test('grants are found by words of agent, provider, account and host', () => {
  const found = (text: string) => searchGrants(all, text).map(({ grant_id: id }) => id)
  assert.deepEqual(found(''), ['1', '2', '3'])
  assert.deepEqual(found('HELPER  acme'), ['1', '3'])
  assert.deepEqual(found('work'), ['3'])
  assert.deepEqual(found('api.acme'), ['1', '2', '3'])
  assert.deepEqual(found('null'), [])
  const names = new Map([['agt_Builder', 'Laptop']])
  assert.deepEqual(
    searchGrants(all, 'lap', names).map(({ grant_id: id }) => id),
    ['2'],
  )
})

test('grants are grouped by agent, not by name', () => {
  const other = { ...grant('4', 'Mail helper', 'ada'), agent: { agent_id: 'agt_other', name: 'Mail helper' } }
  const groups = groupByAgent([...all, other]).map(({ grants }) => grants.map(({ grant_id: id }) => id))
  assert.deepEqual(groups, [['1', '3'], ['2'], ['4']])
})
