import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../platform/errors.ts'
import { defaultApiHosts, matchesHost, readApiHosts } from './api-hosts.ts'

function allows(entry: string, kept = entry): void {
  assert.deepEqual(readApiHosts([entry]), [kept], entry)
}

function refuses(entry: string): void {
  const isRefusal = (error: unknown) =>
    error instanceof ServiceError && error.code === 'invalid_field' && error.field === 'api_hosts.0'
  assert.throws(() => readApiHosts([entry]), isRefusal, entry)
}

test('a name, a wildcard, a port and a canonical address are allowed', () => {
  allows('api.acme.com')
  allows('*.acme.com')
  allows('*.api.acme.co.uk')
  allows('api.acme.com:8443')
  allows('api.acme.com:443', 'api.acme.com')
  allows('*.acme.com:65535')
  allows('localhost:1')
  allows('192.0.2.7')
  allows('192.0.2.7:8443')
  allows('[2001:db8::1]')
  allows('[2001:db8::1]:8443')
  allows('xn--bcher-kva.example')
})

test('an invalid host or a non-canonical notation is refused', () => {
  const none = ['', '*', '*.', '.', 'a..b', '-a.com', 'a-.com', 'a.com.', 'a.*.com', '**.a.com', 'x*.a.com', 'a_b.com']
  const odd = [
    'Api.acme.com',
    'bücher.example',
    '127.1',
    '0x7f.1',
    '2130706433',
    '[::0001]',
    '[::1',
    '::1',
    '1.2.3.4.5',
  ]
  const ports = ['a.com:', 'a.com:0', 'a.com:65536', 'a.com:0443', 'a.com:x', 'a.com:1:2']
  const urls = ['https://a.com', 'a.com/b', 'a.com?b', 'user@a.com', 'a.com#', 'a b.com', `${'a'.repeat(64)}.com`]
  for (const entry of [...none, ...odd, ...ports, ...urls]) refuses(entry)
})

test('a wildcard over a public suffix, an address or a single label is refused', () => {
  for (const name of ['com', 'co.uk', 'github.io', 's3.amazonaws.com', 'localhost', '10.0.0.1', 'kawasaki.jp']) {
    refuses(`*.${name}`)
  }
})

test('duplicate entries are merged', () => {
  assert.deepEqual(readApiHosts(['a.com', 'b.com', 'a.com:443']), ['a.com', 'b.com'])
})

test('the default hosts are those of the issuer and token endpoint, with non-default ports', () => {
  const issuer = 'https://login.acme.com/tenant'
  assert.deepEqual(defaultApiHosts({ issuer, token_endpoint: 'https://login.acme.com:443/token' }), ['login.acme.com'])
  assert.deepEqual(
    defaultApiHosts({ issuer, authorization_endpoint: 'https://a.com/', token_endpoint: 'https://t.acme.com:8443/t' }),
    ['login.acme.com', 't.acme.com:8443'],
  )
})

test('an entry matches its host and port, and a wildcard all subdomains', () => {
  const table: [string, string, boolean][] = [
    ['api.example.com', 'api.example.com', true],
    ['api.example.com', 'API.Example.com.', true],
    ['api.example.com', 'api.example.com:443', true],
    ['api.example.com', 'api.example.com:8443', false],
    ['api.example.com:8443', 'api.example.com:8443', true],
    ['api.example.com:8443', 'api.example.com', false],
    ['api.example.com:8443', 'api.example.com:843', false],
    ['api.example.com', 'example.com', false],
    ['api.example.com', 'a.api.example.com', false],
    ['api.example.com', 'api.example.com.evil.example', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'a.example.com:8443', false],
    ['*.example.com:8443', 'a.example.com:8443', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', '.example.com', false],
    ['*.example.com', 'badexample.com', false],
    ['[2001:db8::1]:8443', '[2001:db8::1]:8443', true],
    ['[2001:db8::1]', '[2001:db8::1]:8443', false],
    ['a:b:c', 'a:b:c', false],
  ]
  for (const [entry, host, expected] of table) assert.equal(matchesHost(entry, host), expected, `${entry} ${host}`)
})
