import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../platform/secret.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import { bearerInjection } from '../providers/provider.ts'
import type { Provider } from '../providers/provider.ts'
import { accountHost } from './account-host.ts'

const now = new Date()
const salesforce: Provider = {
  providerId: 'prv_1',
  slug: 'salesforce',
  name: 'Salesforce',
  source: 'preset',
  preset: 'salesforce',
  proposedBy: null,
  status: 'active',
  metadata: { issuer: 'https://login.salesforce.com' },
  discoveryUrl: null,
  scopes: [],
  apiHosts: ['*.my.salesforce.com'],
  authMethods: [oauth2Method],
  clientId: 'a',
  authMethod: 'client_secret_post',
  authorizationParams: {},
  injection: bearerInjection,
  allowRange: false,
  registrationError: null,
  createdAt: now,
  updatedAt: now,
}
const answering = (extra: Record<string, unknown>) => ({
  accessToken: new Secret('a'.repeat(20)),
  refreshToken: undefined,
  expiresInSeconds: undefined,
  scopes: undefined,
  claims: undefined,
  extra,
})

test("an account's token goes only to the host that the provider named for it", () => {
  const host = accountHost(salesforce, answering({ instance_url: 'https://acme.my.salesforce.com' }))
  assert.equal(host, 'acme.my.salesforce.com')
  assert.equal(accountHost({ ...salesforce, preset: null }, answering({})), null)
})

test('a missing or foreign host is an invalid response', () => {
  const refused = [
    undefined,
    1,
    '',
    'acme.my.salesforce.com',
    'http://acme.my.salesforce.com',
    'https://evil.example',
    'https://my.salesforce.com',
    'https://acme.my.salesforce.com.evil.example',
    'https://acme.my.salesforce.com:8443',
  ]
  for (const instance_url of refused) {
    assert.throws(() => accountHost(salesforce, answering({ instance_url })), { code: 'invalid_response' })
  }
})
