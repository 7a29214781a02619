import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../platform/errors.ts'
import { coversHostPattern, readMethod, readMethods } from './grant.ts'
import { coversAnyPath, coversPathPattern, readPathPattern, readPathPatterns } from './path-pattern.ts'

function refused(field: string) {
  return (error: ServiceError) => error.code === 'invalid_field' && error.field === field
}

function coversPath(pattern: string, path: string): boolean {
  return coversAnyPath(['/nothing/like/it', pattern], path)
}

/** As the proxy sees it: what the URL parser makes of it. */
function pathIn(text: string): string {
  return new URL(`https://api.example.com${text}`).pathname
}

test('a host pattern covers only hosts it names', () => {
  const covers: [string, string][] = [
    ['a.example', 'a.example'],
    ['a.example:8443', 'a.example:8443'],
    ['*.a.example', 'b.a.example'],
    ['*.a.example', 'c.b.a.example'],
    ['*.a.example', '*.a.example'],
    ['*.a.example', '*.b.a.example'],
    ['*.a.example:8443', '*.b.a.example:8443'],
    ['[2001:db8::1]:8443', '[2001:db8::1]:8443'],
  ]
  for (const [outer, inner] of covers) assert.ok(coversHostPattern(outer, inner), `${outer} ${inner}`)
  const refuses: [string, string][] = [
    ['a.example', 'b.a.example'],
    ['a.example', '*.a.example'],
    ['b.a.example', '*.a.example'],
    ['*.a.example', 'a.example'],
    ['*.a.example', 'ba.example'],
    ['*.a.example', '*.example'],
    ['*.a.example', '*.ba.example'],
    ['*.b.a.example', '*.a.example'],
    ['a.example', 'a.example:8443'],
    ['a.example:8443', 'a.example'],
    ['*.a.example', 'b.a.example:8443'],
    ['*.a.example', '*.a.example:8443'],
    ['*.a.example:8443', '*.a.example'],
  ]
  for (const [outer, inner] of refuses) assert.ok(!coversHostPattern(outer, inner), `${outer} ${inner}`)
})

test('a method is any name of letters except CONNECT and TRACE, in upper case', () => {
  for (const method of ['GET', 'get', 'Post', 'PROPFIND', 'QUERY', 'x'.repeat(20)]) {
    assert.equal(readMethod(method, 'method'), method.toUpperCase())
  }
  const wrong = ['CONNECT', 'connect', 'TRACE', 'Trace', '', 'G T', 'GET\r\nX', 'GET\n', 'é', 'M-SEARCH', 'ﬁ', '*']
  for (const method of [...wrong, 'x'.repeat(21)]) {
    assert.throws(() => readMethod(method, 'method'), refused('method'), JSON.stringify(method))
  }
  assert.deepEqual(readMethods(['get', 'POST', 'GET'], 'methods'), ['GET', 'POST'])
  assert.throws(() => readMethods(['GET', 'TRACE'], 'methods'), refused('methods.1'))
})

test('a path pattern is normalised', () => {
  for (const [text, kept] of [
    ['/', '/'],
    ['/repos', '/repos'],
    ['/repos/', '/repos'],
    ['/repos/*/issues', '/repos/*/issues'],
    ['/%72epos/%7ea', '/repos/~a'],
    ['/a%3ab', '/a%3Ab'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    ['/v1/mail;box/a.b', '/v1/mail;box/a.b'],
    [`/${'x'.repeat(1023)}`, `/${'x'.repeat(1023)}`],
  ] as const) {
    assert.equal(readPathPattern(text, 'path'), kept)
    assert.equal(readPathPattern(kept, 'path'), kept)
  }
  assert.deepEqual(readPathPatterns(['/a/', '/b', '/a'], 'paths'), ['/a', '/b'])
})

test('an ambiguous path pattern is refused', () => {
  const wrong = [
    '',
    'repos',
    'https://a.example/',
    '*',
    '/a?b',
    '/a#b',
    '/a?',
    '/a#',
    '/..',
    '/a/../b',
    '/a/.',
    '/a/./b',
  ]
  const escaped = ['/%2e%2e/a', '/a/%2E', '/a%2eb', '/a%2fb', '/a%5Cb', '/a%252fb', '/a%', '/a%2', '/a%zz', '/%c0%ae']
  const odd = ['/a//b', '//a', '/a//', '/a\\b', '/a b', '/a\tb', '/a\n', '/é', '/a%00', '/a%0a', '/..;/a', '/%ef%bc%8f']
  const stars = ['/a*', '/*a/b', '/**', '/a/b*c']
  for (const text of [...wrong, ...escaped, ...odd, ...stars, `/${'x'.repeat(1024)}`]) {
    assert.throws(() => readPathPattern(text, 'path'), refused('path'), JSON.stringify(text))
  }
  assert.throws(() => readPathPatterns(['/a', 'b'], 'paths'), refused('paths.1'))
  const many = Array.from({ length: 51 }, (_, index) => `/${index}`)
  assert.throws(() => readPathPatterns(many, 'paths'), refused('paths'))
  assert.equal(readPathPatterns(many.slice(1), 'paths').length, 50)
})

test('a path pattern covers everything under it, by whole segments', () => {
  const covers: [string, string][] = [
    ['/', '/'],
    ['/', '/anything/at/all'],
    ['/repos', '/repos'],
    ['/repos', '/repos/'],
    ['/repos', '/repos/a'],
    ['/repos/*/issues', '/repos/a/issues'],
    ['/repos/*/issues', '/repos/a/issues/'],
    ['/repos/*/issues', '/repos/a/issues/5'],
    ['/repos/*/issues', '/repos/*/issues'],
    ['/repos', '/%72epos/a'],
    ['/repos', '/x/../repos/a'],
    ['/repos', '/x/%2e%2e/repos/a'],
    ['/a.b', '/a%2eb'],
    ['/a%3Ab', '/a%3ab'],
    ['/caf%C3%A9', '/café/menu'],
    ['/repos', '/repos/a%20b/100;v=1/...'],
  ]
  for (const [pattern, path] of covers) assert.ok(coversPath(pattern, pathIn(path)), `${pattern} ${path}`)
  const refuses: [string, string][] = [
    ['/repos', '/'],
    ['/repos', '/reposX'],
    ['/repos', '/Repos'],
    ['/repos', '/repos;a'],
    ['/repos', '/repos%20'],
    ['/repos/*/issues', '/repos/a/issuesX'],
    ['/repos/*/issues', '/repos/a'],
    ['/repos/*/issues', '/repos/a/b/issues'],
    ['/repos/*', '/repos'],
    ['/repos/*', '/repos/'],
    ['/a%3Ab', '/a:b'],
  ]
  for (const [pattern, path] of refuses) assert.ok(!coversPath(pattern, pathIn(path)), `${pattern} ${path}`)
})

test('no notation of a path escapes its prefix, and ambiguous paths are not covered', () => {
  const attacks = [
    '/repos/../admin',
    '/repos/%2e%2e/admin',
    '/repos/.%2e/admin',
    '/repos/..\\admin',
    '/repos/..%2fadmin',
    '/repos/..%2Fadmin',
    '/repos/a%2f..%2f..%2fadmin',
    '/repos/..%5cadmin',
    '/repos/%2e%2e%5Cadmin',
    '/repos/%252e%252e/admin',
    '/repos/..%252fadmin',
    '/repos/%25%32%65%25%32%65/admin',
    '/repos/a%25',
    '/repos/..;/admin',
    '/repos/..;a=b/admin',
    '/repos/.;/admin',
    '/repos/%2e%2e;/admin',
    '/repos/..%3b/admin',
    '/repos/..%20/admin',
    '/repos/.%20./admin',
    '/repos/..%3F',
    '/repos/..%3fx',
    '/repos/..%23',
    '/repos/..%E2%80%8B/admin',
    '/repos/%C2%AD../admin',
    '/repos/%20../admin',
    '/repos/..%00/admin',
    '/repos/a%00',
    '/repos/a%0d%0ab',
    '/repos/a%7f',
    '/repos/%c0%ae%c0%ae/admin',
    '/repos/%c0%af',
    '/repos/%e0%80%af',
    '/repos/%ff',
    '/repos/%ef%bc%8fadmin',
    '/repos/\uff0e\uff0e/admin',
    '/repos/\u2025/admin',
    '/repos/a\uff0fb',
    '/repos/%ef%bc%852f',
    '/repos//admin',
    '/repos//',
    '/repos/a//b',
    '//repos',
    '/repos/a%',
    '/repos/a%2',
    '/repos/a%zz',
    '/repos/%u002e%u002e/admin',
  ]
  for (const path of attacks) assert.ok(!coversPath('/repos', pathIn(path)), path)
  for (const path of attacks) assert.ok(!coversPath('/repos/*', pathIn(path)), path)
  // Merged slashes would turn `/repos//issues/1` into another repository's path.
  assert.ok(!coversPath('/repos/*/issues', '/repos//issues/1'))
  assert.ok(!coversPath('/', '/a%2fb'))
  for (const path of ['/repos/../admin', '/repos/.', '/repos/./x', '/repos/..'])
    assert.ok(!coversPath('/repos', path), path)
  assert.ok(!coversPath('', '/'))
  assert.ok(!coversPath('/repos', ''))
})

test('a path pattern covers another if it includes all its paths', () => {
  const covers: [string, string][] = [
    ['/', '/*'],
    ['/a', '/a'],
    ['/a', '/a/*'],
    ['/*', '/a'],
    ['/*', '/*'],
    ['/*/b', '/a/b/c'],
    ['/a/*', '/a/*/c'],
  ]
  for (const [outer, inner] of covers) assert.ok(coversPathPattern(outer, inner), `${outer} ${inner}`)
  const refuses: [string, string][] = [
    ['/*', '/'],
    ['/a', '/'],
    ['/a', '/*'],
    ['/a', '/ab'],
    ['/a/b', '/a/*'],
    ['/a/b', '/*/b'],
    ['/a/*/c', '/a/b'],
  ]
  for (const [outer, inner] of refuses) assert.ok(!coversPathPattern(outer, inner), `${outer} ${inner}`)
})
