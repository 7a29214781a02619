import type { ApiPath } from './api-path.ts'
import type { Preset } from './preset.ts'

const host = 'gitlab.com'

/** A project's and a group's credentials are made the same way. */
function ofProjectsAndGroups(path: string): ApiPath[] {
  return [
    { host, path: `/api/*/projects/*/${path}` },
    { host, path: `/api/*/groups/*/${path}` },
  ]
}

export const gitlab: Preset = {
  id: 'gitlab',
  name: 'GitLab',
  issuerUrl: 'https://gitlab.com',
  discoveryUrl: 'https://gitlab.com/.well-known/openid-configuration',
  authorizationUrl: 'https://gitlab.com/oauth/authorize',
  tokenUrl: 'https://gitlab.com/oauth/token',
  deviceAuthorizationUrl: 'https://gitlab.com/oauth/authorize_device',
  revocationUrl: 'https://gitlab.com/oauth/revoke',
  userinfoUrl: 'https://gitlab.com/oauth/userinfo',
  tokenEndpointAuthMethod: 'client_secret_post',
  defaultScopes: ['read_user'],
  account: { from: 'request', method: 'GET', url: 'https://gitlab.com/api/v4/user', id: 'id', labels: ['username'] },
  apiHosts: [host],
  batchPaths: [{ host, path: '/api/graphql' }],
  credentialPaths: [
    // Besides calls it carries mutations that make tokens and fields that show them; REST does the rest of its work.
    { host, path: '/api/graphql' },
    { host, path: '/oauth' },
    { host, path: '/-' },
    { host, path: '/users' },
    { host, path: '/api/*/personal_access_tokens' },
    { host, path: '/api/*/user/personal_access_tokens' },
    { host, path: '/api/*/user/keys' },
    { host, path: '/api/*/user/gpg_keys' },
    { host, path: '/api/*/user/runners' },
    { host, path: '/api/*/users/*/personal_access_tokens' },
    { host, path: '/api/*/users/*/impersonation_tokens' },
    { host, path: '/api/*/users/*/keys' },
    { host, path: '/api/*/users/*/gpg_keys' },
    { host, path: '/api/*/applications' },
    { host, path: '/api/*/deploy_keys' },
    { host, path: '/api/*/deploy_tokens' },
    { host, path: '/api/*/runners' },
    { host, path: '/api/*/hooks' },
    { host, path: '/api/*/service_accounts' },
    { host, path: '/api/*/groups/*/ssh_certificates' },
    { host, path: '/api/*/groups/*/service_accounts' },
    { host, path: '/api/*/projects/*/service_accounts' },
    { host, path: '/api/*/projects/*/triggers' },
    { host, path: '/api/*/projects/*/cluster_agents' },
    { host, path: '/api/*/projects/*/remote_mirrors' },
    ...ofProjectsAndGroups('access_tokens'),
    ...ofProjectsAndGroups('deploy_tokens'),
    ...ofProjectsAndGroups('deploy_keys'),
    ...ofProjectsAndGroups('runners'),
    ...ofProjectsAndGroups('variables'),
    ...ofProjectsAndGroups('hooks'),
  ],
  docs: [
    'https://docs.gitlab.com/api/oauth2',
    'https://docs.gitlab.com/integration/oauth_provider',
    'https://docs.gitlab.com/integration/openid_connect_provider',
    'https://docs.gitlab.com/api/users',
    'https://docs.gitlab.com/api/personal_access_tokens',
    'https://docs.gitlab.com/api/project_access_tokens',
  ],
  notes:
    'This is gitlab.com. Create an application under user or group settings, tick "Confidential" and every scope that will be asked for. A server of your own is set up as a provider without a preset.',
}
