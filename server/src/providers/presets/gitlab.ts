import type { ApiPath } from './api-path.ts'
import { all, callsAt, gitErrors, gitReads, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'gitlab.com'

/** Projects and groups have the same paths for credentials. */
function ofProjectsAndGroups(path: string, methods?: readonly string[]): ApiPath[] {
  return ['projects', 'groups'].map((kind) => ({
    host,
    path: `/api/*/${kind}/*/${path}`,
    ...(methods && { methods }),
  }))
}

/** A project is in a group, which may be in a group. */
const gitPaths = ['/*/*', '/*/*/*', '/*/*/*/*', '/*/*/*/*/*'].flatMap((project) =>
  ['info/refs', 'git-upload-pack', 'git-receive-pack'].map((service) => `${project}/${service}`),
)

export const gitlab: Preset = {
  id: 'gitlab',
  name: 'GitLab',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Personal access token',
      help: 'On GitLab, open Edit profile > Access > Personal access tokens. The scope api covers the API, write_repository covers Git.',
      inject: [
        {
          ...{ in: 'header', name: 'authorization', template: 'Basic {base64(oauth2:{api_key})}' },
          paths: gitPaths,
        },
        { in: 'header', name: 'authorization', template: 'Bearer {api_key}' },
      ],
      check: { url: 'https://gitlab.com/api/v4/user', account: { id: 'id', labels: ['username'] } },
      env: ['GITLAB_TOKEN'],
    },
  ],
  oauth: {
    issuerUrl: 'https://gitlab.com',
    discoveryUrl: 'https://gitlab.com/.well-known/openid-configuration',
    authorizationUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    deviceAuthorizationUrl: 'https://gitlab.com/oauth/authorize_device',
    revocationUrl: 'https://gitlab.com/oauth/revoke',
    userinfoUrl: 'https://gitlab.com/oauth/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    registerUrl: 'https://gitlab.com/-/user_settings/applications',
    defaultScopes: ['read_user'],
    account: { from: 'request', method: 'GET', url: 'https://gitlab.com/api/v4/user', id: 'id', labels: ['username'] },
    notes:
      'This is gitlab.com. Create an application under user or group settings, and select "Confidential" and every scope you request. For a self-managed server, add a provider without a preset.',
  },
  apiHosts: [host],
  batchPaths: [{ host, path: '/api/graphql' }],
  credentialPaths: [
    // GraphQL has mutations that create tokens and fields that return them. Everything else can be done with REST.
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
    // Someone else's e-mail address could be added, and then used to reset the password.
    { host, path: '/api/*/user/emails', methods: writes },
    { host, path: '/api/*/users', methods: writes },
    { host, path: '/api/*/applications' },
    { host, path: '/api/*/application' },
    { host, path: '/api/*/admin' },
    { host, path: '/api/*/internal' },
    { host, path: '/api/*/integrations' },
    { host, path: '/api/*/code_suggestions/direct_access' },
    { host, path: '/api/*/code_suggestions/tokens' },
    { host, path: '/api/scim' },
    { host, path: '/jwt' },
    // Git LFS: the answer has URLs and headers that give access to the files.
    { host, path: '/**/info/lfs' },
    { host, path: '/api/**/conan/*/users/authenticate' },
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
    { host, path: '/api/*/projects/*/mirror/pull', methods: writes },
    { host, path: '/api/*/projects/*/secure_files' },
    { host, path: '/api/*/projects/*/error_tracking/client_keys' },
    { host, path: '/api/*/projects/*/job_token_scope', methods: writes },
    { host, path: '/api/*/projects/*/pages/domains', methods: writes },
    { host, path: '/api/*/projects/*/import_project_members' },
    // A schedule keeps running with its owner's permissions, and returns its variables.
    { host, path: '/api/*/projects/*/pipeline_schedules', methods: writes },
    { host, path: '/api/*/projects/*/pipeline_schedules/*' },
    { host, path: '/api/*/projects/*/pipelines/*/variables' },
    { host, path: '/api/*/groups/*/manage' },
    { host, path: '/api/*/groups/*/scim', methods: writes },
    { host, path: '/api/*/groups/*/saml', methods: writes },
    { host, path: '/api/*/groups/*/saml_group_links', methods: writes },
    { host, path: '/api/*/groups/*/ldap_group_links', methods: writes },
    { host, path: '/api/*/groups/*/enterprise_users', methods: writes },
    ...ofProjectsAndGroups('access_tokens'),
    ...ofProjectsAndGroups('deploy_tokens'),
    ...ofProjectsAndGroups('deploy_keys'),
    ...ofProjectsAndGroups('runners'),
    ...ofProjectsAndGroups('variables'),
    ...ofProjectsAndGroups('hooks'),
    // `services` is the former name of integrations. A Slack or Teams URL in one is a credential.
    ...ofProjectsAndGroups('integrations'),
    ...ofProjectsAndGroups('services'),
    ...ofProjectsAndGroups('clusters'),
    ...ofProjectsAndGroups('external_status_checks', writes),
    // The archive can be uploaded to any URL.
    ...ofProjectsAndGroups('export'),
    ...ofProjectsAndGroups('export_relations'),
    ...ofProjectsAndGroups('members', writes),
    ...ofProjectsAndGroups('member_roles', writes),
    ...ofProjectsAndGroups('invitations', writes),
    ...ofProjectsAndGroups('access_requests', writes),
    ...ofProjectsAndGroups('share', writes),
    ...ofProjectsAndGroups('transfer', writes),
  ],
  access: {
    reads: [
      ...gitReads(host, '/**'),
      // Not ci/lint: it requests the URLs that the configuration includes, with variables of the project in them.
      ...callsAt(host, 'POST /api/*/markdown'),
    ],
    writes: [
      // Of the API, where the last segment can be the name of a file or a branch.
      ...callsAt(host, 'POST /**/api/**/git-*-pack'),
      // Merges into a ref of its own.
      ...callsAt(host, 'GET,HEAD /api/*/projects/*/merge_requests/*/merge_ref'),
    ],
    destructive: callsAt(
      host,
      `
        POST /api/*/projects/*/jobs/*/erase
        POST /api/*/projects/*/housekeeping`,
    ),
  },
  abilities: [
    ...all('issues', host, '/api/v4/issues'),
    ...all('merge requests', host, '/api/v4/merge_requests'),
    ...all('issues', host, '/api/v4/projects/*/issues'),
    ...all('merge requests', host, '/api/v4/projects/*/merge_requests'),
    ...all('files in projects', host, '/api/v4/projects/*/repository'),
    ...all('projects', host, '/api/v4/projects'),
  ],
  bodyChecks: ['method_override', 'graphql'],
  errorFormats: gitErrors(host, '/**'),
  docs: [
    'https://docs.gitlab.com/user/profile/personal_access_tokens',
    'https://docs.gitlab.com/api/oauth2',
    'https://docs.gitlab.com/integration/oauth_provider',
    'https://docs.gitlab.com/integration/openid_connect_provider',
    'https://docs.gitlab.com/api/users',
    'https://docs.gitlab.com/api/personal_access_tokens',
    'https://docs.gitlab.com/api/project_access_tokens',
    'https://docs.gitlab.com/17.9/api/lint',
    'https://docs.gitlab.com/ee/api/merge_requests.html',
    'https://gitlab.com/gitlab-org/gitlab/-/merge_requests/111870',
    'https://docs.gitlab.com/api/markdown',
  ],
}
