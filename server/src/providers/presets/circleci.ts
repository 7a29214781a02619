import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'circleci.com'

export const circleci: Preset = {
  id: 'circleci',
  name: 'CircleCI',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In the user settings, open Personal API Tokens, and create a token with an expiry date and the access that the agent needs.',
      inject: [{ in: 'header', name: 'circle-token', template: '{api_key}' }],
      check: { url: 'https://circleci.com/api/v2/me', account: { id: 'id', labels: ['login', 'name'] } },
      env: ['CIRCLECI_CLI_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/graphql-unstable' },
    { host, path: '/api/*/user/**/token' },
    { host, path: '/api/*/user/ssh-key', methods: writes },
    { host, path: '/api/**/checkout-key', methods: writes },
    { host, path: '/api/**/ssh-key', methods: writes },
    { host, path: '/api/**/ssh-users', methods: writes },
    { host, path: '/api/*/project/**/token' },
    // Reading hides the values. Setting one changes what a job trusts.
    { host, path: '/api/**/envvar', methods: writes },
    { host, path: '/api/*/context', methods: writes },
    { host, path: '/api/*/webhook', methods: writes },
    { host, path: '/api/**/schedule', methods: writes },
    { host, path: '/api/*/runner' },
    { host, path: '/api/*/org/**/oidc-custom-claims', methods: writes },
    { host, path: '/api/*/org/**/url-orb-allow-list', methods: writes },
  ],
  bodyChecks: [],
  docs: [
    'https://circleci.com/docs/managing-api-tokens/',
    'https://circleci.com/docs/guides/toolkit/api-developers-guide',
  ],
}
