import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.elevenlabs.io'

export const elevenlabs: Preset = {
  id: 'elevenlabs',
  name: 'ElevenLabs',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at elevenlabs.io/app/settings/api-keys. Restrict it to what the agent needs, with a credit limit, and let it read "User", by which it is checked.',
      inject: [{ in: 'header', name: 'xi-api-key', template: '{api_key}' }],
      check: { url: 'https://api.elevenlabs.io/v1/user', account: { id: 'user_id', labels: ['first_name'] } },
      env: ['ELEVENLABS_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/service-accounts' },
    { host, path: '/v1/single-use-token' },
    { host, path: '/v1/convai/conversation/token' },
    { host, path: '/v1/convai/conversation/get-signed-url' },
    { host, path: '/v1/convai/secrets', methods: writes },
    { host, path: '/v1/convai/settings', methods: writes },
    { host, path: '/v1/convai/mcp-servers', methods: writes },
    { host, path: '/v1/convai/whatsapp-accounts', methods: writes },
    { host, path: '/v1/workspaces/api-keys' },
    { host, path: '/v1/workspace/auth-connections' },
    { host, path: '/v1/workspace/webhooks', methods: writes },
    { host, path: '/v1/workspace/invites', methods: writes },
    { host, path: '/v1/workspace/members', methods: writes },
    { host, path: '/v1/workspace/groups/*/members', methods: writes },
  ],
  bodyChecks: [],
  docs: [
    'https://github.com/elevenlabs/skills/blob/main/setup-api-key/SKILL.md',
    'https://elevenlabs.io/docs/eleven-api/resources/webhooks',
  ],
}
