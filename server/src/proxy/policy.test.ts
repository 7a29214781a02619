import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultTerms } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { ServiceError } from '../platform/errors.ts'
import { judgeUrl } from './destination.ts'
import { assertMayCall } from './policy.ts'
import type { ProviderRules } from './policy.ts'
import type { HeaderList } from './upstream.ts'

const now = new Date('2026-11-15T12:00:00.000Z')
const grant: Grant = {
  grantId: 'grt_1',
  agentId: 'agt_1',
  kind: 'connection',
  userId: 'usr_1',
  connectionId: 'con_1',
  accessRequestId: 'arq_1',
  allowedHosts: ['api.example.com', 'api.example.com:8443', '*.cdn.example.com', '192.0.2.7:8443', '[2001:db8::7]'],
  allowedMethods: null,
  allowedPaths: null,
  maxCalls: null,
  calls: 0,
  lastUsedAt: null,
  createdAt: now,
  expiresAt: null,
  revokedAt: null,
  revokedBy: null,
  isCutOff: false,
  isPaused: false,
  termsVersion: 1,
  ...defaultTerms,
}
const rules: ProviderRules = {
  metadata: {
    issuer: 'https://auth.example.com',
    authorization_endpoint: 'https://auth.example.com/authorize',
    token_endpoint: 'https://api.example.com/oauth/token.php',
    device_authorization_endpoint: 'https://api.example.com/oauth/device',
    pushed_authorization_request_endpoint: 'https://api.example.com/par',
    revocation_endpoint: 'https://api.example.com/oauth/revoke',
    introspection_endpoint: 'https://api.example.com:8443/introspect',
    registration_endpoint: 'https://api.example.com/%72egister',
    userinfo_endpoint: 'https://api.example.com/userinfo',
  },
  preset: null,
  apiHosts: ['*.example.com', '*.example.com:8443', '192.0.2.7:8443', '[2001:db8::7]'],
  apiHost: null,
  allowRange: false,
}

interface Told {
  method?: string
  headers?: HeaderList
  body?: string | Buffer
  grant?: Partial<Grant>
  rules?: Partial<ProviderRules>
}

function judge(url: string, told: Told): void {
  const { method = 'GET', headers = [], body } = told
  const call = {
    destination: judgeUrl(url, undefined),
    method,
    headers,
    body: body === undefined ? body : Buffer.from(body),
  }
  assertMayCall({ ...grant, ...told.grant }, { ...rules, ...told.rules }, call)
}

function allows(url: string, told: Told = {}): void {
  assert.doesNotThrow(
    () => {
      judge(url, told)
    },
    `${url} ${JSON.stringify(told)}`,
  )
}

function refuses(url: string, code: string, told: Told = {}, field: string | null = 'url'): void {
  const isIt = (error: ServiceError) => error.code === code && error.field === (field ?? undefined)
  assert.throws(
    () => {
      judge(url, told)
    },
    isIt,
    `${url} ${JSON.stringify(told)}`,
  )
}

const api = 'https://api.example.com'

test('a call is allowed by grant, provider and account together', () => {
  allows(`${api}/v1/mail`)
  allows(`${api}:443/v1/mail`)
  allows(`${api}:8443/v1/mail`)
  allows('https://a.b.cdn.example.com/')
  allows('https://192.0.2.7:8443/')
  allows('https://[2001:db8::7]/')
  allows(`${api}/`, { rules: { apiHost: 'api.example.com' } })
  for (const host of ['other.example.com', 'cdn.example.com', 'api.example.com.evil.example', 'localhost']) {
    refuses(`https://${host}/`, 'host_not_allowed')
  }
  refuses(`${api}/`, 'host_not_allowed', { rules: { apiHosts: ['files.example.com'] } })
  refuses(`${api}/`, 'host_not_allowed', { rules: { apiHost: 'eu.example.com' } })
  refuses('https://eu.cdn.example.com/', 'host_not_allowed', { rules: { apiHost: 'api.example.com' } })
})

test('an unlisted port or address is refused', () => {
  for (const port of ['9443', '80', '8080']) refuses(`${api}:${port}/`, 'invalid_url')
  refuses('https://a.cdn.example.com:8443/', 'invalid_url')
  for (const host of ['192.0.2.8:8443', '192.0.2.7', '127.0.0.1', '[::1]', '[2001:db8::7]:8443', '169.254.169.254']) {
    refuses(`https://${host}/`, 'invalid_url')
  }
})

test("the provider's own endpoints for credentials are never called", () => {
  const paths = [
    '/oauth/token.php',
    '/oauth/device',
    '/par',
    '/oauth/revoke',
    '/introspect',
    '/register',
    '/register/client1',
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'OPTIONS', 'X']) refuses(`${api}${path}`, 'credential_endpoint', { method })
    refuses(`${api}:8443${path}?grant_type=refresh_token`, 'credential_endpoint')
  }
  refuses('https://auth.example.com/authorize', 'credential_endpoint', { grant: { allowedHosts: ['*.example.com'] } })
  allows(`${api}/userinfo`)
  allows(`${api}/oauth/tokens`)
  allows(`${api}/oauth`)
  allows(`${api}/v2/par`)
})

test('no notation of such an endpoint is allowed', () => {
  for (const path of [
    '/oauth/token.php/',
    '//oauth//token.php',
    '/OAuth/TOKEN.php',
    '/oauth/token.php/anything',
    '/oauth/%74oken.php',
    '/oauth%2ftoken.php',
    '/oauth%5Ctoken.php',
    '/oauth/%2574oken.php',
    '/oauth/token.php%00',
    '/oauth/token.php%20',
    '/oauth/token.php;a=b',
    '/oauth;x/token.php',
    '/oauth/token.php%3Fa',
    '/x/..%2foauth/token.php',
    '/x/..;/oauth/token.php',
    '/x/%252e%252e/oauth/token.php',
    '/oauth/./token.php',
    '/oauth/%ef%bd%94oken.php',
    '/oauth%c0%aftoken.php',
    '/oauth/token.php.json',
  ]) {
    refuses(`${api}${path}`, 'credential_endpoint', { method: 'POST' })
  }
})

test('the same path at another host of the provider is refused too', () => {
  const told: Told = { grant: { allowedHosts: ['*.example.com'] }, method: 'POST' }
  refuses('https://eu.example.com/oauth/token.php', 'credential_endpoint', told)
  refuses('https://eu.example.com/oauth%2Frevoke', 'credential_endpoint', told)
  allows('https://eu.example.com/par/below', told)
})

test('an endpoint at the root matches only the root', () => {
  const root = { metadata: { issuer: api, token_endpoint: `${api}/` } }
  for (const path of ['', '/', '//', '/./', '/%2e', '/.%2f'])
    refuses(`${api}${path}`, 'credential_endpoint', { rules: root })
  allows(`${api}/v1`, { rules: root })
  allows('https://a.cdn.example.com/', { rules: root })
})

const github: Told = {
  grant: { allowedHosts: ['api.github.com'] },
  rules: { apiHosts: ['api.github.com'], preset: 'github' },
}

test("a preset's credential paths are never called, through any provider", () => {
  for (const preset of ['github', 'google', null]) {
    const told = { ...github, rules: { ...github.rules, preset } }
    refuses('https://api.github.com/user/keys', 'credential_endpoint', told)
    refuses('https://api.github.com/repos/a/b/keys', 'credential_endpoint', { ...told, method: 'POST' })
    allows('https://api.github.com/user/repos', told)
  }
})

test('a self-hosted server has the path rules of its preset', () => {
  const told: Told = { rules: { preset: 'github' } }
  refuses(`${api}/user/keys`, 'credential_endpoint', told)
  refuses(`${api}/api/v3/user/keys`, 'credential_endpoint', told)
  allows(`${api}/api/v3/user`, told)
  allows(`${api}/user/keys`)
  refuses(`${api}/api/graphql`, 'path_not_allowed', { ...told, method: 'POST', grant: { allowedMethods: ['POST'] } })
})

test('a method override counts for credential paths', () => {
  const emails = 'https://api.github.com/user/emails'
  allows(emails, github)
  refuses(emails, 'credential_endpoint', { ...github, method: 'POST' })
  refuses(emails, 'credential_endpoint', { ...github, headers: [['x-http-method-override', 'post']] })
  refuses(`${emails}?_method=PUT`, 'credential_endpoint', github)
})

test("a grant's limits of methods and paths apply", () => {
  const limited: Told = { grant: { allowedMethods: ['GET', 'POST'], allowedPaths: ['/v1/mail'] } }
  allows(`${api}/v1/mail/7`, limited)
  refuses(`${api}/v1/mail/7`, 'method_not_allowed', { ...limited, method: 'DELETE' }, 'method')
  for (const path of [
    '/v1/mailbox',
    '/v1/mail/..%2fadmin',
    '/v1/mail/%2e%2e/admin',
    '/v1/mail//admin',
    '/v1/mail/%252e%252e/x',
  ]) {
    refuses(`${api}${path}`, 'path_not_allowed', limited)
  }
  refuses(
    `${api}/v1/mail`,
    'path_not_allowed',
    { ...limited, headers: [['destination', '/v1/x']] },
    'headers.destination',
  )
  for (const name of ['x-goog-copy-source', 'x-amz-copy-source', 'x-ms-rename-source', 'x-copy-from', 'X_Copy_From']) {
    const headers: HeaderList = [[name.toLowerCase(), '/v1/x']]
    refuses(`${api}/v1/mail`, 'path_not_allowed', { ...limited, headers }, `headers.${name.toLowerCase()}`)
  }
  allows(`${api}/v1/mail`, { headers: [['destination', '/v1/x']] })
})

test('an overriding method must be in the grant too', () => {
  const limited: Told = { method: 'POST', grant: { allowedMethods: ['POST', 'PATCH'] } }
  const form: HeaderList = [['content-type', 'application/x-www-form-urlencoded']]
  allows(`${api}/v1?_method=patch`, { ...limited, headers: [['x-http-method', 'PATCH']] })
  const refused: [string, Told][] = [
    ['?_method=DELETE', {}],
    ['', { headers: [['x-http-method-override', 'DELETE']] }],
    ['', { headers: form, body: 'a=1&_method=DELETE' }],
    ['?_method=nonsense', {}],
  ]
  for (const [query, told] of refused) {
    refuses(`${api}/v1${query}`, 'method_not_allowed', { ...limited, ...told }, 'method')
  }
  allows(`${api}/v1?_method=DELETE`, { method: 'POST' })
  refuses(`${api}/v1?_method=trace`, 'method_not_allowed', { method: 'POST' }, 'method')
  refuses(`${api}/v1?access_token=x`, 'invalid_field')
  refuses(`${api}/v1`, 'invalid_field', { method: 'POST', headers: form, body: 'access_token=x' }, 'body')
})

test('a batch is refused if methods or paths are limited', () => {
  const graphql = 'https://api.github.com/graphql'
  allows(graphql, { ...github, method: 'POST' })
  for (const limits of [{ allowedMethods: ['POST'] }, { allowedPaths: ['/graphql'] }, { allowedPaths: ['/'] }]) {
    for (const url of [
      graphql,
      `${graphql}/`,
      'https://api.github.com//GraphQL',
      'https://api.github.com/%67raphql.json',
    ]) {
      const told = { ...github, grant: { ...github.grant, ...limits }, method: 'POST' }
      refuses(url, 'path_not_allowed', told)
    }
  }
})

test('a query with a credential type is refused, whatever the grant allows', () => {
  const org = 'https://acme.my.salesforce.com/services/data/v62.0'
  const told = {
    grant: { allowedHosts: ['*.my.salesforce.com'] },
    rules: { preset: 'salesforce', apiHosts: ['*.my.salesforce.com'] },
  }
  for (const query of [
    `${org}/query?q=SELECT+AccessToken+FROM+OauthToken`,
    `${org}/query?q=SELECT%20AccessToken%20FROM%20%4fauthToken`,
    `${org}/queryAll/?q=SELECT+Id+FROM+oauthtoken`,
    `${org}/tooling/query?q=SELECT+Id+FROM+AuthProvider`,
    `${org}/search?q=FIND+%7Bx%7D+RETURNING+TwoFactorInfo(SharedKey)`,
  ]) {
    refuses(query, 'credential_endpoint', told)
  }
  const create = (apiName: string, headers: HeaderList = []) => ({
    ...told,
    method: 'POST',
    headers,
    body: JSON.stringify({ apiName, fields: {} }),
  })
  const searchFor = (name: string) => ({ ...create(''), body: JSON.stringify({ q: 'a', sobjects: [{ name }] }) })
  refuses(`${org}/ui-api/records`, 'credential_endpoint', create('PermissionSetAssignment'), 'body')
  refuses(`${org}/ui-api/records`, 'credential_endpoint', create('User'), 'body')
  refuses(
    `${org}/ui-api/records`,
    'credential_endpoint',
    create('Account', [['content-encoding', 'gzip']]),
    'headers.content-encoding',
  )
  refuses(`${org}/parameterizedSearch`, 'credential_endpoint', searchFor('OauthToken'), 'body')
  allows(`${org}/parameterizedSearch`, searchFor('Account'))
  allows(`${org}/ui-api/records`, create('Account'))
  // Unlike a batch, a query is one call, for which limits can be kept.
  const limited = { ...told, grant: { ...told.grant, allowedMethods: ['GET'] } }
  allows(`${org}/query?q=SELECT+Name+FROM+User`, limited)
  refuses(`${org}/query?q=SELECT+AccessToken+FROM+OauthToken`, 'credential_endpoint', limited)
})
