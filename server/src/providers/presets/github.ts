import type { ApiPath } from './api-path.ts'
import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

/** The same repository answers by name and by number. */
function ofRepository(path: string, methods?: readonly string[]): ApiPath[] {
  return below(['/repos/*/*', '/repositories/*'], path, methods)
}

function ofOrganization(path: string, methods?: readonly string[]): ApiPath[] {
  return below(['/orgs/*', '/organizations/*', '/enterprises/*'], path, methods)
}

function below(places: string[], path: string, methods?: readonly string[]): ApiPath[] {
  return places.map((place) => ({ host: 'api.github.com', path: `${place}/${path}`, ...(methods && { methods }) }))
}

export const github: Preset = {
  id: 'github',
  name: 'GitHub',
  issuerUrl: 'https://github.com/login/oauth',
  discoveryUrl: 'https://github.com/.well-known/oauth-authorization-server/login/oauth',
  authorizationUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  deviceAuthorizationUrl: 'https://github.com/login/device/code',
  issParameter: true,
  tokenEndpointAuthMethod: 'client_secret_post',
  dialect: { errorsWithStatus200: true },
  defaultScopes: ['read:user'],
  account: { from: 'request', method: 'GET', url: 'https://api.github.com/user', id: 'id', labels: ['login'] },
  apiHosts: ['api.github.com', 'uploads.github.com'],
  batchPaths: [
    { host: 'api.github.com', path: '/graphql' },
    { host: 'api.github.com', path: '/api/graphql' },
  ],
  credentialPaths: [
    { host: 'api.github.com', path: '/user/keys' },
    { host: 'api.github.com', path: '/user/gpg_keys' },
    { host: 'api.github.com', path: '/user/ssh_signing_keys' },
    // An address of somebody else's can have the password reset.
    { host: 'api.github.com', path: '/user/emails', methods: writes },
    { host: 'api.github.com', path: '/authorizations' },
    { host: 'api.github.com', path: '/applications' },
    { host: 'api.github.com', path: '/app' },
    { host: 'api.github.com', path: '/app-manifests' },
    { host: 'api.github.com', path: '/credentials' },
    { host: 'api.github.com', path: '/scim' },
    ...ofRepository('keys'),
    ...ofRepository('hooks', writes),
    ...ofRepository('actions/runners/registration-token'),
    ...ofRepository('actions/runners/remove-token'),
    ...ofRepository('actions/runners/generate-jitconfig'),
    ...ofOrganization('personal-access-token*'),
    ...ofOrganization('credential-authorizations'),
    ...ofOrganization('hooks', writes),
    ...ofOrganization('actions/runners/registration-token'),
    ...ofOrganization('actions/runners/remove-token'),
    ...ofOrganization('actions/runners/generate-jitconfig'),
  ],
  pathElsewhere: '/api/v3',
  docs: [
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps',
    'https://docs.github.com/en/rest/users/users',
    'https://docs.github.com/en/rest/deploy-keys/deploy-keys',
  ],
  notes:
    'Create an OAuth app; its tokens have no expiry and no refresh token. Tick "Enable Device Flow" in the app if people should be able to connect by a code.',
}
