import type { Preset } from './preset.ts'

export const braveSearch: Preset = {
  id: 'brave-search',
  name: 'Brave Search',
  authMethods: [
    {
      // Without a check: every request is a search that is paid for.
      kind: 'api_key',
      help: 'Create a key at api-dashboard.search.brave.com under API Keys. Each search is charged to its plan.',
      inject: [{ in: 'header', name: 'x-subscription-token', template: '{api_key}' }],
      env: ['BRAVE_API_KEY'],
    },
  ],
  apiHosts: ['api.search.brave.com'],
  credentialPaths: 'none',
  bodyChecks: [],
  docs: [
    'https://api-dashboard.search.brave.com/documentation/guides/authentication',
    'https://api-dashboard.search.brave.com/documentation/quickstart',
  ],
}
