import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../platform/errors.ts'
import { assertGrantCovers, defaultTerms } from './grant.ts'
import type { Grant, GrantedCall } from './grant.ts'

const now = new Date('2026-11-15T12:00:00.000Z')
const grant: Grant = {
  grantId: 'grt_1',
  agentId: 'agt_1',
  kind: 'connection',
  userId: 'usr_1',
  connectionId: 'con_1',
  accessRequestId: 'arq_1',
  allowedHosts: ['api.example.com', 'files.example.com:8443', '*.cdn.example.com'],
  allowedMethods: ['GET', 'HEAD'],
  allowedPaths: ['/v1/mail', '/v1/*/photo'],
  maxCalls: 3,
  calls: 2,
  lastUsedAt: null,
  createdAt: new Date(now.getTime() - 1000),
  expiresAt: new Date(now.getTime() + 1),
  revokedAt: null,
  revokedBy: null,
  isCutOff: false,
  isPaused: false,
  termsVersion: 1,
  ...defaultTerms,
}
const call: GrantedCall = { host: 'api.example.com', methods: ['GET'], path: '/v1/mail' }

function allows(terms: Partial<Grant>, members: Partial<GrantedCall>): void {
  assertGrantCovers({ ...grant, ...terms }, { ...call, ...members })
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

test('a grant covers its hosts, methods and paths', () => {
  allows({}, {})
  allows({}, { host: 'files.example.com:8443' })
  allows({}, { host: 'a.b.cdn.example.com' })
  allows({}, { path: '/v1/mail/1' })
  allows({}, { path: '/v1/ada/photo' })
  allows({}, { methods: ['HEAD'] })
  allows({ allowedMethods: null }, { methods: ['DELETE'] })
  allows({ allowedPaths: null }, { path: '/anything' })
})

test('a grant does not cover lookalikes of its hosts, methods and paths', () => {
  for (const host of [
    'example.com',
    'a.api.example.com',
    'api.example.com:8443',
    'files.example.com',
    'api.example.com.evil.example',
    'cdn.example.com',
    'a.cdn.example.com:8443',
    '',
  ]) {
    refuses({}, { host }, 'host_not_allowed', 'url')
  }
  for (const method of ['POST', 'get', '', 'GET ']) refuses({}, { methods: [method] }, 'method_not_allowed', 'method')
  for (const path of ['/v1/mailbox', '/v1/', '/V1/mail', '/v1/mail%2f..%2fadmin', '//v1/mail', '/v1/photo']) {
    refuses({}, { path }, 'path_not_allowed', 'url')
  }
})

test('a call with several methods needs all of them, and TRACE and CONNECT are never covered', () => {
  allows({}, { methods: ['GET', 'HEAD'] })
  refuses({}, { methods: ['GET', 'POST'] }, 'method_not_allowed', 'method')
  for (const method of ['TRACE', 'CONNECT']) {
    refuses({ allowedMethods: null }, { methods: ['POST', method] }, 'method_not_allowed', 'method')
  }
})

test('a grant with an empty list of hosts, methods or paths covers none', () => {
  refuses({ allowedHosts: [] }, {}, 'host_not_allowed', 'url')
  refuses({ allowedMethods: [] }, {}, 'method_not_allowed', 'method')
  refuses({ allowedPaths: [] }, {}, 'path_not_allowed', 'url')
})

test('the sandbox covers exactly its echo path', () => {
  const echo = { kind: 'sandbox', allowedHosts: ['localhost:8787', '*.example.com'], allowedPaths: ['/echo'] } as const
  const sandbox = { ...echo, allowedHosts: [...echo.allowedHosts], allowedPaths: [...echo.allowedPaths] }
  allows(sandbox, { host: 'localhost:8787', path: '/echo' })
  refuses(sandbox, { host: 'a.example.com', path: '/echo' }, 'host_not_allowed', 'url')
  for (const path of ['/echo/', '/echo/1', '/%65cho']) {
    refuses(sandbox, { host: 'localhost:8787', path }, 'path_not_allowed', 'url')
  }
})
