import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.airtable.com'

export const airtable: Preset = {
  id: 'airtable',
  name: 'Airtable',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a personal access token at airtable.com/create/tokens, with the bases and scopes that the agent needs, such as data.records:read.',
      inject: [bearer],
      check: { url: 'https://api.airtable.com/v0/meta/whoami', account: { id: 'id', labels: ['email'] } },
      env: ['AIRTABLE_API_KEY'],
    },
  ],
  apiHosts: [host, 'content.airtable.com'],
  credentialPaths: [
    { host, path: '/v0/bases/*/webhooks', methods: writes },
    { host, path: '/v0/meta/bases/*/collaborators', methods: writes },
    { host, path: '/v0/meta/bases/*/invites', methods: writes },
    { host, path: '/v0/meta/bases/*/interfaces', methods: writes },
    { host, path: '/v0/meta/workspaces/*/collaborators', methods: writes },
    { host, path: '/v0/meta/workspaces/*/invites', methods: writes },
    { host, path: '/v0/meta/enterpriseAccounts', methods: writes },
    { host, path: '/v0/meta/enterpriseAccounts/*/exports' },
    { host, path: '/scim' },
  ],
  access: {
    reads: callsAt(host, 'POST /v0/*/*/listRecords'),
    // It keeps the webhook from expiring.
    writes: callsAt(host, '/v0/bases/*/webhooks/*/payloads'),
    // Unlike PATCH, it clears all cells that the body doesn't name.
    destructive: ['/v0/*/*', '/v0/*/*/*'].map((path) => ({ host, path, methods: ['PUT'], isExact: true })),
  },
  bodyChecks: [],
  docs: [
    'https://support.airtable.com/docs/creating-personal-access-tokens.md',
    'https://airtable.com/developers/web/api/scopes',
    'https://support.airtable.com/docs/enforcement-of-url-length-limit-for-web-api-requests.md',
  ],
}
