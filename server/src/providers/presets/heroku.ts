import { bearer, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.heroku.com'

export const heroku: Preset = {
  id: 'heroku',
  name: 'Heroku',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Run "heroku authorizations:create --scope read,identity" for a token that only reads, or with other scopes if the agent should change apps.',
      inject: [bearer],
      check: {
        url: 'https://api.heroku.com/account',
        headers: { accept: 'application/vnd.heroku+json; version=3' },
        account: { id: 'id', labels: ['email'] },
      },
      env: ['HEROKU_API_KEY'],
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/oauth' },
    { host, path: '/account/keys', methods: writes },
    { host, path: '/users/*/keys', methods: writes },
    { host, path: '/account', methods: writes, isExact: true },
    { host, path: '/users/*', methods: writes, isExact: true },
    { host, path: '/**/password-resets' },
    { host, path: '/account/app-transfers' },
    { host, path: '/account/sms-number', methods: writes },
    { host, path: '/apps/*/config-vars' },
    { host, path: '/pipelines/*/stage/*/config-vars' },
    { host, path: '/addons/*/config' },
    { host, path: '/addons/*/sso' },
    { host, path: '/apps/*/addons/*/sso' },
    { host, path: '/addons/*/webhooks', methods: writes },
    { host, path: '/apps/*/webhooks', methods: writes },
    { host, path: '/apps/*/log-drains' },
    { host, path: '/apps/*/collaborators', methods: writes },
    { host, path: '/apps/*/sni-endpoints', methods: writes },
    { host, path: '/teams/apps/*/collaborators', methods: writes },
    { host, path: '/teams/*/members', methods: writes },
    { host, path: '/teams/*/invitations', methods: writes },
    { host, path: '/teams/*/identity-providers', methods: writes },
    { host, path: '/enterprise-accounts/*/members', methods: writes },
    { host, path: '/enterprise-accounts/*/identity-providers', methods: writes },
    { host, path: '/enterprise-accounts/*/archives' },
    { host, path: '/spaces/*/members', methods: writes },
    { host, path: '/spaces/*/vpn-connections' },
    { host, path: '/spaces/*/transfer' },
    { host, path: '/pipeline-transfers' },
  ],
  bodyChecks: [],
  docs: [
    'https://devcenter.heroku.com/articles/platform-api-quickstart',
    'https://devcenter.heroku.com/platform-api-reference',
    'https://devcenter.heroku.com/articles/oauth',
  ],
}
