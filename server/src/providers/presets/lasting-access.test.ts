/** Checks presets with testkit/lasting-access.ts, like the proxy: by host, not by the preset's own list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callsIn, lastingAccess } from '../../../testkit/lasting-access.ts'
import { judgeCall } from '../../../testkit/policies.ts'
import { matchesRule } from './api-path.ts'
import { presets } from './catalogue.ts'
import { readingsOf } from './path-readings.ts'
import { presetRulesAt } from './preset-rules.ts'

/** Other notations of the same path that some servers accept. */
const writings: Record<string, (path: string) => string> = {
  'as it is': (path) => path,
  'in capitals': (path) => path.toUpperCase(),
  'with a slash behind it': (path) => `${path}/`,
  'with doubled slashes': (path) => path.replaceAll('/', '//'),
  'with something below it': (path) => `${path}/x`,
  'through a folder and back': (path) => `/x/..${path}`,
  'through the folder it is in': (path) => path.replace(/\/([^/]+)$/, '/./$1'),
  'with an escaped letter': (path) => path.replace(/[a-z](?=[^/]*$)/i, (letter) => `%${hexOf(letter)}`),
  'with an escape escaped': (path) => path.replace(/[a-z](?=[^/]*$)/i, (letter) => `%25${hexOf(letter)}`),
  'with escaped slashes': (path) => `/${path.slice(1).replaceAll('/', '%2F')}`,
  'with backslashes': (path) => path.replaceAll('/', '\\'),
  'with a parameter': (path) => `${path};v=1`,
}

function hexOf(letter: string): string {
  return letter.charCodeAt(0).toString(16)
}

function isRefused(host: string, method: string, path: string): boolean {
  const readings = readingsOf(path.split('?')[0] ?? '')
  return presetRulesAt(host, null).credentials.some((rule) => matchesRule(rule, readings, [method]))
}

for (const { id } of presets.filter(({ id, oauth }) => oauth ?? lastingAccess[id])) {
  test(`${id}: calls that outlive the grant are refused in every notation, others are not`, () => {
    const ofPreset = lastingAccess[id] ?? []
    assert.ok(ofPreset.length > 0)
    for (const { host, refused, exactly = '', allowed } of ofPreset) {
      for (const [method, path] of callsIn(exactly))
        assert.ok(isRefused(host, method, path), `${method} ${host}${path}`)
      for (const [method, path] of callsIn(refused))
        for (const [name, written] of Object.entries(writings))
          assert.ok(isRefused(host, method, written(path)), `${method} ${host}${written(path)} ${name}`)
      assert.ok(callsIn(allowed).length > 0)
      for (const [method, path] of callsIn(allowed))
        assert.ok(!isRefused(host, method, path), `${method} ${host}${path}`)
    }
  })
}

test('the rules also apply to self-hosted servers, below their API root too', () => {
  const onOwn = (presetId: string, method: string, path: string) =>
    presetRulesAt('git.example.com', presetId).credentials.some((rule) => matchesRule(rule, readingsOf(path), [method]))
  for (const root of ['', '/api/v3']) {
    assert.ok(onOwn('github', 'POST', `${root}/hub`))
    assert.ok(onOwn('github', 'PUT', `${root}/repos/o/r/collaborators/u`))
    assert.ok(!onOwn('github', 'POST', `${root}/repos/o/r/issues`))
  }
  assert.ok(onOwn('gitlab', 'GET', '/api/v4/projects/1/secure_files/1/download'))
  assert.ok(!onOwn('gitlab', 'GET', '/api/v4/projects/1/issues'))
})

/** GraphQL: no mutation or field does what the REST rules above refuse. */
const fields: Record<string, { url: string; refused: string[]; allowed: string[] }> = {
  github: {
    url: 'https://api.github.com/graphql',
    refused: [
      'mutation { inviteEnterpriseAdmin(input: {email: "a@example.com"}) { clientMutationId } }',
      'mutation { updateTeamsRepository(input: {}) { clientMutationId } }',
      'query { repository(owner: "o", name: "r") { tempCloneToken } }',
      'mutation { m: startRepositoryMigration(input: {}) { clientMutationId } }',
    ],
    allowed: ['{ viewer { login } }', 'mutation { addComment(input: {body: "see the hub"}) { clientMutationId } }'],
  },
  linear: {
    url: 'https://api.linear.app/graphql',
    refused: [
      'mutation { webhookCreate(input: {url: "https://evil.example"}) { success } }',
      'mutation { organizationInviteCreate(input: {email: "a@example.com"}) { success } }',
      'mutation { oauthApplicationRotateSecret(id: "1") { success } }',
      'mutation { integrationSlackPost(code: "x") { success } }',
      'mutation { emailIntakeAddressCreate(input: {}) { success } }',
      'mutation { integrationMcpServerConnect(serverUrl: "https://evil.example") { success } }',
    ],
    allowed: [
      'mutation { issueCreate(input: {title: "webhooks"}) { success } }',
      '{ integrations { nodes { id service } } webhooks { nodes { id } } }',
      'mutation { issueShare(id: "1") { success } }',
    ],
  },
  shopify: {
    url: 'https://ada.myshopify.com/admin/api/2026-10/graphql.json',
    refused: [
      'mutation { webhookSubscriptionCreate(topic: ORDERS_CREATE, webhookSubscription: {}) { userErrors { message } } }',
      'mutation { storefrontAccessTokenCreate(input: {title: "t"}) { storefrontAccessToken { accessToken } } }',
      '{ shop { storefrontAccessTokens(first: 1) { nodes { accessToken } } } }',
      'mutation { bulkOperationRunQuery(query: "{ shop { id } }") { bulkOperation { id } } }',
      'mutation { customerGenerateAccountActivationUrl(customerId: "1") { accountActivationUrl } }',
    ],
    allowed: [
      '{ products(first: 5) { nodes { title } } webhookSubscriptions(first: 5) { nodes { id } } }',
      'mutation { productUpdate(product: {id: "1", title: "webhook"}) { product { id } } }',
    ],
  },
}

test('shopify: paths without a version are those of the oldest one', () => {
  const body = '{"query":"mutation { webhookSubscriptionCreate(topic: ORDERS_CREATE) { userErrors { message } } }"}'
  const headers: [string, string][] = [['content-type', 'application/json']]
  for (const path of ['/admin/api/graphql.json', '/admin/graphql.json', '/admin/api/unstable/graphql.json']) {
    const call = () => {
      judgeCall(`https://ada.myshopify.com${path}`, { headers, body })
    }
    assert.throws(call, { code: 'credential_endpoint' }, path)
  }
  for (const path of ['/admin/webhooks.json', '/admin/api/webhooks.json', '/admin/mobile_platform_applications.json']) {
    const call = () => {
      judgeCall(`https://ada.myshopify.com${path}`, { headers, body: '{}' })
    }
    assert.throws(call, { code: 'credential_endpoint' }, path)
  }
})

for (const [id, { url, refused, allowed }] of Object.entries(fields)) {
  test(`${id}: mutations that grant lasting access and persisted queries are refused`, () => {
    const send = (request: object) => () => {
      const headers: [string, string][] = [['content-type', 'application/json']]
      judgeCall(url, { headers, body: JSON.stringify(request) })
    }
    const isIt = { code: 'credential_endpoint' }
    for (const query of refused) assert.throws(send({ query }), isIt, query)
    for (const query of allowed) assert.doesNotThrow(send({ query }), query)
    assert.throws(send({ extensions: { persistedQuery: { version: 1, sha256Hash: 'ab' } } }), isIt)
  })
}
