import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.atlassian.net'

export const jira: Preset = {
  id: 'jira',
  name: 'Jira',
  authMethods: [
    {
      kind: 'basic',
      help: 'Create an API token without scopes at id.atlassian.com under Security, API tokens. It can do what its owner can: a user of its own with few projects is better. The site is the first part of its address.',
      members: [
        { name: 'site', label: 'Site', host: '{site}.atlassian.net' },
        { name: 'username', label: 'E-mail address' },
        { name: 'password', label: 'API token' },
      ],
      check: {
        url: 'https://{site}.atlassian.net/rest/api/3/myself',
        account: { id: 'accountId', labels: ['emailAddress', 'displayName'] },
      },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    // GraphQL, and the internal APIs of all products.
    { host, path: '/gateway' },
    { host, path: '/admin' },
    { host, path: '/rest/pat' },
    { host, path: '/rest/backup' },
    { host, path: '/wiki/rest/obm' },
    { host, path: '/rest/plugins', methods: writes },
    { host, path: '/wiki/rest/plugins', methods: writes },
    { host, path: '/**/atlassian-connect' },
    { host, path: '/rest/forge', methods: writes },
    { host, path: '/**/webhook', methods: writes },
    { host, path: '/**/webhooks', methods: writes },
    { host, path: '/**/automation', methods: writes },
    { host, path: '/rest/cb-automation', methods: writes },
    { host, path: '/rest/api/*/application-properties', methods: writes },
    { host, path: '/rest/api/*/user', methods: ['POST', 'DELETE'] },
    { host, path: '/rest/api/*/group', methods: writes },
    { host, path: '/rest/api/*/project/*/role', methods: writes },
    { host, path: '/rest/api/*/role', methods: writes },
    { host, path: '/rest/api/*/permissionscheme', methods: writes },
    { host, path: '/rest/servicedeskapi/customer', methods: writes },
    { host, path: '/rest/servicedeskapi/servicedesk/*/customer', methods: writes },
    { host, path: '/wiki/**/invite-by-email' },
    { host, path: '/wiki/rest/api/group', methods: writes },
    { host, path: '/wiki/rest/api/space/*/permission', methods: writes },
    { host, path: '/wiki/**/space-permissions', methods: writes },
    { host, path: '/wiki/**/role-assignments', methods: writes },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /rest/api/*/search
        POST /rest/api/*/search/jql
        POST /rest/api/*/search/approximate-count
        POST /rest/api/*/jql/autocompletedata
        POST /rest/api/*/jql/match
        POST /rest/api/*/jql/parse
        POST /rest/api/*/jql/sanitize
        POST /rest/api/*/expression/eval
        POST /rest/api/*/expression/evaluate
        POST /rest/api/*/expression/analyse
        POST /rest/api/*/permissions/check
        POST /rest/api/*/permissions/project
        POST /rest/api/*/issue/bulkfetch
        POST /rest/api/*/changelog/bulkfetch
        POST /rest/api/*/comment/list
        POST /rest/api/*/worklog/list
        POST /wiki/api/v2/content/convert-ids-to-types`,
    ),
    // On request they list it among what the user viewed last.
    writes: [
      ...['/rest/api/*/issue/*', '/rest/agile/*/issue/*'].map((path) => ({
        ...{ host, path, isExact: true },
        parameter: { in: 'query' as const, name: 'updateHistory', values: ['true'] },
      })),
      {
        ...{ host, path: '/wiki/rest/api/content/*', isExact: true },
        parameter: { in: 'query', name: 'trigger', values: ['viewed'] },
      },
    ],
    destructive: callsAt(
      host,
      `
        POST /rest/api/*/bulk/issues/delete
        POST /rest/api/*/project/*/delete
        POST /rest/api/*/version/*/removeAndSwap
        PUT /rest/api/*/version/*/mergeto
        POST /rest/api/*/field/*/trash`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://developer.atlassian.com/cloud/jira/platform/jira-rest-api-basic-authentication',
    'https://developer.atlassian.com/cloud/jira/software/basic-auth-for-rest-apis/',
    'https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-content/',
    'https://developer.atlassian.com/cloud/confluence/rest/v1/api-group-content/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-worklogs/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-jql/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-jira-expressions/',
    'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-permissions/',
    'https://developer.atlassian.com/cloud/acli/reference/commands/jira-field-delete',
  ],
}
