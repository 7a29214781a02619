import type { Preset } from './preset.ts'

const host = 'api.linear.app'

/** Credentials, sign-in methods, webhooks and other deliveries, invitations. */
const credentialFields = [
  'apiKeyCreate apiKeyUpdate apiKeyDelete oauthClientCreate oauthClientUpdate oauthClientRotateSecret',
  'oauthApplicationCreate oauthApplicationUpdate oauthApplicationRotateSecret',
  'oauthApplicationRotateWebhookSecret webhookCreate webhookUpdate webhookRotateSecret pushSubscriptionCreate',
  'emailIntakeAddressCreate emailIntakeAddressUpdate emailIntakeAddressRotate emailTokenUserAccountAuth',
  'emailUserAccountAuthChallenge googleUserAccountAuth samlTokenUserAccountAuth passkeyLoginStart',
  'passkeyLoginFinish organizationInviteCreate organizationInviteUpdate resendOrganizationInvite',
  'resendOrganizationInviteByEmail organizationDomainClaim organizationDomainCreate organizationDomainUpdate',
  'organizationDomainVerify teamMembershipCreate teamMembershipUpdate userChangeRole userPromoteAdmin',
  'userPromoteMember userDiscordConnect createCsvExportReport airbyteIntegrationConnect jiraIntegrationConnect',
  'updateIntegrationSlackScopes',
].flatMap((line) => line.split(' '))

/** Each sends changes to another service, or stores a token for it: `integrationSlack`. */
const integrations = [
  'AsksConnectChannel DatadogConnect Discord Figma Front GitHubEnterpriseServerConnect GitHubPersonal',
  'GithubCommitCreate GithubConnect GithubImportConnect GitlabConnect GitlabRotate GitlabUpdateRotationSettings',
  'GitlabUpdateToken Gong GoogleCalendarPersonalConnect GoogleSheets Intercom JiraPersonal JiraUpdate',
  'LaunchDarklyConnect LaunchDarklyPersonalConnect Loom McpServerConnect McpServerPersonalConnect',
  'MicrosoftPersonalConnect MicrosoftTeams MicrosoftTeamsProjectPost OpsgenieConnect OriginConnect',
  'OriginConnectInstallation PagerDutyConnect Request Salesforce SentryConnect SettingsUpdate Slack SlackAsks',
  'SlackCustomViewNotifications SlackCustomerChannelLink SlackInitiativePost SlackOrgInitiativeUpdatesPost',
  'SlackOrgProjectUpdatesPost SlackPersonal SlackPost SlackProjectPost SlackWorkflowAccessUpdate TemplateCreate',
  'Update Zendesk',
].flatMap((line) => line.split(' '))

export const linear: Preset = {
  id: 'linear',
  name: 'Linear',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Personal API key',
      help: 'In Linear, open Settings > Security & access > Personal API keys.',
      inject: [{ in: 'header', name: 'authorization', template: '{api_key}' }],
    },
  ],
  oauth: {
    issuerUrl: 'https://linear.app',
    authorizationUrl: 'https://linear.app/oauth/authorize',
    tokenUrl: 'https://api.linear.app/oauth/token',
    revocationUrl: 'https://api.linear.app/oauth/revoke',
    tokenEndpointAuthMethod: 'client_secret_post',
    dialect: { scopeSeparator: ',' },
    registerUrl: 'https://linear.app/settings/api/applications/new',
    defaultScopes: ['read'],
    account: {
      from: 'request',
      method: 'POST',
      url: 'https://api.linear.app/graphql',
      body: '{"query":"{ viewer { id email name organization { name } } }"}',
      id: 'data.viewer.id',
      labels: ['data.viewer.email', 'data.viewer.name'],
      within: 'data.viewer.organization.name',
    },
    notes:
      'The whole API is one GraphQL endpoint, so a grant cannot be limited to methods or paths: limit it by scope (read, write, issues:create, comments:create).',
  },
  apiHosts: [host, 'uploads.linear.app'],
  batchPaths: [{ host, path: '/graphql' }],
  credentialPaths: [{ host, path: '/oauth' }],
  credentialFields: [...credentialFields, ...integrations.map((name) => `integration${name}`)],
  access: { operations: { destructive: ['*Archive', '*ArchiveAll', 'customerMerge'] } },
  bodyChecks: ['graphql'],
  docs: [
    'https://linear.app/developers/oauth-2-0-authentication',
    'https://linear.app/developers/graphql',
    'https://linear.app/developers/webhooks',
    'https://linear.app/developers/file-storage-authentication',
  ],
}
