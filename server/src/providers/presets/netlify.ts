import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.netlify.com'

export const netlify: Preset = {
  id: 'netlify',
  name: 'Netlify',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a personal access token in the user settings under Applications, with an expiration date. It can do what its owner can: an account of its own with few sites is better.',
      inject: [bearer],
      check: { url: 'https://api.netlify.com/api/v1/user', account: { id: 'id', labels: ['email', 'full_name'] } },
      env: ['NETLIFY_AUTH_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/oauth' },
    { host, path: '/api/*/oauth' },
    { host, path: '/api/*/deploy_keys' },
    { host, path: '/api/*/hooks', methods: writes },
    // Whoever knows the URL can start a build.
    { host, path: '/api/*/sites/*/build_hooks' },
    { host, path: '/api/*/sites/*/agent_runner_hooks' },
    { host, path: '/api/*/sites/*/dev_server_hooks' },
    { host, path: '/api/*/sites/*/env' },
    { host, path: '/api/*/accounts/*/env' },
    { host, path: '/api/*/sites/*/ai-gateway/token' },
    { host, path: '/api/*/accounts/*/ai-gateway/token' },
    // The answer contains how to connect, password included.
    { host, path: '/api/*/sites/*/database' },
    { host, path: '/api/*/sites/*/service-instances', methods: writes },
    { host, path: '/api/*/sites/*/services', methods: writes },
    { host, path: '/api/*/*/members', methods: writes },
    { host, path: '/api/*/dns_zones/*/transfer' },
  ],
  bodyChecks: ['method_override'],
  docs: [
    'https://docs.netlify.com/api-and-cli-guides/api-guides/get-started-with-api.md',
    'https://netlify.com/auth.md',
    'https://open-api.netlify.com/',
  ],
}
