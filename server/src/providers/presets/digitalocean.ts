import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.digitalocean.com'

export const digitalocean: Preset = {
  id: 'digitalocean',
  name: 'DigitalOcean',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a personal access token under API, Tokens, with custom scopes: account:read, by which it is checked, and what the agent needs. Leave out database:view_credentials.',
      inject: [bearer],
      check: {
        url: 'https://api.digitalocean.com/v2/account',
        account: { id: 'account.uuid', labels: ['account.team.name', 'account.email'] },
      },
      env: ['DIGITALOCEAN_ACCESS_TOKEN', 'DIGITALOCEAN_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v2/account/keys', methods: writes },
    { host, path: '/v2/spaces/keys' },
    { host, path: '/v2/kubernetes/clusters/*/kubeconfig' },
    { host, path: '/v2/kubernetes/clusters/*/credentials' },
    { host, path: '/v2/registry/docker-credentials' },
    { host, path: '/v2/registries/*/docker-credentials' },
    // The answers contain how to connect, password included.
    { host, path: '/v2/databases', isExact: true },
    { host, path: '/v2/databases/*', isExact: true },
    { host, path: '/v2/databases/*/pools' },
    { host, path: '/v2/databases/*/replicas' },
    { host, path: '/v2/databases/*/users' },
    { host, path: '/v2/databases/*/logsink', methods: writes },
    { host, path: '/v2/databases/metrics/credentials' },
    { host, path: '/v2/vector-databases/*/credentials' },
    { host, path: '/v2/functions' },
    { host, path: '/v2/gen-ai/**/api_keys' },
    { host, path: '/v2/gen-ai/*/keys' },
    { host, path: '/v2/gen-ai/oauth2' },
    { host, path: '/v2/dedicated-inferences/*/tokens' },
    { host, path: '/v2/monitoring/sinks', methods: writes },
    { host, path: '/v2/monitoring/alerts', methods: writes },
    { host, path: '/v2/uptime/checks/*/alerts', methods: writes },
    { host, path: '/v2/apps/*/alerts/*/destinations', methods: writes },
    // The answer contains the URL of a console.
    { host, path: '/v2/apps/**/exec' },
  ],
  access: {
    destructive: [
      ...callsAt(
        host,
        `
        POST /v2/droplets/*/destroy_with_associated_resources/retry
        POST /v2/registry/*/garbage-collection
        POST /v2/registries/*/garbage-collection`,
      ),
      // They replace the disk.
      ...['/v2/droplets/actions', '/v2/droplets/*/actions'].map((path) => ({
        ...{ host, path, methods: ['POST'] },
        parameter: { in: 'body' as const, name: 'type', values: ['rebuild', 'restore'] },
      })),
    ],
  },
  bodyChecks: ['method_override'],
  docs: [
    'https://www.digitalocean.com/docs/apis-clis/api/create-personal-access-token/',
    'https://docs.digitalocean.com/reference/api/',
    'https://docs.digitalocean.com/reference/api/oauth-api',
    'https://docs.digitalocean.com/reference/pydo/reference/droplet_actions/post/',
    'https://docs.digitalocean.com/reference/pydo/reference/droplets/destroy_retry_with_associated_resources',
    'https://docs.digitalocean.com/reference/dots/reference/container-registries/registries-run-garbagecollection/',
  ],
}
