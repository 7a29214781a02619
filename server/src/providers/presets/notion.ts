import { all, callsAt, can } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.notion.com'

export const notion: Preset = {
  id: 'notion',
  name: 'Notion',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Internal integration secret',
      help: 'Create an internal integration at notion.so/profile/integrations, copy its secret, and give it access to the pages that agents may use.',
      inject: [{ in: 'header', name: 'authorization', template: 'Bearer {api_key}' }],
      check: {
        url: 'https://api.notion.com/v1/users/me',
        headers: { 'notion-version': '2022-06-28' },
        account: { id: 'id', labels: ['name'] },
      },
      env: ['NOTION_TOKEN'],
    },
  ],
  oauth: {
    issuerUrl: 'https://api.notion.com',
    authorizationUrl: 'https://api.notion.com/v1/oauth/authorize',
    tokenUrl: 'https://api.notion.com/v1/oauth/token',
    tokenEndpointAuthMethod: 'client_secret_basic',
    // The body of a token request is validated. Form encoding and PKCE are not documented as supported.
    dialect: { isBasicUnencoded: true, omitsPkce: true, tokenRequest: 'json' },
    // Capabilities are set in the integration, and the user picks the pages it can see.
    registerUrl: 'https://www.notion.so/profile/integrations',
    defaultScopes: [],
    authorizationParams: { owner: 'user' },
    account: {
      from: 'token_answer',
      id: 'bot_id',
      labels: ['owner.user.person.email', 'owner.user.name', 'workspace_name'],
      within: 'workspace_name',
    },
    notes:
      'Create a public integration. Every API call needs a Notion-Version header, which the agent has to send. Tokens are revoked with a separate JSON call, not with RFC 7009.',
  },
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/oauth' },
    { host, path: '/scim' },
    // Exports of the workspace, and its users.
    { host, path: '/admin' },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /v1/search
        POST /v1/databases/*/query
        POST /v1/data_sources/*/query
        POST /v1/blocks/meeting_notes/query`,
    ),
    // They delete what is on a page.
    destructive: ['erase_content', 'allow_deleting_content'].map((name) => ({
      ...{ host, path: '/v1/pages', methods: ['PATCH'] },
      parameter: { in: 'body' as const, name, values: ['true'] },
    })),
  },
  abilities: [
    ...all('pages', host, '/v1/pages'),
    ...all('content of pages', host, '/v1/blocks'),
    ...all('databases', host, '/v1/databases'),
    ...all('databases', host, '/v1/data_sources'),
    ...all('comments', host, '/v1/comments'),
    can('read', 'search', 'your workspace', host, { path: '/v1/search', methods: ['POST'] }),
  ],
  bodyChecks: [],
  docs: [
    'https://developers.notion.com/reference/authentication',
    'https://developers.notion.com/guides/get-started/authorization',
    'https://developers.notion.com/reference/create-a-token',
    'https://developers.notion.com/reference/refresh-a-token',
    'https://developers.notion.com/reference/get-self',
    'https://developers.notion.com/openapi-adminApi.json',
    'https://developers.notion.com/reference/patch-page.md',
    'https://developers.notion.com/reference/update-page-markdown.md',
    'https://developers.notion.com/reference/query-meeting-notes',
    'https://developers.notion.com/reference/query-a-data-source',
    'https://developers.notion.com/reference/post-search',
  ],
}
