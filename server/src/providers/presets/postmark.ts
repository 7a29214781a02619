import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.postmarkapp.com'

export const postmark: Preset = {
  id: 'postmark',
  name: 'Postmark',
  authMethods: [
    {
      kind: 'api_key',
      label: 'Server API token',
      help: 'Open the server in Postmark, then API Tokens. It can send and read the messages of this server alone.',
      inject: [{ in: 'header', name: 'x-postmark-server-token', template: '{api_key}' }],
      check: { url: 'https://api.postmarkapp.com/server', account: { id: 'ID', labels: ['Name'] } },
    },
    {
      kind: 'api_key',
      name: 'account_token',
      label: 'Account API token',
      help: 'Open API Tokens of the account in Postmark. It is for domains and sender signatures, not for sending.',
      inject: [{ in: 'header', name: 'x-postmark-account-token', template: '{api_key}' }],
      check: { url: 'https://api.postmarkapp.com/domains?count=1&offset=0' },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    // The answers contain the tokens of the servers.
    { host, path: '/server' },
    { host, path: '/servers' },
    { host, path: '/webhooks', methods: writes },
  ],
  access: {
    reads: callsAt(host, 'POST /templates/validate'),
    // An archived stream is purged later.
    destructive: callsAt(
      host,
      `
        POST /message-streams/*/suppressions/delete
        POST /message-streams/*/archive
        POST /data-removals`,
    ),
  },
  bodyChecks: [],
  docs: [
    'https://postmarkapp.com/developer/api/overview',
    'https://postmarkapp.com/auth.md',
    'https://postmarkapp.com/developer/user-guide/managing-your-account/managing-servers',
    'https://postmarkapp.com/developer/api/templates-api',
    'https://postmarkapp.com/developer/api/data-removals-api',
    'https://postmarkapp.com/support/article/1215-managing-message-streams-with-postmarks-api',
  ],
}
