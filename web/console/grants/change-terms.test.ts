import assert from 'node:assert/strict'
import test from 'node:test'
import type { Grant } from '@sallyport/sdk'
import { changeOf, termsOf } from './change-terms.ts'
import type { Terms } from './change-terms.ts'

const grant = {
  ...{ allowed_hosts: ['api.acme.example'], allowed_methods: ['GET', 'POST'], allowed_paths: ['/mail'], max_calls: 10 },
  ...{ expires_at: '2026-11-16T12:00:30.000Z', mode: 'ask_writes', max_access: null },
  exceptions: [{ paths: ['/mail/drafts'], methods: ['POST'], action: 'allow' }],
} as Grant

const change = (terms: Partial<Terms>) => changeOf(grant, { ...termsOf(grant), ...terms })

test('only what was edited is sent', () => {
  assert.deepEqual(change({}), { change: {} }, 'the seconds of the expiry stay')
  assert.deepEqual(change({ methods: 'get' }), { change: { allowed_methods: ['GET'] } })
  assert.deepEqual(change({ paths: '/mail/a\n/mail/b', mode: 'ask_all', access: 'read' }), {
    change: { allowed_paths: ['/mail/a', '/mail/b'], mode: 'ask_all', max_access: 'read' },
  })
  const date = '2026-11-16T12:00'
  assert.deepEqual(change({ date: '2027-01-01T00:00' }), {
    change: { expires_at: new Date('2027-01-01T00:00').toISOString() },
  })
  assert.notDeepEqual(change({ date }), { change: { expires_at: grant.expires_at } })
})

test('an empty field is no limit, or what was asked for', () => {
  assert.deepEqual(change({ methods: '', paths: ' ', calls: '', date: '' }), {
    change: { allowed_methods: null, allowed_paths: null, max_calls: null, expires_at: null },
  })
})

test('a value that means nothing is said at its field', () => {
  for (const calls of ['0', '-1', '1.5', 'many', '12345678901']) {
    assert.deepEqual(change({ calls }), { fault: { name: 'calls', text: 'Enter a whole number, or nothing.' } })
  }
  assert.equal((change({ hosts: ' ' }) as { fault: { name: string } }).fault.name, 'hosts')
  assert.equal((change({ date: 'soon' }) as { fault: { name: string } }).fault.name, 'date')
})

test('exceptions are edited, added and removed; one without a path is said at its row', () => {
  const [allowed] = termsOf(grant).exceptions
  assert.deepEqual(allowed, { id: 1, action: 'allow', paths: '/mail/drafts', methods: 'POST' })
  const never = { id: 2, action: 'deny' as const, paths: '/mail/sent\n/mail/bin', methods: 'delete, put' }
  assert.deepEqual(change({ exceptions: [allowed, never] }), {
    change: {
      exceptions: [
        { paths: ['/mail/drafts'], methods: ['POST'], action: 'allow' },
        { paths: ['/mail/sent', '/mail/bin'], methods: ['DELETE', 'PUT'], action: 'deny' },
      ],
    },
  })
  assert.deepEqual(change({ exceptions: [] }), { change: { exceptions: [] } })
  const empty = change({ exceptions: [never, { ...never, id: 3, paths: ' ' }] })
  assert.ok('fault' in empty)
  assert.deepEqual([empty.fault.name, empty.fault.at, empty.fault.part], ['exceptions', 1, 'exceptionPaths'])
})
