import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.mistral.ai'

export const mistral: Preset = {
  id: 'mistral',
  name: 'Mistral',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key in Studio under API keys, in a workspace of its own and with an expiration date.',
      inject: [bearer],
      check: { url: 'https://api.mistral.ai/v1/users/me', account: { id: 'id', labels: ['email'] } },
      env: ['MISTRAL_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/service-accounts', methods: writes },
    { host, path: '/v1/client/sessions' },
    // Accounts of other services, connected for the organization.
    { host, path: '/v1/connectors/**/credentials' },
    { host, path: '/v1/connectors/*/auth_url' },
    { host, path: '/v1/connectors', methods: writes, isExact: true },
  ],
  bodyChecks: [],
  docs: ['https://docs.mistral.ai/admin/security-access/api-keys', 'https://docs.mistral.ai/api'],
}
