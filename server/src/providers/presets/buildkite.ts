import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.buildkite.com'

export const buildkite: Preset = {
  id: 'buildkite',
  name: 'Buildkite',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In the personal settings, open API Access Tokens, and create one for an organization with read_user, by which it is checked, and the scopes that the agent needs. Leave GraphQL off.',
      inject: [bearer],
      check: { url: 'https://api.buildkite.com/v2/user', account: { id: 'id', labels: ['email', 'name'] } },
      env: ['BUILDKITE_API_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/v2/access-token', methods: writes },
    { host, path: '/v2/organizations/*/clusters/*/tokens' },
    { host, path: '/v2/organizations/*/clusters/*/secrets', methods: writes },
    { host, path: '/v2/organizations/*/clusters/*/maintainers', methods: writes },
    { host, path: '/v2/packages/organizations/*/registries/*/tokens' },
    { host, path: '/v2/organizations/*/teams/*/members', methods: writes },
    { host, path: '/v2/organizations/*/members', methods: writes },
    { host, path: '/v2/organizations/*/services', methods: writes },
    { host, path: '/v2/organizations/*/pipelines/*/webhook', methods: writes },
    { host, path: '/v2/organizations/*/pipelines/*/schedules', methods: writes },
    // The variables of a job may be secrets.
    { host, path: '/v2/organizations/*/pipelines/*/builds/*/jobs/*/env' },
  ],
  bodyChecks: ['method_override'],
  docs: [
    'https://buildkite.com/docs/apis/managing-api-tokens',
    'https://buildkite.com/docs/apis',
    'https://buildkite.com/docs/api/',
  ],
}
