import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.cohere.com'

export const cohere: Preset = {
  id: 'cohere',
  name: 'Cohere',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at dashboard.cohere.com under API keys. A trial key is free and limited.',
      inject: [bearer],
      check: { url: 'https://api.cohere.com/v1/models' },
      env: ['CO_API_KEY', 'COHERE_API_KEY'],
    },
  ],
  apiHosts: [host],
  // A connector keeps the credentials of another service.
  credentialPaths: [
    { host, path: '/v1/connectors', methods: writes },
    { host, path: '/v1/connectors/*/oauth' },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /v1/tokenize
        POST /v1/detokenize`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://docs.cohere.com/reference/about',
    'https://docs.cohere.com/docs/connector-authentication',
    'https://docs.cohere.com/v2/reference/detokenize.md',
    'https://docs.cohere.com/v1/reference/tokenize.md',
  ],
}
