import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesApiPath } from './api-path.ts'
import type { ApiPath } from './api-path.ts'

function covers(
  path: string,
  called: string,
  rest: Partial<ApiPath> & { called?: { host?: string; method?: string } } = {},
): boolean {
  const { called: call, ...entry } = rest
  return matchesApiPath(
    { host: 'api.example.com', path, ...entry },
    { host: 'api.example.com', method: 'GET', ...call, path: called },
  )
}

function matches(path: string, ...calls: string[]): void {
  for (const called of calls) assert.ok(covers(path, called), `${path} should cover ${called}`)
}

function leaves(path: string, ...calls: string[]): void {
  for (const called of calls) assert.ok(!covers(path, called), `${path} should not cover ${called}`)
}

test('a path matches itself and everything below it, by whole segments', () => {
  matches('/user/keys', '/user/keys', '/user/keys/', '/user/keys/7', '/user/keys/7/more')
  leaves('/user/keys', '/user', '/', '', '/user/keyring', '/users/keys', '/v1/user/keys', '/user/x/keys')
})

test('* matches text within one segment', () => {
  matches('/repos/*/*/keys', '/repos/a/b/keys', '/repos/a/b/keys/1', '/repos/keys/keys/keys')
  leaves('/repos/*/*/keys', '/repos/a/keys', '/repos/a/b/c/keys', '/repos//keys', '/repos/a/b/keyring')
  matches('/api/apps.*', '/api/apps.manifest.create', '/api/apps.')
  leaves('/api/apps.*', '/api/apps', '/api/auth.test', '/api/x/apps.manifest.create')
  matches('/v1/*:sign*', '/v1/me:sign', '/v1/me:signBlob')
  leaves('/v1/*:sign*', '/v1/me:assign', '/v1/me/sign')
  matches('/a/x*x', '/a/xx', '/a/x-x')
  leaves('/a/x*x', '/a/x')
  matches('/a/*-*-*', '/a/1-2-3', '/a/--')
  leaves('/a/*-*-*', '/a/1-2')
})

test('** matches any number of segments', () => {
  matches('/**/addPassword', '/addPassword', '/v1.0/addPassword', '/v1.0/me/owned/1/addPassword/', '/addPassword/x')
  leaves('/**/addPassword', '/', '/v1.0/addPasswords', '/v1.0/add/Password')
  matches('/api/**/hooks/*', '/api/hooks/1', '/api/v10/x/hooks/1')
  leaves('/api/**/hooks/*', '/api/v10/hooks', '/hooks/1')
  matches('/a/**', '/a', '/a/b/c')
})

test('case, repeated and trailing slashes do not matter', () => {
  matches('/user/Keys', '/User/KEYS', '//user///keys//', '/user/keys/', 'user/keys')
})

test('percent-escapes are decoded, repeatedly', () => {
  matches('/user/keys', '/user/%6beys', '/user/%6Beys', '/%75ser%2Fkeys', '/user%2fkeys', '/user/%256beys')
  matches('/user/keys', '/user/%25%36%62eys', '/user/%2525256beys', '/user%5ckeys', '/user\\keys', '/user/keys%00')
  matches('/user/keys', '/user/keys%20', '/user/%09keys', '/user/keys%3Fa=1', '/user/keys%3bv=1')
  leaves('/user/keys', '/user/%zzkeys', '/user/%6')
})

test('characters that some servers normalise are matched as what they become', () => {
  matches('/user/keys', '/user/%ef%bd%8beys', '/user/\uff4beys', '/user/%e2%84%aaeys', '/user/%ff%2e%2e/../keys')
  matches(
    '/user/keys',
    '/user%c0%afkeys',
    '/user%e0%80%afkeys',
    '/user%c1%9ckeys',
    '/user/%c1%abeys',
    '/user/%u006beys',
  )
  matches('/user/keys', '/user%ef%bc%8fkeys', '/user/x/%ef%bc%8e%ef%bc%8e/keys', '/user/x/%e2%80%a5/keys')
  leaves('/user/keys', '/user/%c3%abeys', '/user/%ffkeys')
})

test('a segment with an escaped slash is matched as one segment and as two', () => {
  matches('/projects/*/tokens', '/projects/group%2Fproject/tokens', '/projects/a%2Fb%252Fc/tokens/1')
  matches('/projects/*/tokens', '/projects/1%2Ftokens', '/projects%2F1%2Ftokens')
  leaves('/projects/*/tokens', '/projects/group%2Fproject/issues', '/projects/group/project/tokens')
})

test('dot segments cannot bypass a path', () => {
  matches('/user/keys', '/public/../user/keys', '/public/..%2Fuser/keys', '/public/%2e%2e/user/keys', '/./user/./keys')
  matches('/user/keys', '/user/keys/../../public', '/user/keys/..%2F..%2Fpublic', '/../../user/keys')
  matches('/user/keys', '/public/..;/user/keys', '/user/.%2Fkeys')
  leaves('/user/keys', '/user/../keys', '/user/..%2Fkeys')
})

test('parameters, file extensions, queries and fragments are ignored', () => {
  matches(
    '/user/keys',
    '/user/keys;v=1',
    '/user;a=b/keys',
    '/user/keys.json',
    '/user/keys.XML',
    '/user/keys?x=/y',
    '/user/keys#x',
  )
  matches('/user/keys', '/user/keys.pub', '/user/keys.7z')
  leaves('/user/keys', '/user/keys.', '/user/keys.a-b', '/user/keys.of.mine', '/user?/keys', '/user#/keys')
})

test('an entry with methods matches only those, in any case', () => {
  const methods = ['POST', 'PUT']
  assert.ok(covers('/hooks', '/hooks', { methods, called: { method: 'POST' } }))
  assert.ok(covers('/hooks', '/hooks', { methods, called: { method: 'put' } }))
  assert.ok(!covers('/hooks', '/hooks', { methods, called: { method: 'GET' } }))
  assert.ok(covers('/hooks', '/hooks', { called: { method: 'REPORT' } }))
})

test('an entry applies to its own host, on every port', () => {
  const at = (host: string) => covers('/user/keys', '/user/keys', { called: { host } })
  assert.deepEqual([at('api.example.com:8443'), at('API.Example.com.'), at('api.example.com:')], [true, true, true])
  assert.deepEqual([at('other.example.com'), at('a.api.example.com')], [false, false])
})

test('a path crafted to be slow is matched quickly', () => {
  assert.ok(!covers('/**/*a*a*a*b/**/x', `/${'a%2F'.repeat(20_000)}`))
  assert.ok(!covers('/user/keys', `/${'%25'.repeat(20_000)}`))
  assert.ok(covers('/**/x', `${'/a'.repeat(50_000)}/x`))
})
