import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.anthropic.com'

export const anthropic: Preset = {
  id: 'anthropic',
  name: 'Anthropic',
  otherNames: ['Claude'],
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at platform.claude.com under API keys, in a workspace of its own with a spend limit. It should not be an admin key.',
      inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }],
      check: { url: 'https://api.anthropic.com/v1/models', headers: { 'anthropic-version': '2023-06-01' } },
      env: ['ANTHROPIC_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/organizations/api_keys' },
    { host, path: '/v1/organizations/external_keys' },
    { host, path: '/v1/organizations/**/service_accounts', methods: writes },
    { host, path: '/v1/organizations/federation_issuers', methods: writes },
    { host, path: '/v1/organizations/federation_rules', methods: writes },
    { host, path: '/v1/organizations/invites', methods: writes },
    { host, path: '/v1/organizations/users', methods: writes },
    { host, path: '/v1/organizations/**/members', methods: writes },
    { host, path: '/v1/organizations/rbac_groups', methods: writes },
    { host, path: '/v1/organizations/rbac_roles', methods: writes },
    { host, path: '/v1/organizations/webhooks' },
    { host, path: '/v1/organizations/telemetry_destinations', methods: writes },
    { host, path: '/v1/organizations/plugin_marketplaces', methods: writes },
    { host, path: '/v1/vaults' },
    { host, path: '/v1/tunnels' },
    { host, path: '/v1/user_profiles/*/enrollment_url' },
    { host, path: '/v1/oauth' },
  ],
  access: {
    reads: callsAt(host, 'POST /v1/messages/count_tokens'),
    // What is archived can't be restored.
    destructive: callsAt(
      host,
      `
        POST /v1/agents/*/archive
        POST /v1/sessions/*/archive
        POST /v1/memory_stores/*/archive
        POST /v1/memory_stores/*/memory_versions/*/redact
        POST /v1/organizations/workspaces/*/archive`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://platform.claude.com/docs/en/get-api-key',
    'https://docs.anthropic.com/ja/api/overview',
    'https://platform.claude.com/docs/en/api/messages',
    'https://platform.claude.com/docs/en/api/resources/messages/methods/count_tokens',
    'https://platform.claude.com/docs/managed-agents/session-operations',
    'https://platform.claude.com/docs/en/api/python/beta/memory_stores/memory_versions',
  ],
}
