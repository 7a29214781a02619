import type { Preset } from './preset.ts'

export const spotify: Preset = {
  id: 'spotify',
  name: 'Spotify',
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://accounts.spotify.com',
    authorizationUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    tokenEndpointAuthMethod: 'client_secret_basic',
    registerUrl: 'https://developer.spotify.com/dashboard',
    defaultScopes: ['user-read-private', 'user-read-email'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://api.spotify.com/v1/me',
      id: 'id',
      labels: ['email', 'display_name', 'id'],
    },
    notes: 'In development mode, only the users listed in the app can connect.',
  },
  apiHosts: ['api.spotify.com'],
  // No endpoint of the Web API returns credentials.
  credentialPaths: 'none',
  bodyChecks: [],
  docs: [
    'https://developer.spotify.com/documentation/web-api/tutorials/code-flow',
    'https://developer.spotify.com/documentation/web-api/tutorials/refreshing-tokens',
    'https://developer.spotify.com/documentation/web-api/concepts/scopes',
    'https://developer.spotify.com/documentation/web-api/reference/get-current-users-profile',
  ],
}
