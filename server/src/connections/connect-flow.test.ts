import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeRedirectAfter } from '../platform/http/own-path.ts'
import { landing } from './connect-flow.ts'

const baseUrl = new URL('https://sallyport.example')

/** What the browser makes of the address that it is sent to in the end. */
function landsAt(path: string): URL {
  return new URL(landing(baseUrl, judgeRedirectAfter(path, baseUrl), { error: 'access_denied' }))
}

test('a path on this origin is allowed', () => {
  const table: [string, string][] = [
    ['/', '/?error=access_denied'],
    ['/connections', '/connections?error=access_denied'],
    ['/a/b?c=d&e=f%2Fg', '/a/b?c=d&e=f%2Fg&error=access_denied'],
    ['/a?next=https://evil.example', '/a?next=https%3A%2F%2Fevil.example&error=access_denied'],
    ['/a#part', '/a?error=access_denied#part'],
    ['/a//b', '/a//b?error=access_denied'],
    ['/a/../b', '/b?error=access_denied'],
    ['/%09/evil.example', '/%09/evil.example?error=access_denied'],
    ['/%5Cevil.example', '/%5Cevil.example?error=access_denied'],
    ['/%2F/evil.example', '/%2F/evil.example?error=access_denied'],
    ['/@evil.example', '/@evil.example?error=access_denied'],
    ['/:80', '/:80?error=access_denied'],
  ]
  for (const [path, end] of table) {
    const url = landsAt(path)
    assert.equal(url.origin, baseUrl.origin, path)
    assert.equal(url.href.slice(baseUrl.origin.length), end, path)
  }
})

test('an open redirect is refused in every notation', () => {
  const table = [
    '',
    'connections',
    '//evil.example',
    '///evil.example',
    '////evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    '/a\\..\\..\\evil.example',
    'https:evil.example',
    'https://evil.example',
    'https:/evil.example',
    'HTTPS://evil.example',
    'https://sallyport.example/connections',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'blob:https://sallyport.example/1',
    '@evil.example',
    '.evil.example',
    ':evil.example',
    '?connection_id=con_forged',
    '#x',
    ' /connections',
    '/connections ',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\n/evil.example',
    '/\u0000',
    '/\u007f',
    '/\u2028',
    '/\uff0f\uff0fevil.example',
    '\u2044\u2044evil.example',
    '/\u3002evil',
    '/\ud800',
    // A dot segment goes when the address is read, and leaves two slashes behind.
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    '/%2E%2e//evil.example',
    '/a/..//evil.example',
    '/a/%2e%2e//evil.example/b',
    '/a/b/../..//evil.example',
    '/././/evil.example',
    '/.///evil.example',
  ]
  for (const path of table) {
    assert.throws(
      () => landsAt(path),
      { code: 'invalid_field', field: 'redirect_after' },
      `${JSON.stringify(path)} is taken`,
    )
  }
})

test('the requested path cannot forge the outcome', () => {
  const paths = [
    '/?connection_id=con_forged&error=forged&connect=waiting',
    '/?connection%5Fid=con_forged&%65rror=forged&c%6Fnnect=waiting',
    '/?connection_id=con_forged&connection_id=con_forged&error&error=',
  ]
  for (const path of paths) {
    const judged = judgeRedirectAfter(path, baseUrl)
    assert.equal(landing(baseUrl, judged, { error: 'wrong_user' }), 'https://sallyport.example/?error=wrong_user')
    const connected = landing(baseUrl, judged, { connection_id: 'con_1' })
    assert.equal(connected, 'https://sallyport.example/?connection_id=con_1')
  }
})
