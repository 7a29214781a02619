import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.openai.com'

export const openai: Preset = {
  id: 'openai',
  name: 'OpenAI',
  otherNames: ['ChatGPT'],
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a project key at platform.openai.com under API keys. Give it "Restricted" permissions: the models it needs, and nothing else. It should not be an admin key.',
      inject: [bearer],
      check: { url: 'https://api.openai.com/v1/me', account: { id: 'id', labels: ['email', 'name'] } },
      env: ['OPENAI_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/organization/admin_api_keys' },
    { host, path: '/v1/organization/projects/*/api_keys' },
    { host, path: '/v1/organization/projects/*/service_accounts' },
    { host, path: '/v1/organization/**/certificates', methods: writes },
    { host, path: '/v1/organization/**/users', methods: writes },
    { host, path: '/v1/organization/**/groups', methods: writes },
    { host, path: '/v1/organization/**/roles', methods: writes },
    { host, path: '/v1/organization/invites', methods: writes },
    { host, path: '/v1/projects', methods: writes },
    // They return a key that a browser could use.
    { host, path: '/v1/realtime/client_secrets' },
    { host, path: '/v1/realtime/sessions' },
    { host, path: '/v1/realtime/transcription_sessions' },
    { host, path: '/v1/chatkit/sessions' },
    // Shares a fine-tuned model with other projects.
    { host, path: '/v1/fine_tuning/checkpoints/*/permissions', methods: writes },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /v1/vector_stores/*/search
        POST /v1/responses/input_tokens`,
    ),
    // There is no call that undoes it.
    destructive: callsAt(host, 'POST /v1/organization/projects/*/archive'),
  },
  bodyChecks: [],
  docs: [
    'https://developers.openai.com/api/docs/guides/admin-apis',
    'https://developers.openai.com/api/reference/administration/overview',
    'https://help.openai.com/en/articles/9132009-how-can-i-view-the-usage-of-my-api-organization',
    'https://developers.openai.com/api/docs/guides/token-counting',
    'https://developers.openai.com/api/reference/resources/vector_stores/methods/search',
    'https://developers.openai.com/api/reference/resources/organization/subresources/projects/methods/archive',
  ],
}
