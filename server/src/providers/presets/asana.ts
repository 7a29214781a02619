import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'app.asana.com'

/** What DELETE takes. */
const deletable = [
  ...['tasks', 'projects', 'sections', 'stories', 'tags', 'attachments', 'portfolios', 'goals', 'custom_fields'],
  ...['status_updates', 'project_statuses', 'project_briefs', 'project_templates', 'task_templates', 'memberships'],
  ...['allocations', 'budgets', 'rates', 'roles', 'time_tracking_entries'],
]

export const asana: Preset = {
  id: 'asana',
  name: 'Asana',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Personal access token',
      help: 'Create a personal access token in the developer console: app.asana.com/0/my-apps.',
      inject: [{ in: 'header', name: 'authorization', template: 'Bearer {api_key}' }],
      check: {
        url: 'https://app.asana.com/api/1.0/users/me',
        account: { id: 'data.gid', labels: ['data.email', 'data.name'] },
      },
    },
  ],
  oauth: {
    issuerUrl: 'https://app.asana.com/api/1.0',
    discoveryUrl: 'https://app.asana.com/api/1.0/.well-known/openid-configuration',
    authorizationUrl: 'https://app.asana.com/-/oauth_authorize',
    tokenUrl: 'https://app.asana.com/-/oauth_token',
    revocationUrl: 'https://app.asana.com/-/oauth_revoke',
    userinfoUrl: 'https://app.asana.com/api/1.0/openid_connect/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    registerUrl: 'https://app.asana.com/0/my-apps',
    defaultScopes: ['users:read', 'workspaces:read', 'projects:read', 'tasks:read'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://app.asana.com/api/1.0/users/me',
      id: 'data.gid',
      labels: ['data.email', 'data.name'],
    },
    notes:
      'Enable every scope you request in the app. An app with "Full permissions" supports only the scope "default".',
  },
  apiHosts: [host],
  batchPaths: [{ host, path: '/api/*/batch' }],
  credentialPaths: [
    { host, path: '/-' },
    { host, path: '/app' },
    { host, path: '/0' },
    { host, path: '/api/*/webhooks', methods: writes },
    { host, path: '/api/*/scim' },
    { host, path: '/api/*/workspaces/*/addUser' },
    { host, path: '/api/*/teams/*/addUser' },
    { host, path: '/api/*/access_requests/*/approve' },
    { host, path: '/api/*/organization_exports' },
    { host, path: '/api/*/exports' },
  ],
  access: {
    batches: callsAt(host, 'POST /api/*/batch'),
    destructive: [
      // What only the user could see is lost.
      ...callsAt(host, 'POST /api/*/workspaces/*/removeUser'),
      // Nothing is posted there but another method, which `options.method` or `opt_method` in the body names.
      ...deletable.map((kind) => ({ host, path: `/api/*/${kind}/*`, methods: ['POST'], isExact: true })),
    ],
  },
  bodyChecks: ['batch'],
  docs: [
    'https://developers.asana.com/docs/personal-access-token',
    'https://developers.asana.com/docs/oauth',
    'https://developers.asana.com/docs/oauth-scopes',
    'https://developers.asana.com/docs/openid-connect',
    'https://developers.asana.com/reference/createbatchrequest',
    'https://developers.asana.com/reference/createwebhook',
    'https://developers.asana.com/reference/removeuserforworkspace',
    'https://developers.asana.com/docs/inputoutput-options',
    'https://asana.com/developers/documentation/getting-started/input-output-options',
  ],
}
