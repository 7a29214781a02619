import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'openrouter.ai'

export const openrouter: Preset = {
  id: 'openrouter',
  name: 'OpenRouter',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at openrouter.ai/keys with a credit limit. It should not be a management key.',
      inject: [bearer],
      check: { url: 'https://openrouter.ai/api/v1/key' },
      env: ['OPENROUTER_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/auth' },
    { host, path: '/oauth' },
    { host, path: '/api/*/auth' },
    { host, path: '/api/*/oauth' },
    { host, path: '/api/*/keys' },
    { host, path: '/api/*/byok' },
    { host, path: '/api/*/vault' },
    { host, path: '/api/*/scim' },
    { host, path: '/api/*/organization', methods: writes },
    { host, path: '/api/*/workspaces/*/members', methods: writes },
    { host, path: '/api/*/observability/destinations', methods: writes },
  ],
  bodyChecks: [],
  docs: [
    'https://openrouter.ai/docs/api-keys',
    'https://www.openrouter.ai/docs/api/api-reference/api-keys/get-current-api-key',
  ],
}
