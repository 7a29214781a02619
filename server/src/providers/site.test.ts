import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertOneSite, siteOf } from './site.ts'

test('a site is the registrable domain, also below private public suffixes', () => {
  const sites: [string, string][] = [
    ['https://login.acme.com', 'acme.com'],
    ['https://acme.co.uk', 'acme.co.uk'],
    ['https://a.b.acme.co.uk:8443', 'acme.co.uk'],
    ['https://ada.github.io', 'ada.github.io'],
    ['https://x.ada.github.io', 'ada.github.io'],
    ['https://bucket.s3.amazonaws.com', 'bucket.s3.amazonaws.com'],
  ]
  for (const [url, site] of sites) assert.equal(siteOf(new URL(url)), site, url)
})

test('an address, a single label and a suffix are their own site, with their port', () => {
  for (const host of ['localhost:8443', '192.0.2.1', '192.0.2.1:8443', '[2001:db8::1]:8443', 'github.io', 'intranet']) {
    assert.equal(siteOf(new URL(`https://${host}`)), host)
  }
})

test('the first URL of another site is reported', () => {
  const urls = (...hosts: string[]) =>
    hosts.map((host, index) => ({ url: new URL(`https://${host}`), field: `${index}` }))
  assertOneSite([])
  assertOneSite(urls('a.acme.com', 'acme.com', 'b.acme.com'))
  const refuses = (field: string, ...hosts: string[]) => {
    assert.throws(
      () => {
        assertOneSite(urls(...hosts))
      },
      { code: 'invalid_field', field },
    )
  }
  refuses('1', 'acme.com', 'evil.com', 'acme.com')
  refuses('2', 'acme.com', 'www.acme.com', 'acme.com.evil.com')
  refuses('1', 'acme.com', 'notacme.com')
  refuses('1', 'ada.github.io', 'eve.github.io')
  refuses('1', 'localhost:1000', 'localhost:1001')
  refuses('1', '192.0.2.1', '192.0.2.2')
})
