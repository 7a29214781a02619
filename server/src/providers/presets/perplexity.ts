import { bearer, callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.perplexity.ai'

export const perplexity: Preset = {
  id: 'perplexity',
  name: 'Perplexity',
  authMethods: [
    {
      // Without a check: no request is documented that is not charged.
      kind: 'api_key',
      help: 'Create an API group and in it a key at console.perplexity.ai. Each request is charged to the group.',
      inject: [bearer],
      env: ['PERPLEXITY_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/generate_auth_token' },
    { host, path: '/revoke_auth_token' },
  ],
  access: {
    reads: callsAt(host, 'POST /search'),
  },
  bodyChecks: [],
  docs: [
    'https://docs.perplexity.ai/guides/api-key-management',
    'https://docs.perplexity.ai/api-reference/generate-auth-token-post',
    'https://docs.perplexity.ai/docs/search/overview',
    'https://raw.githubusercontent.com/perplexityai/perplexity-py/main/README.md',
  ],
}
