import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../platform/errors.ts'
import { isAddress } from '../platform/egress/destinations.ts'
import { judgeUrl } from './destination.ts'

const ours = 'http://localhost:8787'

function allows(text: string, expected: { sent: string; host: string; path: string; queryNames?: string[] }): void {
  const { url, host, path, queryNames } = judgeUrl(text, ours)
  assert.deepEqual(
    { sent: url.href, host, path, queryNames },
    { queryNames: [], ...expected },
    `what becomes of ${JSON.stringify(text)}`,
  )
}

function refuses(text: string, reason: RegExp): void {
  assert.throws(
    () => judgeUrl(text, ours),
    ({ code, field, publicMessage = '' }: ServiceError) =>
      code === 'invalid_url' && field === 'url' && reason.test(publicMessage),
    JSON.stringify(text),
  )
}

test('the checked URL is the normalised one that is sent', () => {
  allows('https://api.example.com', { sent: 'https://api.example.com/', host: 'api.example.com', path: '/' })
  allows('HTTPS://API.Example.COM:443/a/../b', {
    sent: 'https://api.example.com/b',
    host: 'api.example.com',
    path: '/b',
  })
  allows('https://api.example.com/%2e%2e/b', { sent: 'https://api.example.com/b', host: 'api.example.com', path: '/b' })
  allows('https://api.example.com:8443/', {
    sent: 'https://api.example.com:8443/',
    host: 'api.example.com:8443',
    path: '/',
  })
  allows('https://api.example.com/a?q=\\b', {
    sent: 'https://api.example.com/a?q=\\b',
    host: 'api.example.com',
    path: '/a',
    queryNames: ['q'],
  })
  allows('https://xn--bcher-kva.example/', {
    sent: 'https://xn--bcher-kva.example/',
    host: 'xn--bcher-kva.example',
    path: '/',
  })
})

test('parameter names of the query are kept, not their values', () => {
  allows('https://api.example.com/?key=s3cret&key=2&empty&a%20b=1', {
    sent: 'https://api.example.com/?key=s3cret&key=2&empty&a%20b=1',
    host: 'api.example.com',
    path: '/',
    queryNames: ['key', 'empty', 'a b'],
  })
})

test('our own origin is called as it is, also with http', () => {
  allows('http://localhost:8787/v4/sandbox/echo', {
    sent: 'http://localhost:8787/v4/sandbox/echo',
    host: 'localhost:8787',
    path: '/v4/sandbox/echo',
  })
  refuses('http://localhost:8788/v4/sandbox/echo', /not https/)
  refuses('http://localhost/v4/sandbox/echo', /not https/)
})

test('anything but a plain https URL is refused with a reason', () => {
  refuses('not a url', /parsed/)
  refuses('/v4/sandbox/echo', /parsed/)
  refuses('https://', /parsed/)
  refuses('https://exa mple.com/', /parsed/)
  refuses('https://example.com:99999/', /parsed/)
  refuses('http://api.example.com/', /not https/)
  for (const scheme of ['ftp', 'file', 'ws', 'wss', 'gopher']) refuses(`${scheme}://api.example.com/`, /not https/)
  refuses('javascript:alert(1)', /not https/)
  refuses('data:text/plain,hello', /not https/)
  refuses('https://user@api.example.com/', /user name/)
  refuses('https://user:pass@api.example.com/', /user name/)
  refuses('https://:pass@api.example.com/', /user name/)
  refuses('http://localhost:8787@evil.example/', /not https/)
  refuses('https://localhost:8787@evil.example/', /user name/)
  refuses('https://api.example.com/#part', /fragment/)
  refuses('https://api.example.com/#', /fragment/)
})

test('IP addresses are distinguished from names and normalised', () => {
  for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', '[fd00::1]:8443', '[::ffff:7f00:1]']) {
    assert.ok(isAddress(judgeUrl(`https://${host}/`, ours).url), host)
  }
  for (const host of [
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '[::ffff:127.0.0.1]',
    '１２７.0.0.1',
    '127.0.0.1.',
  ]) {
    refuses(`https://${host}/`, /not normalized/)
  }
  for (const host of ['localhost', '1.example.com', 'a.127.0.0.1.example']) {
    assert.ok(!isAddress(judgeUrl(`https://${host}/`, ours).url), host)
  }
})

test('a URL whose text suggests another host is refused', () => {
  refuses('https://ⓐpi.example.com/', /not normalized/)
  refuses('https://api。example.com/', /not normalized/)
  refuses('https://bücher.example/', /not normalized/)
  refuses('https://api%2eexample.com/', /not normalized/)
  refuses('https:api.example.com/', /not normalized/)
  refuses('https:///api.example.com/', /not normalized/)
  refuses('https://api.example.com./', /not normalized/)
  refuses('https://a..example.com./', /not normalized/)
  refuses(`https://${'a.'.repeat(122)}example.com/`, /not normalized/)
  refuses('https://\u212a.example.com/', /not normalized/)
  refuses('https://*.example.com/', /not normalized/)
  refuses('https://a!b.example.com/', /not normalized/)
  refuses(' https://api.example.com/', /not normalized/)
  refuses('http://ⓛocalhost:8787/', /not normalized/)
})

test('backslashes, line breaks and tabs are refused anywhere in a URL', () => {
  for (const text of [
    'https:\\\\api.example.com/',
    'https://api.example.com\\@evil.example/',
    'https://api.example.com/a\\b',
    'https://api.example.com/a\\..\\b?c',
    'https://api.exa\tmple.com/',
    'https://api.example.com/a\tb',
    'https://api.example.com/a\nb',
    'https://api.example.com/?a=\r\nb',
    'https://api.example.com/\u0000',
    'https://api.example.com/\u0085',
  ]) {
    refuses(text, /backslash|user name/)
  }
})

test('a URL has a maximum length', () => {
  const url = `https://api.example.com/${'a'.repeat(8192 - 24)}`
  assert.equal(judgeUrl(url, ours).url.href, url)
  refuses(`${url}a`, /longer/)
})
