import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.atlassian.com'

export const atlassian: Preset = {
  id: 'atlassian',
  name: 'Atlassian',
  otherNames: ['Confluence'],
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://auth.atlassian.com',
    authorizationUrl: 'https://auth.atlassian.com/authorize',
    tokenUrl: 'https://auth.atlassian.com/oauth/token',
    tokenEndpointAuthMethod: 'client_secret_post',
    dialect: { isAlwaysBearer: true },
    registerUrl: 'https://developer.atlassian.com/console/myapps/',
    defaultScopes: ['read:me', 'read:jira-work', 'offline_access'],
    authorizationParams: { audience: 'api.atlassian.com', prompt: 'consent' },
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://api.atlassian.com/me',
      id: 'account_id',
      labels: ['email', 'name'],
    },
    notes:
      'Add the User identity API and each product API to the app, with every scope you request. Refresh tokens rotate and expire after 90 days without use.',
  },
  // Sites are called as api.atlassian.com/ex/jira/{cloudId}/…, never by their own host names.
  apiHosts: [host],
  batchPaths: [{ host, path: '/**/graphql' }],
  // `/oauth/token/accessible-resources` is not included: it lists the sites, and nothing works without it.
  credentialPaths: [
    { host, path: '/admin' },
    { host, path: '/users' },
    { host, path: '/scim' },
    { host, path: '/ex/**/rest/pat' },
    { host, path: '/ex/**/api-tokens' },
    { host, path: '/ex/**/atlassian-connect' },
    // GraphQL has mutations that create tokens, apps and web triggers. Everything else can be done with REST.
    { host, path: '/**/graphql' },
    { host, path: '/**/webhook', methods: writes },
    { host, path: '/**/webhooks', methods: writes },
    { host, path: '/**/automation', methods: writes },
    { host, path: '/jsm/**/integrations', methods: writes },
    { host, path: '/jsm/**/forwarding-rules', methods: writes },
    { host, path: '/ex/**/rest/api/*/user', methods: ['POST', 'DELETE'] },
    { host, path: '/ex/**/group', methods: writes },
    { host, path: '/ex/**/project/*/role', methods: writes },
    { host, path: '/ex/**/role/*/actors', methods: writes },
    { host, path: '/ex/**/permissionscheme', methods: writes },
    { host, path: '/ex/**/servicedesk/*/customer', methods: writes },
    { host, path: '/ex/**/invite-by-email' },
    { host, path: '/ex/**/space-permissions', methods: writes },
    { host, path: '/ex/**/space/*/permission', methods: writes },
    { host, path: '/ex/**/spaces/*/permissions', methods: writes },
    { host, path: '/ex/**/spaces/*/role-assignments', methods: writes },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /ex/jira/*/rest/api/*/search
        POST /ex/jira/*/rest/api/*/search/jql
        POST /ex/jira/*/rest/api/*/search/approximate-count
        POST /ex/jira/*/rest/api/*/jql/autocompletedata
        POST /ex/jira/*/rest/api/*/jql/match
        POST /ex/jira/*/rest/api/*/jql/parse
        POST /ex/jira/*/rest/api/*/jql/sanitize
        POST /ex/jira/*/rest/api/*/expression/eval
        POST /ex/jira/*/rest/api/*/expression/evaluate
        POST /ex/jira/*/rest/api/*/expression/analyse
        POST /ex/jira/*/rest/api/*/permissions/check
        POST /ex/jira/*/rest/api/*/permissions/project
        POST /ex/jira/*/rest/api/*/issue/bulkfetch
        POST /ex/jira/*/rest/api/*/changelog/bulkfetch
        POST /ex/jira/*/rest/api/*/comment/list
        POST /ex/jira/*/rest/api/*/worklog/list
        POST /ex/confluence/*/wiki/api/v2/content/convert-ids-to-types`,
    ),
    // They change what the user has viewed last.
    writes: [
      ...['/ex/jira/*/rest/api/*/issue/*', '/ex/jira/*/rest/agile/*/issue/*'].map((path) => ({
        ...{ host, path, isExact: true },
        parameter: { in: 'query' as const, name: 'updateHistory', values: ['true'] },
      })),
      {
        ...{ host, path: '/ex/confluence/*/wiki/rest/api/content/*', isExact: true },
        parameter: { in: 'query', name: 'trigger', values: ['viewed'] },
      },
    ],
    destructive: callsAt(
      host,
      `
        POST /ex/jira/*/rest/api/*/bulk/issues/delete
        POST /ex/jira/*/rest/api/*/project/*/delete
        POST /ex/jira/*/rest/api/*/version/*/removeAndSwap
        PUT /ex/jira/*/rest/api/*/version/*/mergeto
        POST /ex/jira/*/rest/api/*/field/*/trash`,
    ),
  },
  bodyChecks: ['graphql'],
  docs: [
    'https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/',
    'https://developer.atlassian.com/cloud/confluence/oauth-2-3lo-apps/',
    'https://developer.atlassian.com/cloud/jira/platform/scopes-for-oauth-2-3LO-and-forge-apps/',
    'https://developer.atlassian.com/cloud/admin/user-management/rest/intro/',
    'https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-content/',
    'https://developer.atlassian.com/cloud/acli/reference/commands/jira-field-delete',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-jql/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-jira-expressions/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-permissions/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-worklogs/',
  ],
}
