import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '@sallyport/sdk'
import { plainText } from '../../ui/words.ts'
import { describeGrant, endsSoon } from './describe-grant.ts'

const grant: Grant = {
  grant_id: 'grt_1',
  kind: 'connection',
  status: 'active',
  agent: { agent_id: 'agt_1', name: 'Mail helper' },
  provider: 'acme',
  provider_name: 'Acme',
  connection_id: 'con_1',
  account_label: 'ada@example.com',
  access_request_id: 'arq_1',
  allowed_hosts: ['api.acme.example'],
  allowed_methods: ['GET', 'HEAD'],
  allowed_paths: null,
  max_calls: null,
  expires_at: null,
  mode: 'ask_writes',
  exceptions: [],
  max_access: null,
  calls: 0,
  created_at: '2026-01-01T00:00:00.000Z',
  last_used_at: null,
  revoked_at: null,
  revoked_by: null,
  signed: false,
}
const tomorrow = '2026-01-02T00:00:00.000Z'

const neverAsks = ' It doesn’t ask you before calls.'
const asks = ' It asks you before each change.'

function says(change: Partial<Grant>, text: string): void {
  assert.equal(plainText(describeGrant({ ...grant, ...change }, (moment) => moment.slice(0, 10))), text)
}

test('a grant is described by agent, actions, hosts, account and expiry', () => {
  const start = 'Mail helper may only read (GET and HEAD) on api.acme.example'
  says({}, `${start}, using ada@example.com at Acme, until you revoke it.${neverAsks}`)
  says(
    { allowed_paths: ['/v1', '/v2'], max_calls: 1, expires_at: tomorrow },
    `${start}, under /v1 and /v2, using ada@example.com at Acme, up to 1 call, until 2026-01-02.${neverAsks}`,
  )
  says({ account_label: null, provider_name: null }, `${start}, using your account, until you revoke it.${neverAsks}`)
})

test('its description names what its methods can do, and delete only with DELETE', () => {
  const end = `on api.acme.example, using ada@example.com at Acme, until you revoke it.${asks}`
  says({ allowed_methods: null }, `Mail helper may read, change, and delete (any method) ${end}`)
  says({ allowed_methods: ['GET', 'POST'] }, `Mail helper may read and change (GET and POST) ${end}`)
  says({ allowed_methods: ['PURGE'] }, `Mail helper may change (PURGE) ${end}`)
  says({ allowed_methods: null, max_access: 'write' }, `Mail helper may read and change, but not delete ${end}`)
})

test('an ended grant says how it ended', () => {
  const start = 'Mail helper could only read (GET and HEAD) on api.acme.example, using ada@example.com at Acme'
  says({ status: 'expired', expires_at: tomorrow }, `${start}, until 2026-01-02.`)
  says({ status: 'expired', max_calls: 5, calls: 5 }, `${start}, up to 5 calls, until its call limit was reached.`)
  says({ status: 'revoked', revoked_at: tomorrow, revoked_by: 'user' }, `${start}, until you revoked it: 2026-01-02.`)
  says(
    { status: 'revoked', revoked_at: tomorrow, revoked_by: 'agent' },
    `${start}, until the agent gave it up: 2026-01-02.`,
  )
  says({ status: 'revoked' }, `${start}, until its account was disconnected.`)
})

test('an expiry within a day is soon, if that is near the end of the grant', () => {
  const long = { ...grant, created_at: '2025-12-01T00:00:00.000Z' }
  const before = (hours: number) => Date.parse(tomorrow) - hours * 3_600_000
  assert.equal(endsSoon({ ...long, expires_at: tomorrow }, before(23)), true)
  assert.equal(endsSoon({ ...long, expires_at: tomorrow }, before(25)), false)
  assert.equal(endsSoon({ ...grant, expires_at: tomorrow }, before(7)), false, 'of a grant for a day')
  assert.equal(endsSoon({ ...grant, expires_at: tomorrow }, before(5)), true)
  assert.equal(endsSoon(grant, before(1)), false)
  assert.equal(endsSoon({ ...grant, expires_at: tomorrow, status: 'revoked' }, before(1)), false)
})
