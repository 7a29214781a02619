import type { ApiPath } from './api-path.ts'
import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const apiHosts = ['sentry.io', 'us.sentry.io', 'de.sentry.io']

function atEach(path: string, methods?: readonly string[]): ApiPath[] {
  return apiHosts.map((host) => ({ host, path: `/api/0/${path}`, ...(methods && { methods }) }))
}

export const sentry: Preset = {
  id: 'sentry',
  name: 'Sentry',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In the organization settings, create an internal integration, and copy its token. Give it org:read, by which it is checked, and the scopes of what the agent does.',
      inject: [bearer],
      check: { url: 'https://sentry.io/api/0/organizations/' },
      env: ['SENTRY_AUTH_TOKEN'],
    },
  ],
  apiHosts,
  credentialPaths: [
    ...atEach('api-tokens'),
    ...atEach('api-applications'),
    ...atEach('auth'),
    ...atEach('authenticators'),
    ...atEach('users', writes),
    ...atEach('organizations/*/org-auth-tokens'),
    ...atEach('organizations/*/api-keys'),
    ...atEach('organizations/*/auth-provider', writes),
    ...atEach('organizations/*/members', writes),
    ...atEach('organizations/*/invite-requests', writes),
    ...atEach('organizations/*/access-requests', writes),
    ...atEach('organizations/*/scim'),
    ...atEach('organizations/*/integrations', writes),
    ...atEach('organizations/*/sentry-apps', writes),
    ...atEach('organizations/*/sentry-app-installations', writes),
    ...atEach('organizations/*/forwarding', writes),
    ...atEach('organizations/*/notifications/actions', writes),
    ...atEach('organizations/*/project-keys'),
    ...atEach('organizations/*/prevent/**/tokens'),
    ...atEach('organizations/*/prevent/**/token'),
    ...atEach('organizations/*/data-export'),
    ...atEach('sentry-apps', writes),
    ...atEach('sentry-apps/*/api-tokens'),
    ...atEach('sentry-app-installations', writes),
    ...atEach('projects/*/*/hooks'),
    ...atEach('projects/*/*/keys'),
    ...atEach('projects/*/*/tempest-credentials'),
    ...atEach('projects/*/*/plugins', writes),
    ...atEach('projects/*/*/transfer'),
    ...atEach('teams/*/*/members', writes),
  ],
  bodyChecks: [],
  docs: [
    'https://docs.sentry.io/api/guides/create-auth-token/',
    'https://docs.sentry.io/api/auth',
    'https://docs.sentry.io/account/auth-tokens',
  ],
}
