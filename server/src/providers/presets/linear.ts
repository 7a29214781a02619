import type { Preset } from './preset.ts'

const host = 'api.linear.app'

export const linear: Preset = {
  id: 'linear',
  name: 'Linear',
  issuerUrl: 'https://linear.app',
  authorizationUrl: 'https://linear.app/oauth/authorize',
  tokenUrl: 'https://api.linear.app/oauth/token',
  revocationUrl: 'https://api.linear.app/oauth/revoke',
  tokenEndpointAuthMethod: 'client_secret_post',
  dialect: { scopeSeparator: ',' },
  defaultScopes: ['read'],
  account: {
    from: 'request',
    method: 'POST',
    url: 'https://api.linear.app/graphql',
    body: '{"query":"{ viewer { id email name organization { name } } }"}',
    id: 'data.viewer.id',
    labels: ['data.viewer.email', 'data.viewer.name'],
    within: 'data.viewer.organization.name',
  },
  apiHosts: [host, 'uploads.linear.app'],
  batchPaths: [{ host, path: '/graphql' }],
  credentialPaths: [{ host, path: '/oauth' }],
  credentialFields: [
    'apiKeyCreate',
    'apiKeyUpdate',
    'oauthClientCreate',
    'oauthClientUpdate',
    'oauthClientRotateSecret',
    'airbyteIntegrationConnect',
    'webhookCreate',
    'webhookUpdate',
    'webhookRotateSecret',
    'pushSubscriptionCreate',
  ],
  docs: [
    'https://linear.app/developers/oauth-2-0-authentication',
    'https://linear.app/developers/graphql',
    'https://linear.app/developers/webhooks',
    'https://linear.app/developers/file-storage-authentication',
  ],
  notes:
    'The whole API is one GraphQL address, so a grant can not be limited to methods or paths: limit it by scope (read, write, issues:create, comments:create).',
}
