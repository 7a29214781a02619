import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.vercel.com'

export const vercel: Preset = {
  id: 'vercel',
  name: 'Vercel',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a token in the account settings under Tokens. Limit it to one team or project, and set an expiration date.',
      inject: [bearer],
      check: {
        url: 'https://api.vercel.com/v2/user',
        account: { id: 'user.id', labels: ['user.email', 'user.username'] },
      },
      env: ['VERCEL_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/*/user/tokens' },
    { host, path: '/*/integrations/sso' },
    { host, path: '/*/integrations/log-drains', methods: writes },
    { host, path: '/*/integrations/configuration', methods: writes },
    { host, path: '/*/integrations/installations', methods: writes },
    { host, path: '/*/log-drains', methods: writes },
    { host, path: '/*/drains', methods: writes },
    { host, path: '/*/webhooks', methods: writes },
    { host, path: '/*/connect', methods: writes },
    { host, path: '/*/kms' },
    { host, path: '/api-keys' },
    { host, path: '/*/api-keys' },
    // Values can be read, and a changed one is trusted by the next deployment.
    { host, path: '/*/env' },
    { host, path: '/*/projects/*/env' },
    { host, path: '/*/secrets' },
    // Anyone with its URL can start a deployment.
    { host, path: '/*/projects/*/deploy-hooks' },
    { host, path: '/*/projects/*/token' },
    { host, path: '/*/projects/*/protection-bypass' },
    { host, path: '/*/projects/*/feature-flags/sdk-keys' },
    { host, path: '/*/projects/*/members', methods: writes },
    { host, path: '/*/projects/*/transfer-request' },
    { host, path: '/*/projects/transfer-request' },
    { host, path: '/projects/*/transfer-request' },
    { host, path: '/projects/transfer-request' },
    // How its members sign in.
    { host, path: '/*/teams/*', methods: ['PATCH'], isExact: true },
    { host, path: '/*/teams/*/members', methods: writes },
    { host, path: '/*/teams/*/invites', methods: writes },
    { host, path: '/*/teams/*/request', methods: writes },
    { host, path: '/*/access-groups', methods: writes },
    { host, path: '/*/global-config/*/token' },
    { host, path: '/*/global-config/*/tokens' },
    { host, path: '/*/edge-config/*/token' },
    { host, path: '/*/edge-config/*/tokens' },
    { host, path: '/*/installations/*/credentials' },
    { host, path: '/*/installations/**/secrets' },
    { host, path: '/*/registrar/domains/*/auth-code' },
    { host, path: '/*/vcr/repository/*/permissions', methods: writes },
  ],
  access: {
    destructive: [
      ...callsAt(host, 'POST /*/edge-cache/dangerously-delete-*'),
      ...['/*/edge-config/*/items', '/*/global-config/*/items'].map((path) => ({
        ...{ host, path, methods: ['PATCH'] },
        parameter: { in: 'body' as const, name: 'operation', values: ['delete'] },
      })),
    ],
  },
  bodyChecks: [],
  docs: [
    'https://vercel.com/docs/accounts/access-tokens',
    'https://vercel.com/docs/rest-api/getting-started',
    'https://vercel.com/docs/rest-api/authentication',
    'https://vercel.com/docs/rest-api/edge-config/update-edge-config-items-in-batch',
    'https://vercel.com/docs/rest-api/edge-cache/dangerously-delete-by-source-image',
  ],
}
