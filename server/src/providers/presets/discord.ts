import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'discord.com'

export const discord: Preset = {
  id: 'discord',
  name: 'Discord',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Bot token',
      help: 'Open your application in the Discord developer portal, and reset the token on its page "Bot" to see it.',
      inject: [{ in: 'header', name: 'authorization', template: 'Bot {api_key}' }],
      check: {
        url: 'https://discord.com/api/v10/users/@me',
        headers: { 'user-agent': 'DiscordBot (https://discord.com, 1)' },
        account: { id: 'id', labels: ['username'] },
      },
    },
  ],
  oauth: {
    issuerUrl: 'https://discord.com',
    discoveryUrl: 'https://discord.com/.well-known/oauth-authorization-server',
    authorizationUrl: 'https://discord.com/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    revocationUrl: 'https://discord.com/api/oauth2/token/revoke',
    issParameter: true,
    tokenEndpointAuthMethod: 'client_secret_post',
    registerUrl: 'https://discord.com/developers/applications',
    defaultScopes: ['identify', 'guilds'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://discord.com/api/v10/users/@me',
      id: 'id',
      labels: ['username', 'global_name'],
    },
    notes: 'The API requires a User-Agent of the form "DiscordBot (url, version)", which the agent has to send.',
  },
  apiHosts: [host],
  // The version in the path is optional, so these match at any depth.
  credentialPaths: [
    { host, path: '/oauth2' },
    { host, path: '/api/**/oauth2' },
    { host, path: '/api/**/applications' },
    { host, path: '/api/**/webhooks' },
    { host, path: '/api/**/auth' },
    { host, path: '/api/**/integrations' },
    { host, path: '/api/**/partner-sdk' },
    { host, path: '/api/**/invites', methods: ['POST'] },
    // Following a channel creates a webhook.
    { host, path: '/api/**/channels/*/followers' },
    { host, path: '/api/**/channels/*/recipients', methods: writes },
    { host, path: '/api/**/guilds/*/members', methods: writes },
    { host, path: '/api/**/guilds/*/vanity-url', methods: writes },
    { host, path: '/api/**/access-token' },
    { host, path: '/api/**/users/@me/mfa' },
  ],
  access: {
    destructive: [
      ...callsAt(
        host,
        `
        POST /api/**/messages/bulk-delete
        POST /api/**/guilds/*/prune`,
      ),
      // A ban can delete the messages of whom it is for.
      ...callsAt(
        host,
        `
        PUT /api/**/guilds/*/bans
        POST /api/**/guilds/*/bulk-ban`,
      ).flatMap((call) =>
        ['delete_message_seconds', 'delete_message_days'].map((name) => ({
          ...call,
          parameter: { in: 'body' as const, name },
        })),
      ),
    ],
  },
  bodyChecks: [],
  docs: [
    'https://discord.com/developers/docs/topics/oauth2',
    'https://discord.com/developers/docs/resources/user',
    'https://discord.com/developers/docs/resources/webhook',
    'https://discord.com/developers/docs/reference',
  ],
}
