import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.figma.com'

export const figma: Preset = {
  id: 'figma',
  name: 'Figma',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Personal access token',
      help: 'In Figma, open Settings > Security > Personal access tokens. Include the scope current_user:read.',
      inject: [{ in: 'header', name: 'x-figma-token', template: '{api_key}' }],
      check: { url: 'https://api.figma.com/v1/me', account: { id: 'id', labels: ['email', 'handle'] } },
    },
  ],
  oauth: {
    issuerUrl: 'https://www.figma.com',
    authorizationUrl: 'https://www.figma.com/oauth',
    tokenUrl: 'https://api.figma.com/v1/oauth/token',
    tokenEndpointAuthMethod: 'client_secret_basic',
    dialect: {
      isBasicUnencoded: true,
      isAlwaysBearer: true,
      refreshEndpoint: 'https://api.figma.com/v1/oauth/refresh',
    },
    registerUrl: 'https://www.figma.com/developers/apps',
    defaultScopes: ['current_user:read', 'file_content:read'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://api.figma.com/v1/me',
      id: 'id',
      labels: ['email', 'handle'],
    },
    notes:
      'Enable every scope you request in the app; until it is published, only its own team can connect. A refresh returns no new refresh token: the old one stays valid.',
  },
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/oauth' },
    { host, path: '/*/webhooks', methods: writes },
    { host, path: '/*/teams/*/webhooks', methods: writes },
    { host, path: '/v1/scim' },
  ],
  bodyChecks: [],
  docs: [
    'https://developers.figma.com/docs/rest-api/personal-access-tokens/',
    'https://developers.figma.com/docs/rest-api/authentication',
    'https://developers.figma.com/docs/rest-api/oauth-apps/',
    'https://developers.figma.com/docs/rest-api/scopes/',
    'https://developers.figma.com/docs/rest-api/users-endpoints/',
    'https://developers.figma.com/docs/rest-api/webhooks-endpoints/',
  ],
}
