import type { Preset } from './preset.ts'

const host = 'api.dropboxapi.com'

export const dropbox: Preset = {
  id: 'dropbox',
  name: 'Dropbox',
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://www.dropbox.com',
    discoveryUrl: 'https://www.dropbox.com/.well-known/openid-configuration',
    authorizationUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    userinfoUrl: 'https://api.dropboxapi.com/2/openid/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    defaultScopes: ['account_info.read', 'files.metadata.read'],
    authorizationParams: { token_access_type: 'offline' },
    account: {
      from: 'request',
      method: 'POST',
      url: 'https://api.dropboxapi.com/2/users/get_current_account',
      body: 'null',
      id: 'account_id',
      labels: ['email', 'name.display_name'],
    },
    notes:
      'Create an app with scoped access and enable every scope you request. Tokens are revoked with a separate API call, not with RFC 7009.',
  },
  apiHosts: [host, 'content.dropboxapi.com'],
  credentialPaths: [
    { host: '*.dropboxapi.com', path: '/oauth2' },
    { host: '*.dropboxapi.com', path: '/2/auth' },
    { host: '*.dropboxapi.com', path: '/2/team/linked_apps' },
    { host: '*.dropboxapi.com', path: '/2/team/devices' },
    { host: '*.dropboxapi.com', path: '/2/team/members/add*' },
    { host: '*.dropboxapi.com', path: '/2/team/members/recover' },
    { host: '*.dropboxapi.com', path: '/2/team/members/send_welcome_email' },
    { host: '*.dropboxapi.com', path: '/2/team/members/secondary_emails' },
    { host: '*.dropboxapi.com', path: '/2/team/members/set_admin_permissions*' },
    // Can change the e-mail address that a member signs in with.
    { host: '*.dropboxapi.com', path: '/2/team/members/set_profile*' },
    { host: '*.dropboxapi.com', path: '/2/team/groups/members/add' },
    { host: '*.dropboxapi.com', path: '/2/team/groups/members/set_access_type' },
    { host: '*.dropboxapi.com', path: '/2/team/sharing_allowlist/add' },
    { host: '*.dropboxapi.com', path: '/2/sharing/transfer_folder' },
    { host: '*.dropboxapi.com', path: '/2/files/get_temporary_upload_link' },
  ],
  bodyChecks: [],
  docs: [
    'https://developers.dropbox.com/oauth-guide',
    'https://developers.dropbox.com/oidc-guide',
    'https://www.dropbox.com/developers/documentation/http/documentation',
    'https://dropbox.tech/developers/using-oauth-2-0-with-offline-access',
  ],
}
