import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'registry.npmjs.org'

export const npmRegistry: Preset = {
  id: 'npm-registry',
  name: 'npm registry',
  otherNames: ['npmjs'],
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a granular access token at npmjs.com under Access Tokens, for the packages that the agent publishes. Read-only is enough for installing.',
      inject: [bearer],
      check: { url: 'https://registry.npmjs.org/-/whoami', account: { id: 'username', labels: ['username'] } },
      env: ['NPM_TOKEN'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/-/npm/*/tokens' },
    { host, path: '/-/npm/*/user', methods: writes },
    { host, path: '/-/npm/*/hooks', methods: writes },
    { host, path: '/-/npm/*/oidc' },
    { host, path: '/-/v1/login' },
    { host, path: '/-/v1/done' },
    // Signing in with a password.
    { host, path: '/-/user', methods: writes },
    { host, path: '/-/org', methods: writes },
    { host, path: '/-/team', methods: writes },
    { host, path: '/-/package/**/access', methods: writes },
    { host, path: '/-/package/**/trust', methods: writes },
    { host, path: '/-/package/**/collaborators', methods: writes },
    // The document lists the maintainers.
    { host, path: '/**/-rev', methods: ['PUT'] },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /-/npm/v1/security/audits/quick
        POST /-/npm/v1/security/advisories/bulk`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://docs.npmjs.com/creating-and-viewing-access-tokens',
    'https://docs.npmjs.com/cli/v11/commands/npm-token/',
    'https://docs.npmjs.com/cli/v11/commands/npm-audit/',
    'https://docs.npmjs.com/using-private-packages-in-a-ci-cd-workflow',
  ],
}
