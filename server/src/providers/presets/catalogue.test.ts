import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getDomain, getPublicSuffix } from 'tldts'
import { matchesHost } from '../api-hosts.ts'
import { findPreset, presets } from './catalogue.ts'
import type { Preset } from './preset.ts'

const withPrivate = { allowPrivateDomains: true }

function endpointsOf(preset: Preset): string[] {
  const { authorizationUrl, tokenUrl, deviceAuthorizationUrl, revocationUrl, userinfoUrl, dialect } = preset
  const optional = [dialect?.refreshEndpoint, deviceAuthorizationUrl, revocationUrl, userinfoUrl]
  return [authorizationUrl, tokenUrl, ...optional.filter((url) => url !== undefined)]
}

test('each preset has a unique slug', () => {
  const ids = presets.map(({ id }) => id)
  assert.deepEqual(ids, [...new Set(ids)].sort())
  assert.equal(new Set(presets.map(({ name }) => name)).size, ids.length)
  for (const preset of presets) {
    assert.match(preset.id, /^[a-z0-9-]{1,40}$/)
    assert.equal(findPreset(preset.id), preset)
  }
  assert.equal(findPreset('GitHub'), undefined)
  assert.equal(findPreset('__proto__'), undefined)
  assert.equal(ids.length, 16)
})

for (const preset of presets) {
  test(`${preset.id}: its URLs are canonical https URLs without query or fragment`, () => {
    const account = preset.account.from === 'request' ? [preset.account.url] : []
    const discovery = preset.discoveryUrl ? [preset.discoveryUrl] : []
    for (const text of [...endpointsOf(preset), ...account, ...discovery, ...preset.docs]) {
      const url = new URL(text)
      assert.equal(url.href, text)
      assert.equal(url.protocol, 'https:')
      assert.equal(url.username + url.password + url.hash + url.port, '', text)
      if (!preset.docs.includes(text)) assert.equal(url.search, '')
    }
    assert.equal(new URL(preset.issuerUrl).href.replace(/\/$/, ''), preset.issuerUrl)
    assert.ok(preset.docs.length >= 3)
  })

  test(`${preset.id}: its endpoints are in the issuer's or the API's domain`, () => {
    const domains = [new URL(preset.issuerUrl).hostname, ...preset.apiHosts.map((host) => host.replace('*.', ''))]
    const known = new Set(domains.map((host) => registrable(host)))
    if (preset.id === 'google') known.add('oauth2.googleapis.com')
    for (const url of endpointsOf(preset)) assert.ok(known.has(registrable(new URL(url).hostname)), url)
    for (const url of preset.discoveryUrl ? [preset.discoveryUrl] : [])
      assert.equal(registrable(new URL(url).hostname), registrable(new URL(preset.issuerUrl).hostname))
  })

  test(`${preset.id}: the token goes to specific hosts, never to a whole public suffix`, () => {
    assert.ok(preset.apiHosts.length > 0)
    for (const host of preset.apiHosts) {
      assert.match(host, /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/)
      const base = host.replace('*.', '')
      assert.notEqual(getPublicSuffix(base, withPrivate), base)
      assert.notEqual(getDomain(base, withPrivate), null)
    }
    assert.ok(!preset.apiHosts.some((host) => host.startsWith('*.')) || preset.apiHostFrom !== undefined)
  })

  test(`${preset.id}: the account is read from a host that may get the token`, () => {
    const { account } = preset
    for (const path of [account.id, ...account.labels, ...(account.within ? [account.within] : [])])
      assert.match(path, /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/)
    assert.ok(account.labels.length > 0)
    if (account.from === 'id_token') {
      assert.ok(preset.defaultScopes.includes('openid'))
    }
    if (account.from !== 'request') return
    const { hostname } = new URL(account.url)
    assert.ok(preset.apiHosts.some((host) => matchesHost(host, hostname)))
    assert.ok(account.body === undefined || (account.method === 'POST' && JSON.parse(account.body) !== undefined))
  })

  test(`${preset.id}: its paths are valid and on hosts that get the token`, () => {
    for (const { host, path } of [...preset.batchPaths, ...preset.credentialPaths]) {
      assert.ok(
        preset.apiHosts.some((api) => api === host || matchesHost(host, api)),
        `${host}${path}`,
      )
      assert.match(path, /^(?:\/[\w.@$*:-]+)+$/)
    }
    const entries = preset.credentialPaths.map(({ host, path }) => `${host}${path}`)
    assert.equal(new Set(entries).size, entries.length)
  })
}

/** A name that is itself a public suffix stands for itself. */
function registrable(host: string): string {
  return getDomain(host, withPrivate) ?? host
}
