import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.zoom.us'

export const zoom: Preset = {
  id: 'zoom',
  name: 'Zoom',
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://zoom.us',
    authorizationUrl: 'https://zoom.us/oauth/authorize',
    tokenUrl: 'https://zoom.us/oauth/token',
    deviceAuthorizationUrl: 'https://zoom.us/oauth/devicecode',
    revocationUrl: 'https://zoom.us/oauth/revoke',
    tokenEndpointAuthMethod: 'client_secret_basic',
    dialect: { isBasicUnencoded: true },
    registerUrl: 'https://marketplace.zoom.us/develop/create',
    defaultScopes: ['user:read:user'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://api.zoom.us/v2/users/me',
      id: 'id',
      labels: ['email', 'display_name'],
    },
    notes:
      'Create a user-managed general app and add every scope you request. Refresh tokens rotate. Connecting with a code must be enabled for the app.',
  },
  apiHosts: [host],
  batchPaths: [{ host, path: '/**/graphql' }],
  credentialPaths: [
    { host, path: '/v2/users/*/token' },
    { host, path: '/v2/users/*/zak' },
    { host, path: '/v2/users/*/password' },
    { host, path: '/v2/users/*/email' },
    { host, path: '/v2/meetings/*/jointoken' },
    { host, path: '/v2/meetings/*/token' },
    { host, path: '/v2/meetings/*/livestream' },
    { host, path: '/v2/webinars/*/token' },
    { host, path: '/v2/webinars/*/jointoken' },
    { host, path: '/v2/webinars/*/livestream' },
    { host, path: '/v2/users/*/assistants', methods: writes },
    { host, path: '/v2/users/*/schedulers', methods: writes },
    { host, path: '/v2/accounts', methods: writes },
    { host, path: '/v2/roles', methods: writes },
    { host, path: '/v2/devices', methods: writes },
    { host, path: '/v2/rooms', methods: writes },
    // These return the passwords that phones register with.
    { host, path: '/v2/sip_phones' },
    { host, path: '/v2/phone/devices' },
    { host, path: '/v2/phone/roles', methods: writes },
    // Forwarding of phone calls outlives the grant.
    { host, path: '/v2/phone/extension/*/call_handling', methods: writes },
    { host, path: '/v2/live_meetings/*/rtms_app' },
    { host, path: '/v2/videosdk/**/livestream' },
    { host, path: '/v2/videosdk/**/stream_ingestions' },
    { host, path: '/scim2' },
    // GraphQL has mutations for passwords and e-mail addresses. Everything else can be done with REST.
    { host, path: '/**/graphql' },
    { host, path: '/v2/marketplace' },
    { host, path: '/v2/app' },
    { host, path: '/v2/webhooks' },
    { host, path: '/v2/report/**/download_token' },
  ],
  bodyChecks: ['graphql'],
  docs: [
    'https://developers.zoom.us/docs/integrations/oauth/',
    'https://developers.zoom.us/docs/integrations/oauth-scopes-granular/',
    'https://developers.zoom.us/docs/api/users/',
    'https://developers.zoom.us/docs/api/marketplace/',
  ],
}
