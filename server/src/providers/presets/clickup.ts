import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.clickup.com'

export const clickup: Preset = {
  id: 'clickup',
  name: 'ClickUp',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In ClickUp, open Settings, Apps, and generate an API token. It can do what its owner can: a user of its own with few spaces is better.',
      inject: [{ in: 'header', name: 'authorization', template: '{api_key}' }],
      check: {
        url: 'https://api.clickup.com/api/v2/user',
        account: { id: 'user.id', labels: ['user.email', 'user.username'] },
      },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/api/*/oauth' },
    { host, path: '/api/*/webhook', methods: writes },
    { host, path: '/api/*/team/*/webhook', methods: writes },
    { host, path: '/api/*/team/*/user', methods: writes },
    { host, path: '/api/*/team/*/guest', methods: writes },
    { host, path: '/api/*/team/*/group', methods: writes },
    { host, path: '/api/*/group', methods: writes },
  ],
  bodyChecks: [],
  docs: ['https://developer.clickup.com/docs/authentication.md', 'https://developer.clickup.com/docs'],
}
