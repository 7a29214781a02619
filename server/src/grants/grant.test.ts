import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../platform/errors.ts'
import { assertGrantCovers } from './grant.ts'
import type { Grant, GrantedCall } from './grant.ts'

const now = new Date('2026-11-15T12:00:00.000Z')
const grant: Grant = {
  grantId: 'grt_1',
  agentId: 'agt_1',
  kind: 'sandbox',
  allowedHosts: ['api.example.com', 'files.example.com:8443'],
  allowedMethods: ['GET', 'HEAD'],
  allowedPaths: ['/v1/mail'],
  createdAt: new Date(now.getTime() - 1000),
  expiresAt: new Date(now.getTime() + 1),
  revokedAt: null,
}
const call: GrantedCall = { host: 'api.example.com', method: 'GET', path: '/v1/mail' }

function allows(terms: Partial<Grant>, members: Partial<GrantedCall>): void {
  assertGrantCovers({ ...grant, ...terms }, { ...call, ...members }, now)
}

function refuses(terms: Partial<Grant>, members: Partial<GrantedCall>, code: string, field?: string): void {
  assert.throws(
    () => {
      allows(terms, members)
    },
    (error: ServiceError) => error.code === code && error.field === field,
    `${JSON.stringify(terms)} ${JSON.stringify(members)}`,
  )
}

test('a grant covers its hosts, methods and paths until it ends', () => {
  allows({}, {})
  allows({}, { host: 'files.example.com:8443' })
  allows({}, { method: 'HEAD' })
  allows({ expiresAt: null }, {})
  allows({ allowedMethods: null }, { method: 'DELETE' })
  allows({ allowedPaths: null }, { path: '/anything' })
})

test('a grant that has ended covers nothing', () => {
  refuses({ revokedAt: now }, {}, 'grant_revoked')
  refuses({ expiresAt: now }, {}, 'grant_expired')
  refuses({ expiresAt: now, revokedAt: now }, {}, 'grant_revoked')
  refuses({ revokedAt: now }, { host: 'evil.example' }, 'grant_revoked')
})

test('a grant does not cover what is only like its hosts, methods and paths', () => {
  for (const host of [
    'example.com',
    'a.api.example.com',
    'api.example.com.',
    'api.example.com:8443',
    'files.example.com',
    'api.example.com.evil.example',
    '',
  ]) {
    refuses({}, { host }, 'host_not_allowed', 'url')
  }
  for (const method of ['POST', 'get', '', 'GET ']) refuses({}, { method }, 'method_not_allowed', 'method')
  for (const path of ['/v1/mail/', '/v1/mail/1', '/v1/', '/V1/mail', '/v1/%6dail', '//v1/mail']) {
    refuses({}, { path }, 'path_not_allowed', 'url')
  }
})

test('a grant of no host, method or path covers none', () => {
  refuses({ allowedHosts: [] }, {}, 'host_not_allowed', 'url')
  refuses({ allowedMethods: [] }, {}, 'method_not_allowed', 'method')
  refuses({ allowedPaths: [] }, {}, 'path_not_allowed', 'url')
})
