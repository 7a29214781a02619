import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StandingConnection, StandingProvider } from '../grants/standing.ts'
import { Secret } from '../platform/secret.ts'
import { bearerInjection } from '../providers/provider.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import { createRedactor } from '../redaction/redactor.ts'
import { createCredentials } from './credentials.ts'

const provider: StandingProvider = {
  ...{ slug: 'acme', status: 'active', source: 'admin', preset: null, apiHosts: [], injection: bearerInjection },
  authMethods: [oauth2Method],
  ...{ metadata: { issuer: 'https://login.acme.example' }, allowRange: false, sealedClientSecret: null },
}
const now = new Date()
const connectionAt = (connectionId: string, version: number): StandingConnection => ({
  ...{
    connectionId,
    version,
    userId: 'usr',
    authMethod: 'oauth2',
    status: 'active',
    apiHost: null,
    expiresAt: null,
    obtainedAt: now,
  },
  ...{ isRefreshed: true, refreshLeaseUntil: null, lastUsedAt: null },
})
const tokenOf = (connectionId: string, version: number) => `token-of-${connectionId}-version-${version}`

test('a token refreshed during a call is redacted in its response', async () => {
  let version = 1
  const credentialOf = createCredentials({
    freshToken: (connectionId) => {
      const accessToken = new Secret(tokenOf(connectionId, version))
      return Promise.resolve({ accessToken, version, secrets: [accessToken] })
    },
    entered: () => Promise.reject(new Error('it is not entered')),
    clock: () => now,
  })
  const open = (connectionId: string) => credentialOf(connectionAt(connectionId, version), provider)
  const { forms, newestForms } = await open('first')
  for (let other = 1; other < 10_000; other++) await open(`other-${other}`)
  version = 2
  await open('first')
  await open('one-more')
  assert.equal(createRedactor(forms, newestForms).text(tokenOf('first', 2)), '[REDACTED]')
})
