import type { ApiPath } from './api-path.ts'
import { all, callsAt, can, gitErrors, gitReads, writes } from './preset.ts'
import type { Preset } from './preset.ts'

/** A repository can be addressed by name and by number. */
function ofRepository(path: string, methods?: readonly string[]): ApiPath[] {
  return below(['/repos/*/*', '/repositories/*'], path, methods)
}

function ofOrganization(path: string, methods?: readonly string[]): ApiPath[] {
  return below(['/orgs/*', '/organizations/*', '/enterprises/*'], path, methods)
}

function ofTeam(path: string): ApiPath[] {
  return below(['/teams/*', '/orgs/*/teams/*', '/organizations/*/team/*', '/enterprises/*/teams/*'], path, writes)
}

/** Reading returns only the names of secrets. Setting one changes what a workflow trusts. */
const workflowSettings = ['actions', 'codespaces', 'dependabot'].flatMap((kind) => [
  `${kind}/secrets`,
  `${kind}/variables`,
])

const apiHosts = ['api.github.com', 'uploads.github.com']

function below(places: string[], path: string, methods?: readonly string[]): ApiPath[] {
  return places.map((place) => ({ host: 'api.github.com', path: `${place}/${path}`, ...(methods && { methods }) }))
}

export const github: Preset = {
  id: 'github',
  name: 'GitHub',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Personal access token',
      help: 'On GitHub, open Settings > Developer settings > Personal access tokens, and create a fine-grained token for the repositories that agents may use.',
      inject: [
        { in: 'header', name: 'authorization', template: 'Bearer {api_key}', hosts: apiHosts },
        {
          ...{ in: 'header', name: 'authorization', template: 'Basic {base64(x-access-token:{api_key})}' },
          hosts: ['github.com'],
          paths: ['/*/*/info/refs', '/*/*/git-upload-pack', '/*/*/git-receive-pack'],
        },
      ],
      check: { url: 'https://api.github.com/user', account: { id: 'id', labels: ['login'] } },
      env: ['GH_TOKEN', 'GITHUB_TOKEN'],
    },
    {
      kind: 'github_app',
      label: 'GitHub App',
      help: 'On GitHub, open Settings > Developer settings > GitHub Apps. Create an app with the permissions that agents need, install it for the repositories that they may use, and generate a private key. The settings of the app show its ID, and the URL of the installation ends with the ID of the installation.',
      api_url: 'https://api.github.com',
      env: ['GH_TOKEN', 'GITHUB_TOKEN'],
    },
  ],
  oauth: {
    issuerUrl: 'https://github.com/login/oauth',
    discoveryUrl: 'https://github.com/.well-known/oauth-authorization-server/login/oauth',
    authorizationUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    deviceAuthorizationUrl: 'https://github.com/login/device/code',
    issParameter: true,
    tokenEndpointAuthMethod: 'client_secret_post',
    dialect: { errorsWithStatus200: true },
    registerUrl: 'https://github.com/settings/applications/new',
    defaultScopes: ['read:user'],
    account: { from: 'request', method: 'GET', url: 'https://api.github.com/user', id: 'id', labels: ['login'] },
    notes:
      'Create an OAuth app; its tokens have no expiry and no refresh token. Turn on "Enable Device Flow" in the app if users should be able to connect with a code.',
  },
  // github.com is for Git over https.
  apiHosts: [...apiHosts, 'github.com'],
  batchPaths: [
    { host: 'api.github.com', path: '/graphql' },
    { host: 'api.github.com', path: '/api/graphql' },
  ],
  credentialPaths: [
    { host: 'github.com', path: '/login' },
    { host: 'github.com', path: '/settings' },
    { host: 'github.com', path: '/sessions' },
    // Git LFS: the answer has URLs and headers that give access to the files.
    { host: 'github.com', path: '/*/*/info/lfs' },
    { host: 'api.github.com', path: '/user/keys' },
    { host: 'api.github.com', path: '/user/gpg_keys' },
    { host: 'api.github.com', path: '/user/ssh_signing_keys' },
    // Someone else's e-mail address could be added, and then used to reset the password.
    { host: 'api.github.com', path: '/user/emails', methods: writes },
    { host: 'api.github.com', path: '/authorizations' },
    { host: 'api.github.com', path: '/applications' },
    { host: 'api.github.com', path: '/app' },
    { host: 'api.github.com', path: '/app-manifests' },
    { host: 'api.github.com', path: '/credentials' },
    { host: 'api.github.com', path: '/scim' },
    { host: 'api.github.com', path: '/installation/token' },
    // PubSubHubbub: subscribing creates a webhook.
    { host: 'api.github.com', path: '/hub' },
    // Administration of a self-hosted server.
    ...['users', 'keys', 'hooks', 'tokens', 'organizations'].map((kind) => ({
      host: 'api.github.com',
      path: `/admin/${kind}`,
    })),
    { host: 'api.github.com', path: '/user/migrations' },
    { host: 'api.github.com', path: '/user/installations', methods: writes },
    // A codespace has a token of the user and runs code from the repository.
    { host: 'api.github.com', path: '/user/codespaces', methods: writes },
    ...ofRepository('codespaces', writes),
    ...ofRepository('pulls/*/codespaces', writes),
    ...workflowSettings.flatMap((path) => [...ofRepository(path, writes), ...ofOrganization(path, writes)]),
    ...ofRepository('environments/*/secrets', writes),
    ...ofRepository('environments/*/variables', writes),
    ...ofRepository('actions/oidc', writes),
    ...ofOrganization('actions/oidc', writes),
    ...ofOrganization('private-registries', writes),
    // An alert contains the secret that was found.
    ...ofRepository('secret-scanning/alerts'),
    ...ofOrganization('secret-scanning/alerts'),
    ...ofRepository('collaborators', writes),
    ...ofRepository('invitations', writes),
    ...ofRepository('transfer'),
    ...ofOrganization('invitations', writes),
    ...ofOrganization('members', writes),
    ...ofOrganization('memberships', writes),
    ...ofOrganization('outside_collaborators', writes),
    ...ofOrganization('organization-roles', writes),
    ...ofOrganization('security-managers', writes),
    ...ofOrganization('migrations'),
    ...ofOrganization('audit-log/streams'),
    ...ofTeam('members'),
    ...ofTeam('memberships'),
    ...ofTeam('repos'),
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
  credentialFields: [
    'tempCloneToken',
    'recoveryCodes',
    'enterpriseAdministratorInvitationByToken',
    'enterpriseMemberInvitationByToken',
    'inviteEnterpriseAdmin',
    'inviteEnterpriseMember',
    'addEnterpriseOrganizationMember',
    'updateEnterpriseAdministratorRole',
    'updateEnterpriseOwnerOrganizationRole',
    'transferEnterpriseOrganization',
    'updateTeamsRepository',
    'accessUserNamespaceRepository',
    'setEnterpriseIdentityProvider',
    'removeEnterpriseIdentityProvider',
    'regenerateEnterpriseIdentityProviderRecoveryCodes',
    'updateEnterpriseTwoFactorAuthenticationRequiredSetting',
    'updateEnterpriseTwoFactorAuthenticationDisallowedMethodsSetting',
    'grantMigratorRole',
    'grantEnterpriseOrganizationsMigratorRole',
    'createMigrationSource',
    'startOrganizationMigration',
    'startRepositoryMigration',
  ],
  access: {
    reads: [
      ...gitReads('github.com', '/*/*'),
      ...callsAt(
        'api.github.com',
        `
        POST /markdown
        POST /markdown/raw`,
      ),
    ],
    destructive: callsAt('api.github.com', 'POST /**/attestations/delete-request'),
    // Deletes the refs that it sets to zeros.
    operations: { destructive: ['updateRefs'] },
  },
  pathElsewhere: '/api/v3',
  abilities: [
    ...all('your issues and pull requests', 'api.github.com', '/issues'),
    ...all('your gists', 'api.github.com', '/gists'),
    ...all('your notifications', 'api.github.com', '/notifications'),
    ...all('issues', 'api.github.com', '/repos/*/*/issues'),
    ...all('pull requests', 'api.github.com', '/repos/*/*/pulls'),
    ...all('releases', 'api.github.com', '/repos/*/*/releases'),
    ...all('files in repositories', 'api.github.com', '/repos/*/*/contents'),
    ...all('repositories', 'api.github.com', '/repos'),
    ...all('your profile', 'api.github.com', '/user'),
    can('read', 'read', 'code', 'github.com'),
    can('write', 'push', 'code', 'github.com'),
  ],
  bodyChecks: ['method_override', 'graphql'],
  errorFormats: gitErrors('github.com', '/*/*'),
  openHosts: ['codeload.github.com', 'objects.githubusercontent.com', 'release-assets.githubusercontent.com'],
  docs: [
    'https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens',
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps',
    'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app',
    'https://docs.github.com/en/rest/apps/apps',
    'https://docs.github.com/en/rest/users/users',
    'https://docs.github.com/en/rest/deploy-keys/deploy-keys',
    'https://docs.github.com/en/rest/repos/webhooks',
    'https://docs.github.com/en/enterprise-cloud@latest/graphql/reference/git',
    'https://docs.github.com/ko/rest/orgs/attestations',
    'https://docs.github.com/en/rest/markdown/markdown',
  ],
}
