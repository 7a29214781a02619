import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.trello.com'

export const trello: Preset = {
  id: 'trello',
  name: 'Trello',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a Power-Up at trello.com/power-ups/admin and in it an API key. Follow the link beside the key to allow it access to your account, which shows a token.',
      members: [
        { name: 'api_key', label: 'API key' },
        { name: 'api_token', label: 'Token' },
      ],
      inject: [
        { in: 'query', name: 'key', template: '{api_key}' },
        { in: 'query', name: 'token', template: '{api_token}' },
      ],
      check: { url: 'https://api.trello.com/1/members/me', account: { id: 'id', labels: ['username', 'fullName'] } },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/1/tokens' },
    { host, path: '/1/authorize' },
    { host, path: '/1/OAuth*' },
    { host, path: '/1/webhooks', methods: writes },
    { host, path: '/1/members/*/tokens' },
    { host, path: '/1/organizations/*/members', methods: writes },
    { host, path: '/1/organizations/*/exports' },
    { host, path: '/1/enterprises', methods: writes },
    { host, path: '/1/boards/*/emailKey' },
    { host, path: '/1/boards/*/calendarKey' },
    // Calls inside a call, as a parameter.
    { host, path: '/1/batch' },
  ],
  bodyChecks: [],
  docs: [
    'https://developer.atlassian.com/cloud/trello/guides/rest-api/authorization/',
    'https://developer.atlassian.com/cloud/trello/rest/api-group-tokens',
  ],
}
