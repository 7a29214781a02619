import { bearer, callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.replicate.com'

export const replicate: Preset = {
  id: 'replicate',
  name: 'Replicate',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a token at replicate.com/account/api-tokens. It can do everything in the account, and spends its credit.',
      inject: [bearer],
      check: { url: 'https://api.replicate.com/v1/account', account: { id: 'username', labels: ['username'] } },
      env: ['REPLICATE_API_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [{ host, path: '/v1/webhooks/default/secret' }],
  access: {
    reads: callsAt(host, 'QUERY /v1/models'),
  },
  bodyChecks: [],
  docs: [
    'https://replicate.com/docs/topics/security/api-tokens',
    'https://replicate.com/docs/webhooks',
    'https://replicate.com/docs/reference/http.md',
    'https://replicate.com/changelog/2024-07-24-api-for-searching-public-models',
  ],
}
