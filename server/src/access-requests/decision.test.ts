import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultTerms } from '../grants/grant.ts'
import { ServiceError } from '../platform/errors.ts'
import { grantedBy } from './decision.ts'
import type { Decision, Granted } from './decision.ts'

const now = new Date('2026-11-15T12:00:00.000Z')
const nothingAsked = { hosts: null, methods: null, paths: null, maxCalls: null }

interface Case {
  decision?: Partial<Decision>
  asked?: Partial<typeof nothingAsked> | Record<string, unknown>
  apiHosts?: string[]
  apiHost?: string | null
}

function granted({ decision = {}, asked = {}, apiHosts = ['api.example.com'], apiHost = null }: Case): Granted {
  const request = { ...nothingAsked, ...asked } as Parameters<typeof grantedBy>[1]
  return grantedBy({ connectionId: 'con_1', ...decision }, request, { apiHosts }, { apiHost }, now)
}

function refused(one: Case): [string, string | undefined] {
  try {
    granted(one)
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.field]
    throw error
  }
  return ['granted', undefined]
}

test("hosts: those approved, within those requested, within the provider's", () => {
  const apiHosts = ['api.example.com', 'www.example.com', '*.cdn.example.com', 'db.example.com:5443']
  const table: [Case, string[]][] = [
    [{}, ['api.example.com', 'www.example.com', 'db.example.com:5443']],
    [{ asked: { hosts: ['*.cdn.example.com'] } }, ['*.cdn.example.com']],
    [
      { asked: { hosts: ['*.cdn.example.com'] }, decision: { allowedHosts: ['a.cdn.example.com'] } },
      ['a.cdn.example.com'],
    ],
    [{ decision: { allowedHosts: ['*.cdn.example.com'] } }, ['*.cdn.example.com']],
    [{ decision: { allowedHosts: ['*.eu.cdn.example.com'] } }, ['*.eu.cdn.example.com']],
    [{ decision: { allowedHosts: ['db.example.com:5443', 'db.example.com:5443'] } }, ['db.example.com:5443']],
    [{ decision: { allowedHosts: ['api.example.com:443'] } }, ['api.example.com']],
  ]
  for (const [one, hosts] of table) assert.deepEqual(granted({ apiHosts, ...one }).allowedHosts, hosts)
  const wider = [
    'example.com',
    'cdn.example.com',
    '*.example.com',
    'db.example.com',
    'api.example.com:8443',
    '*.com',
    '*',
  ]
  for (const host of wider) {
    assert.deepEqual(
      refused({ apiHosts, decision: { allowedHosts: [host] } }),
      ['invalid_field', 'allowed_hosts.0'],
      host,
    )
  }
})

test('hosts that the provider no longer has are not granted', () => {
  const asked = { hosts: ['old.example.com', 'api.example.com'] }
  assert.deepEqual(granted({ asked }).allowedHosts, ['api.example.com'])
  assert.deepEqual(refused({ asked: { hosts: ['old.example.com'] } }), ['missing_field', 'allowed_hosts'])
  assert.deepEqual(refused({ asked, decision: { allowedHosts: ['old.example.com'] } }), [
    'invalid_field',
    'allowed_hosts',
  ])
})

test('if the provider has only wildcards, a host must be named', () => {
  const apiHosts = ['*.example.com']
  assert.deepEqual(refused({ apiHosts }), ['missing_field', 'allowed_hosts'])
  assert.deepEqual(granted({ apiHosts, decision: { allowedHosts: ['a.example.com'] } }).allowedHosts, ['a.example.com'])
})

test('an account with its own host is granted only that host', () => {
  const mine = { apiHosts: ['login.example.com', '*.example.com'], apiHost: 'acme.example.com' }
  assert.deepEqual(granted({ ...mine, asked: { hosts: ['*.example.com'] } }).allowedHosts, ['acme.example.com'])
  assert.deepEqual(granted({ ...mine, decision: { allowedHosts: ['*.example.com'] } }).allowedHosts, [
    'acme.example.com',
  ])
  assert.deepEqual(granted({ ...mine, decision: { allowedHosts: ['acme.example.com'] } }).allowedHosts, [
    'acme.example.com',
  ])
  for (const host of ['other.example.com', 'login.example.com']) {
    assert.deepEqual(refused({ ...mine, decision: { allowedHosts: [host] } }), ['invalid_field', 'allowed_hosts'], host)
  }
  // Without named hosts: the account's own host is granted.
  assert.deepEqual(granted(mine).allowedHosts, ['acme.example.com'])
})

test('calls, methods and paths: the intersection of request and approval', () => {
  const asked = { maxCalls: 10, methods: ['GET', 'POST'], paths: ['/a', '/b/*/c'] }
  assert.deepEqual(granted({ asked }), {
    allowedHosts: ['api.example.com'],
    allowedMethods: ['GET', 'POST'],
    allowedPaths: ['/a', '/b/*/c'],
    maxCalls: 10,
    expiresAt: null,
    ...defaultTerms,
  })
  const narrow = { maxCalls: 10, allowedMethods: ['post'], allowedPaths: ['/b/x/c/d', '/a'] }
  const { allowedMethods, allowedPaths, maxCalls } = granted({ asked, decision: narrow })
  assert.deepEqual([allowedMethods, allowedPaths, maxCalls], [['POST'], ['/b/x/c/d', '/a'], 10])
  assert.deepEqual(refused({ asked, decision: { maxCalls: 11 } }), ['invalid_field', 'max_calls'])
  assert.deepEqual(refused({ asked, decision: { allowedMethods: ['GET', 'PUT'] } }), [
    'invalid_field',
    'allowed_methods.1',
  ])
  for (const path of ['/', '/ab', '/b', '/b/x', '/b/*', '/b/x/d', '/*']) {
    assert.deepEqual(refused({ asked, decision: { allowedPaths: [path] } }), ['invalid_field', 'allowed_paths.0'], path)
  }
})

test('an error names the index as it was sent, counting duplicates', () => {
  const asked = { methods: ['GET'], paths: ['/a'] }
  const cases: [Partial<Decision>, string][] = [
    [{ allowedHosts: ['api.example.com', 'api.example.com:443', 'evil.example'] }, 'allowed_hosts.2'],
    [{ allowedMethods: ['GET', 'get', 'PUT'] }, 'allowed_methods.2'],
    [{ allowedPaths: ['/a/b', '/a/b/', '/c'] }, 'allowed_paths.2'],
  ]
  for (const [decision, field] of cases) assert.deepEqual(refused({ asked, decision }), ['invalid_field', field])
})

test('an expiry must be a valid time in the future', () => {
  const until = (expiresAt: string) => granted({ decision: { expiresAt } }).expiresAt
  assert.deepEqual(until('2026-11-15T12:00:00.001Z'), new Date('2026-11-15T12:00:00.001Z'))
  assert.deepEqual(until('2026-11-15T14:00:00+01:00'), new Date('2026-11-15T13:00:00.000Z'))
  assert.deepEqual(until('9999-12-31T22:59:59.999-01:00'), new Date('9999-12-31T23:59:59.999Z'))
  const wrong = [
    '2026-11-15T12:00:00Z',
    '2020-01-01T00:00:00Z',
    '2026-12-31T23:59:60Z',
    '9999-12-31T23:59:59-00:01',
    '9999-12-31T23:59:59-23:59',
  ]
  for (const expiresAt of wrong) {
    assert.deepEqual(refused({ decision: { expiresAt } }), ['invalid_field', 'expires_at'], expiresAt)
  }
})
