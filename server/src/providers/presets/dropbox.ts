import { callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.dropboxapi.com'

const reads = [
  ...['check/app', 'check/user', 'users/features/get_values', 'users/get_account', 'users/get_account_batch'],
  ...['users/get_current_account', 'users/get_space_usage'],
  ...['list_folder', 'list_folder/continue', 'list_folder/get_latest_cursor', 'list_folder/longpoll', 'list_revisions']
    .concat(['get_metadata', 'get_file_lock_batch', 'get_preview', 'get_temporary_link', 'get_thumbnail'])
    .concat(['get_thumbnail_v2', 'get_thumbnail_batch', 'search_v2', 'search/continue_v2', 'download', 'download_zip'])
    .concat(['export', 'tags/get', 'delete_batch/check', 'copy_batch/check_v2'])
    .concat(['move_batch/check_v2', 'create_folder_batch/check', 'save_url/check_job_status'])
    .concat(['upload_session/finish_batch/check'])
    .map((path) => `files/${path}`),
  ...['list_folders', 'list_mountable_folders', 'list_received_files', 'list_file_members', 'list_folder_members']
    .flatMap((path) => [path, `${path}/continue`])
    .concat(['list_file_members/batch', 'list_shared_links', 'get_shared_link_metadata', 'get_shared_link_file'])
    .concat(['get_folder_metadata', 'get_file_metadata', 'get_file_metadata/batch', 'check_job_status'])
    .concat(['check_share_job_status', 'check_remove_member_job_status'])
    .map((path) => `sharing/${path}`),
  ...['file_requests/count', 'file_requests/get', 'file_requests/list_v2', 'file_requests/list/continue'],
  ...['file_properties/properties/search', 'file_properties/properties/search/continue'],
  ...['team/get_info', 'team/members/list_v2', 'team/members/list/continue_v2', 'team/groups/list'],
  ...['team/groups/list/continue', 'team/team_folder/list', 'team_log/get_events', 'team_log/get_events/continue'],
]

const deletions = [
  ...['files/delete', 'files/delete_v2', 'files/delete_batch', 'files/permanently_delete', 'file_requests/delete'],
  ...['file_requests/delete_all_closed', 'paper/docs/permanently_delete', 'contacts/delete_manual_contacts'],
  ...['contacts/delete_manual_contacts_batch', 'team/groups/delete', 'team/members/remove'],
  ...['team/team_folder/permanently_delete', 'file_properties/properties/remove'],
  ...['file_properties/templates/remove_for_user', 'file_properties/templates/remove_for_team'],
]

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
    registerUrl: 'https://www.dropbox.com/developers/apps/create',
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
  access: {
    getIsRead: false,
    reads: reads.flatMap((path) => callsAt('*.dropboxapi.com', `/2/${path}`)),
    destructive: deletions.map((path) => ({ host: '*.dropboxapi.com', path: `/2/${path}`, isExact: true })),
  },
  bodyChecks: [],
  docs: [
    'https://developers.dropbox.com/oauth-guide',
    'https://developers.dropbox.com/oidc-guide',
    'https://www.dropbox.com/developers/documentation/http/documentation',
    'https://dropbox.tech/developers/using-oauth-2-0-with-offline-access',
    'https://www.dropbox.com/developers/documentation/http/teams',
    'https://github.com/dropbox/dropbox-api-spec',
  ],
}
