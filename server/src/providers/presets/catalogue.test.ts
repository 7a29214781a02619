import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getDomain, getPublicSuffix } from 'tldts'
import { Value } from 'typebox/value'
import { matchesHost } from '../api-hosts.ts'
import { authKindOf, isFormMethod } from '../auth-kinds/auth-kind.ts'
import { hostMember } from '../auth-method.ts'
import type { AuthMethod } from '../auth-method.ts'
import { presetMethods } from '../preset-methods.ts'
import { readAuthMethods } from '../read-auth-methods.ts'
import { assertTenantsAreNamed, readProviderHosts } from '../tenant-hosts.ts'
import { findPreset, presets } from './catalogue.ts'
import { resemblesPreset } from './look-alikes.ts'
import { isGraphqlPath } from './preset-rules.ts'
import { PresetSchema } from './preset.ts'
import type { Preset, PresetOAuth } from './preset.ts'

const withPrivate = { allowPrivateDomains: true }

function endpointsOf({ oauth, tokenUrl }: Preset): string[] {
  const urls = oauth && [
    ...[oauth.authorizationUrl, oauth.tokenUrl, oauth.dialect?.refreshEndpoint],
    ...[oauth.deviceAuthorizationUrl, oauth.revocationUrl, oauth.userinfoUrl],
  ]
  return [...(urls ?? []), tokenUrl].filter((url) => url !== undefined)
}

test('each preset has a slug of its own, and no name or variable of another one', () => {
  const ids = presets.map(({ id }) => id)
  assert.deepEqual(ids, [...new Set(ids)].sort())
  for (const preset of presets) {
    const { id, name, otherNames = [] } = preset
    assert.equal(findPreset(id), preset)
    for (const own of [id, name, ...otherNames]) assert.equal(resemblesPreset(own)?.id, id, own)
  }
  assert.equal(findPreset('GitHub'), undefined)
  assert.equal(findPreset('__proto__'), undefined)
  const owners = new Map<string, string>()
  for (const { id, authMethods } of presets) {
    for (const variable of authMethods.flatMap(({ env = [] }) => env)) {
      assert.equal(owners.get(variable) ?? id, id, variable)
      owners.set(variable, id)
    }
  }
})

for (const preset of presets) {
  const { oauth, apiHosts, authMethods } = preset
  const isApiHost = (host: string) => apiHosts.some((entry) => matchesHost(entry, host))

  test(`${preset.id}: it has the schema, and is data alone`, () => {
    assert.deepEqual(Value.Errors(PresetSchema, preset), [])
    assert.deepEqual(JSON.parse(JSON.stringify(preset)), preset)
    assert.equal(
      authMethods.some(({ kind }) => kind === 'oauth2'),
      oauth !== undefined,
    )
    assert.ok(!oauth || preset.docs.length >= 3)
  })

  test(`${preset.id}: its URLs are canonical https URLs without query or fragment`, () => {
    const account = oauth?.account.from === 'request' ? [oauth.account.url] : []
    const discovery = oauth?.discoveryUrl ? [oauth.discoveryUrl] : []
    for (const text of [...endpointsOf(preset), ...account, ...discovery, ...preset.docs]) {
      const url = new URL(text)
      assert.equal(url.href, text)
      assert.equal(url.username + url.password + url.hash + url.port, '', text)
      if (!preset.docs.includes(text)) assert.equal(url.search, '')
    }
    if (oauth) assert.equal(new URL(oauth.issuerUrl).href.replace(/\/$/, ''), oauth.issuerUrl)
  })

  test(`${preset.id}: its endpoints are in the issuer's or the API's domain`, () => {
    const issuer = oauth ? [new URL(oauth.issuerUrl).hostname] : []
    const known = new Set([...issuer, ...apiHosts.map((host) => host.replace('*.', ''))].map(registrable))
    if (preset.id.startsWith('google')) known.add('oauth2.googleapis.com')
    for (const url of endpointsOf(preset)) assert.ok(known.has(registrable(new URL(url).hostname)), url)
    if (oauth?.discoveryUrl)
      assert.equal(registrable(new URL(oauth.discoveryUrl).hostname), registrable(new URL(oauth.issuerUrl).hostname))
  })

  test(`${preset.id}: credentials go to specific hosts, never to a whole public suffix`, () => {
    assert.deepEqual(readProviderHosts(apiHosts), apiHosts)
    // The only wildcards over a suffix are those where each credential goes to one host.
    assertTenantsAreNamed(apiHosts, authMethods)
    for (const host of apiHosts) {
      assert.match(host, /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/)
      const base = host.replace('*.', 'tenant.')
      assert.notEqual(getPublicSuffix(base, withPrivate), base)
      assert.notEqual(getDomain(base, withPrivate), null)
    }
  })

  test(`${preset.id}: where every tenant has a host, each method says which one`, () => {
    assert.deepEqual(methodsForAnyTenant(preset), [])
  })

  test(`${preset.id}: an admin could give its methods in the same words, and people know where to get them`, () => {
    for (const method of formsOf(preset)) {
      assert.ok((method.help ?? '').length >= 20, method.name)
      for (const { label, name } of method.members)
        assert.ok(label !== null || method.members.length === 1 || method.kind !== 'api_key', name)
    }
    const isMinted = authMethods.some(
      ({ kind, token_url }) => kind !== 'oauth2' && token_url === undefined && authKindOf(kind).tokenUrl !== undefined,
    )
    // A provider has one token endpoint, and OAuth's precedes.
    assert.equal(preset.tokenUrl !== undefined, isMinted && !oauth)
  })

  test(`${preset.id}: the account is read from a host that may get the token`, () => {
    if (!oauth) return
    const { account, defaultScopes }: PresetOAuth = oauth
    if (account.from === 'id_token') assert.ok(defaultScopes.includes('openid'))
    if (account.from !== 'request') return
    assert.ok(isApiHost(new URL(account.url).hostname))
    assert.ok(account.body === undefined || (account.method === 'POST' && JSON.parse(account.body) !== undefined))
  })

  test(`${preset.id}: its paths are on hosts that get the credential, and bodies are inspected where calls can hide`, () => {
    const { batchPaths = [], queryPaths = [], credentialFields = [], bodyChecks } = preset
    const credentialPaths = typeof preset.credentialPaths === 'string' ? [] : preset.credentialPaths
    for (const { host, path } of [...batchPaths, ...queryPaths, ...credentialPaths])
      assert.ok(
        apiHosts.some((api) => api === host || matchesHost(host, api) || matchesHost(api, host)),
        `${host}${path}`,
      )
    const entries = credentialPaths.map(({ host, path }) => `${host}${path}`)
    assert.equal(new Set(entries).size, entries.length)
    assert.equal(bodyChecks.includes('batch') || bodyChecks.includes('graphql'), batchPaths.length > 0)
    assert.equal(bodyChecks.includes('graphql'), batchPaths.some(isGraphqlPath))
    assert.ok(credentialFields.length === 0 || batchPaths.length + queryPaths.length > 0)
  })
}

test('a wildcard without a member or an answer that names the host is found', () => {
  const { zendesk, salesforce, shopify } = Object.fromEntries(presets.map((preset) => [preset.id, preset]))
  assert.ok(zendesk && salesforce?.oauth && shopify)
  const { apiHostFrom, ...oauth } = salesforce.oauth
  assert.equal(apiHostFrom, 'instance_url')
  assert.deepEqual(methodsForAnyTenant({ ...salesforce, oauth }), ['oauth2'])
  const unbound = {
    kind: 'api_key' as const,
    help: 'Create a key in the settings.',
    inject: [{ in: 'header' as const, name: 'authorization', template: 'Bearer {api_key}' }],
  }
  assert.deepEqual(methodsForAnyTenant({ ...zendesk, authMethods: [unbound] }), ['api_key'])
  assert.throws(() => {
    assertTenantsAreNamed(shopify.apiHosts, [{ ...unbound, members: [] }])
  }, /would cover hosts of other organizations/)
})

/** Ways in which a credential could reach every host of a wildcard. */
function methodsForAnyTenant(preset: Preset): string[] {
  const { apiHosts, oauth } = preset
  if (!apiHosts.some(isWildcard)) return []
  const isBound = (method: AuthMethod) => hostMember(method) ?? method.signs ?? isForExactHosts(method)
  const forms = formsOf(preset).filter((method) => isBound(method) === false)
  return [...(oauth && oauth.apiHostFrom === undefined ? ['oauth2'] : []), ...forms.map(({ name }) => name)]
}

/** Its methods that people enter credentials for, checked as if an admin had given them. */
function formsOf(preset: Preset): AuthMethod[] {
  return readAuthMethods(presetMethods(preset, preset.apiHosts), preset.apiHosts).filter(isFormMethod)
}

function isForExactHosts({ inject }: AuthMethod): boolean {
  return inject.length > 0 && inject.every(({ hosts }) => hosts && !hosts.some(isWildcard))
}

function isWildcard(host: string): boolean {
  return host.startsWith('*.')
}

/** A name that is itself a public suffix stands for itself. */
function registrable(host: string): string {
  return getDomain(host, withPrivate) ?? host
}
