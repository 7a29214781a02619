import { callsAt, can } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'slack.com'

/** All that change nothing, by GET or POST. */
const reads = `
  agents.conversations.getCanvas agents.conversations.listViews api.test apps.event.authorizations.list
  auth.teams.list auth.test blocks.validate bookmarks.list bots.info calls.info canvases.sections.lookup
  chat.getPermalink chat.scheduledMessages.list conversations.history conversations.info conversations.list
  conversations.listConnectInvites conversations.members conversations.replies
  conversations.requestSharedInvite.list dnd.info dnd.teamInfo emoji.list files.info files.list files.remote.info
  files.remote.list pins.list reactions.get reactions.list reminders.info reminders.list search.all search.files
  search.messages slackLists.download.get slackLists.items.info slackLists.items.list stars.list team.accessLogs
  team.billableInfo team.billing.info team.externalTeams.list team.info team.integrationLogs team.preferences.list
  team.profile.get usergroups.list usergroups.users.list users.conversations users.discoverableContacts.lookup
  users.getPresence users.identity users.info users.list users.lookupByEmail users.profile.get
  workflows.featured.list
  admin.analytics.getFile admin.apps.activities.list admin.apps.approved.list admin.apps.config.lookup
  admin.apps.requests.list admin.apps.restricted.list admin.auth.policy.getEntities admin.barriers.list
  admin.conversations.ekm.listOriginalConnectedChannelInfo admin.conversations.getConversationPrefs
  admin.conversations.getCustomRetention admin.conversations.getTeams admin.conversations.lookup
  admin.conversations.restrictAccess.listGroups admin.conversations.search admin.emoji.list admin.functions.list
  admin.functions.permissions.lookup admin.inviteRequests.approved.list admin.inviteRequests.denied.list
  admin.inviteRequests.list admin.roles.listAssignments admin.teams.admins.list admin.teams.list
  admin.teams.owners.list admin.teams.settings.info admin.usergroups.listChannels admin.users.getExpiration
  admin.users.list admin.users.session.getSettings admin.users.session.list admin.workflows.permissions.lookup
  admin.workflows.search`

export const slack: Preset = {
  id: 'slack',
  name: 'Slack',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Bot or user token',
      help: 'Create an app at api.slack.com/apps, install it, and copy its token (xoxb- or xoxp-) from OAuth & Permissions.',
      inject: [{ in: 'header', name: 'authorization', template: 'Bearer {api_key}' }],
      check: { url: 'https://slack.com/api/auth.test', account: { id: 'user_id', labels: ['user'] } },
      env: ['SLACK_BOT_TOKEN'],
    },
  ],
  oauth: {
    issuerUrl: 'https://slack.com',
    authorizationUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    tokenEndpointAuthMethod: 'client_secret_post',
    dialect: {
      // An app has to opt in to PKCE, which makes it a public client permanently.
      omitsPkce: true,
      scopeSeparator: ',',
      scopeParameter: 'user_scope',
      // The response may contain a bot token as well. In the response to a refresh, the user's token is at the top level.
      tokensIn: 'authed_user',
      isAlwaysBearer: true,
      errorsWithStatus200: true,
    },
    registerUrl: 'https://api.slack.com/apps',
    defaultScopes: ['channels:read', 'users:read'],
    account: {
      from: 'request',
      method: 'POST',
      url: 'https://slack.com/api/auth.test',
      id: 'user_id',
      labels: ['user', 'user_id'],
      within: 'team',
    },
    notes:
      'The scopes are user token scopes and must be listed as such in the app. Tokens expire and are refreshed only with token rotation, which cannot be turned off again. Leave PKCE off.',
  },
  apiHosts: [host, 'files.slack.com'],
  sameCallsAt: ['*.slack.com'],
  credentialPaths: [
    { host, path: '/api/oauth.*' },
    { host, path: '/api/openid.*' },
    { host, path: '/api/apps.*' },
    { host, path: '/api/tooling.*' },
    { host, path: '/api/auth.revoke' },
    { host, path: '/api/auth.signin' },
    { host, path: '/api/auth.find*' },
    { host, path: '/api/rtm.*' },
    { host, path: '/api/admin.apps.*' },
    { host, path: '/api/admin.auth.*' },
    { host, path: '/api/admin.users.session.*' },
    { host, path: '/api/admin.users.invite' },
    { host, path: '/api/admin.users.assign' },
    { host, path: '/api/admin.users.set*' },
    { host, path: '/api/admin.inviteRequests.approve' },
    { host, path: '/api/admin.roles.*' },
    { host, path: '/api/admin.teams.create' },
    { host, path: '/api/admin.functions.permissions.set' },
    { host, path: '/api/admin.workflows.collaborators.*' },
    { host, path: '/api/users.admin.*' },
    // Slack Connect gives access to people of other workspaces.
    { host, path: '/api/conversations.inviteShared' },
    { host, path: '/api/conversations.acceptSharedInvite' },
    { host, path: '/api/conversations.approveSharedInvite' },
    { host, path: '/api/conversations.requestSharedInvite.approve' },
    { host, path: '/api/conversations.externalInvitePermissions.set' },
    // A trigger has a URL that starts its workflow without a token.
    { host, path: '/api/workflows.triggers.*' },
    { host, path: '/api/functions.distributions.permissions.*' },
    { host, path: '/oauth' },
    { host, path: '/openid' },
  ],
  access: {
    getIsRead: false,
    reads: [
      ...reads
        .trim()
        .split(/\s+/)
        .map((method) => ({ host, path: `/api/${method}` })),
      ...callsAt(
        'files.slack.com',
        `
        GET,HEAD /files-pri/**
        GET,HEAD /files-tmb/**`,
      ),
    ],
    destructive: [
      { host, path: '/api/*delete*' },
      { host, path: '/api/admin.*.remove*' },
      { host, path: '/api/files.remote.remove' },
      { host, path: '/api/bookmarks.remove' },
    ],
  },
  // Nearly all methods take POST, also those that read.
  abilities: [
    can('read', 'read', 'your channels and messages', host, { methods: ['GET', 'POST'] }),
    can('write', 'post', 'messages as you', host, { path: '/api/chat.postMessage', only: true }),
    can('write', 'change', 'your channels and messages', host, { methods: ['GET', 'POST'] }),
    can('read', 'download', 'files', 'files.slack.com'),
  ],
  bodyChecks: [],
  docs: [
    'https://docs.slack.dev/authentication/tokens',
    'https://docs.slack.dev/authentication/installing-with-oauth',
    'https://docs.slack.dev/authentication/using-token-rotation',
    'https://docs.slack.dev/authentication/using-pkce',
    'https://docs.slack.dev/reference/methods/oauth.v2.access',
    'https://docs.slack.dev/reference/methods/auth.test',
    'https://docs.slack.dev/reference/methods',
    'https://docs.slack.dev/reference/methods/agents.conversations.getCanvas',
    'https://docs.slack.dev/reference/methods/agents.conversations.listViews',
    'https://docs.slack.dev/reference/methods/admin.users.getExpiration',
    'https://docs.slack.dev/reference/methods/blocks.validate',
    'https://docs.slack.dev/reference/objects/file-object',
    'https://raw.githubusercontent.com/slackapi/python-slack-sdk/main/slack_sdk/web/client.py',
    'https://slack.dev/python-slack-sdk/api-docs/slack_sdk/web/base_client.html',
    'https://docs.slack.dev/reference/methods/bookmarks.remove',
  ],
}
