import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.hetzner.cloud'

export const hetzner: Preset = {
  id: 'hetzner',
  name: 'Hetzner',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a token in the Hetzner Console: open the project, then Security, API tokens. Choose Read if the agent should change nothing. It is for this project alone.',
      inject: [bearer],
      check: { url: 'https://api.hetzner.cloud/v1/locations' },
      env: ['HCLOUD_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v1/ssh_keys', methods: writes },
    { host, path: '/v1/servers/*/actions/reset_password' },
    { host, path: '/v1/servers/*/actions/request_console' },
    { host, path: '/v1/servers/*/actions/enable_rescue' },
    // Without an SSH key, the answer contains the root password.
    { host, path: '/v1/servers/*/actions/rebuild' },
  ],
  access: {
    destructive: callsAt(
      host,
      `
        POST /v1/servers/*/actions/rebuild
        POST /v1/servers/*/actions/disable_backup
        POST /v1/load_balancers/*/actions/delete_service
        POST /v1/networks/*/actions/delete_subnet
        POST /v1/networks/*/actions/delete_route
        POST /v1/zones/*/actions/import_zonefile
        POST /v1/zones/*/rrsets/*/*/actions/set_records
        POST /v1/zones/*/rrsets/*/*/actions/remove_records`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://docs.hetzner.com/cloud/api/getting-started/generating-api-token/',
    'https://docs.hetzner.cloud/',
    'https://github.com/hetznercloud/setup-hcloud',
  ],
}
