import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNarrower } from './narrower.ts'
import type { GrantTerms } from './narrower.ts'

const before: GrantTerms = {
  allowedHosts: ['api.example.com', '*.files.example.com'],
  allowedMethods: ['GET', 'POST'],
  allowedPaths: ['/mail', '/repos/*/issues'],
  maxCalls: 10,
  expiresAt: new Date(1_000),
  mode: 'ask_writes',
  exceptions: [{ paths: ['/mail/drafts'], methods: ['POST'], action: 'allow' }],
  maxAccess: 'write',
}
const deny = { paths: ['/mail/trash'], methods: null, action: 'deny' as const }

const narrower: Partial<GrantTerms>[] = [
  {},
  { allowedHosts: ['api.example.com'] },
  { allowedHosts: ['a.files.example.com'] },
  { allowedMethods: ['GET'] },
  { allowedPaths: ['/mail/inbox'] },
  { allowedPaths: ['/repos/acme/issues/1'] },
  { maxCalls: 9 },
  { expiresAt: new Date(999) },
  { mode: 'ask_all' },
  { maxAccess: 'read' },
  { exceptions: [deny, ...before.exceptions] },
  { exceptions: [...before.exceptions, { ...deny, action: 'ask' }] },
]

const wider: Partial<GrantTerms>[] = [
  { allowedHosts: ['example.com'] },
  { allowedHosts: ['api.example.com', 'files.example.com'] },
  { allowedHosts: ['*.example.com'] },
  { allowedMethods: ['GET', 'DELETE'] },
  { allowedMethods: null },
  { allowedPaths: ['/mail', '/'] },
  { allowedPaths: ['/mailbox'] },
  { allowedPaths: ['/repos/*'] },
  { allowedPaths: null },
  { maxCalls: 11 },
  { maxCalls: null },
  { expiresAt: new Date(1_001) },
  { expiresAt: null },
  { mode: 'allow_all' },
  { maxAccess: null },
  { exceptions: [] },
  { exceptions: [...before.exceptions, { ...deny, action: 'allow' }] },
  { exceptions: before.exceptions.map((one) => ({ ...one, methods: null })) },
  // Narrower in one way does not make up for wider in another.
  { allowedMethods: ['GET'], maxCalls: 11 },
]

test('terms are narrower if each of them is', () => {
  for (const terms of narrower) assert.equal(isNarrower({ ...before, ...terms }, before), true, JSON.stringify(terms))
  for (const terms of wider) assert.equal(isNarrower({ ...before, ...terms }, before), false, JSON.stringify(terms))
})

test('nothing is wider than terms without a limit', () => {
  const none = { allowedMethods: null, allowedPaths: null, maxCalls: null, expiresAt: null, maxAccess: null }
  const open: GrantTerms = { ...before, ...none, mode: 'allow_all', exceptions: [] }
  assert.equal(isNarrower(open, open), true)
  assert.equal(isNarrower({ ...before, exceptions: [deny] }, open), true)
  assert.equal(isNarrower(open, before), false)
})
