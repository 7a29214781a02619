import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultTerms } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import { useOf } from './grant-use.ts'

const grant = {
  ...{ grantId: 'grt_a', agentId: 'agt_a', kind: 'connection' as const, userId: 'usr_a', connectionId: 'con_a' },
  ...{ accessRequestId: 'arq_a', allowedHosts: ['api.example.com', '*.files.example.com'], allowedMethods: null },
  ...{ allowedPaths: null, maxCalls: null, calls: 0, lastUsedAt: null, createdAt: new Date(0), expiresAt: null },
  ...{ revokedAt: null, revokedBy: null, isCutOff: false, isPaused: false, termsVersion: 1, ...defaultTerms },
} satisfies Grant

const suggested = (terms: Partial<Grant>, ...calls: string[]) =>
  useOf(
    { ...grant, ...terms },
    calls.map((call) => {
      const [method = '', url = ''] = call.split(' ')
      const { host, pathname: path } = new URL(url)
      return { method, host, path }
    }),
  ).suggestion

test('the suggestion is what was used, and no more', () => {
  assert.deepEqual(suggested({}, 'GET https://api.example.com/messages', 'GET https://api.example.com/messages/1'), {
    allowedHosts: ['api.example.com'],
    allowedMethods: ['GET'],
    allowedPaths: ['/messages', '/messages/1'],
  })
  const many = Array.from({ length: 9 }, (_, index) => `GET https://a.files.example.com/v1/files/${index}`)
  assert.deepEqual(suggested({ allowedMethods: ['GET', 'POST'] }, ...many), {
    allowedHosts: ['a.files.example.com'],
    allowedMethods: ['GET'],
    allowedPaths: ['/v1/files'],
  })
})

test('nothing is suggested that the grant does not allow, or that it is already', () => {
  const terms = { allowedHosts: ['api.example.com'], allowedMethods: ['GET'], allowedPaths: ['/v1/files'] }
  assert.equal(suggested(terms), undefined, 'it was never used')
  assert.equal(suggested(terms, 'GET https://api.example.com/v1/files'), undefined)
  const many = Array.from({ length: 9 }, (_, index) => `GET https://api.example.com/v1/files/${index}`)
  assert.equal(suggested(terms, ...many), undefined)
  const deeper = { ...terms, allowedPaths: ['/v1/*/meta'] }
  const meta = Array.from({ length: 9 }, (_, index) => `GET https://api.example.com/v1/${index}/meta`)
  assert.equal(suggested(deeper, ...meta), undefined, 'their common beginning is wider')
  const elsewhere = suggested(terms, 'GET https://cdn.example.net/v1/files/1', 'GET https://api.example.com/v1/files/1')
  assert.deepEqual(elsewhere, { allowedPaths: ['/v1/files/1'] })
})

test('paths without anything in common, or that servers read in different ways, are not suggested', () => {
  const apart = Array.from({ length: 9 }, (_, index) => `GET https://api.example.com/${index}`)
  assert.equal(suggested({}, ...apart)?.allowedPaths, undefined)
  assert.equal(suggested({}, 'GET https://api.example.com/a%2fb')?.allowedPaths, undefined)
  assert.equal(suggested({}, 'GET https://api.example.com/')?.allowedPaths, undefined)
})
