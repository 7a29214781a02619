import { writes } from './preset.ts'
import type { Preset } from './preset.ts'

const products = ['conversations', 'events', 'iam', 'lookups', 'messaging', 'verify', 'voice']
const apiHosts = ['api.twilio.com', ...products.map((product) => `${product}.twilio.com`)]
const host = 'api.twilio.com'
const anyHost = '*.twilio.com'

export const twilio: Preset = {
  id: 'twilio',
  name: 'Twilio',
  authMethods: [
    {
      kind: 'api_key',
      label: 'API key',
      help: 'Create a restricted key in the Console under Account management, API keys & tokens. Allow what the agent needs, and reading messages, by which the key is checked.',
      members: [
        { name: 'account_sid', label: 'Account SID', secret: false },
        { name: 'key_sid', label: 'API key SID', secret: false },
        { name: 'key_secret', label: 'API key secret' },
      ],
      inject: [{ in: 'header', name: 'authorization', template: 'Basic {base64({key_sid}:{key_secret})}' }],
      check: { url: 'https://api.twilio.com/2010-04-01/Accounts/{account_sid}/Messages.json?PageSize=1' },
    },
    {
      kind: 'basic',
      label: 'Auth token',
      help: 'The account SID and the auth token are on the start page of the Console. They can do everything: prefer an API key.',
      members: [
        { name: 'username', label: 'Account SID' },
        { name: 'password', label: 'Auth token' },
      ],
      check: {
        url: 'https://api.twilio.com/2010-04-01/Accounts/{username}.json',
        account: { id: 'sid', labels: ['friendly_name'] },
      },
      // The SID stands in paths as well, where a placeholder would not do.
      env: ['TWILIO_AUTH_TOKEN'],
    },
  ],
  apiHosts,
  credentialPaths: [
    // The answer contains the auth token.
    { host, path: '/*/Accounts', isExact: true },
    { host, path: '/*/Accounts/*', isExact: true },
    { host, path: '/*/Accounts/*/Keys' },
    { host, path: '/*/Accounts/*/SigningKeys' },
    { host, path: '/*/Accounts/*/Tokens' },
    { host, path: '/*/Accounts/*/SIP/CredentialLists' },
    { host, path: '/*/Accounts/*/SIP/Domains', methods: writes },
    { host, path: '/*/Accounts/*/AuthorizedConnectApps', methods: writes },
    { host, path: '/*/Accounts/*/ConnectApps', methods: writes },
    { host: 'iam.twilio.com', path: '/*/Keys' },
    { host: 'iam.twilio.com', path: '/*/token' },
    { host: 'iam.twilio.com', path: '/**/Tokens' },
    { host: 'iam.twilio.com', path: '/*/Roles', methods: writes },
    { host: 'events.twilio.com', path: '/*/Sinks', methods: writes },
    { host: 'events.twilio.com', path: '/*/Subscriptions', methods: writes },
    { host: 'verify.twilio.com', path: '/*/Services/*/AccessTokens' },
    { host: anyHost, path: '/**/Credentials' },
    { host: anyHost, path: '/**/Webhooks', methods: writes },
    // Which URL is told of calls and messages.
    { host, path: '/*/Accounts/*/IncomingPhoneNumbers', methods: writes },
    { host, path: '/*/Accounts/*/Applications', methods: writes },
    { host, path: '/*/Accounts/*/Usage/Triggers', methods: writes },
    { host: 'voice.twilio.com', path: '/*/ByocTrunks', methods: writes },
    { host: 'messaging.twilio.com', path: '/*/Services', methods: writes },
  ],
  bodyChecks: [],
  docs: [
    'https://www.twilio.com/docs/iam/api-keys',
    'https://www.twilio.com/docs/iam/api-keys/key-resource-v1',
    'https://www.twilio.com/docs/iam/api/account',
  ],
}
