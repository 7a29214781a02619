import { bearer, callsAt } from './preset.ts'
import type { Preset } from './preset.ts'

export const tavily: Preset = {
  id: 'tavily',
  name: 'Tavily',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a key at app.tavily.com under API Keys. Each search is charged to its plan.',
      inject: [bearer],
      check: { url: 'https://api.tavily.com/usage' },
      env: ['TAVILY_API_KEY'],
    },
  ],
  apiHosts: ['api.tavily.com'],
  // Keys are made at another host.
  credentialPaths: 'none',
  access: {
    reads: callsAt(
      'api.tavily.com',
      `
        POST /search
        POST /extract
        POST /map`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://docs.tavily.com/documentation/api-reference/endpoint/usage.md',
    'https://docs.tavily.com/documentation/enterprise/key-info.md',
    'https://docs.tavily.com/api-reference/introduction',
    'https://tavily.com/.well-known/openapi.json',
  ],
}
