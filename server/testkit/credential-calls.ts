import { callsIn, withKeysAlone } from './lasting-access.ts'
import type { Table } from './lasting-access.ts'

function callsOf(tables: readonly Table[]): { refused: string[]; harmless: string[] } {
  const urls = (host: string, text: string) => callsIn(text).map(([method, path]) => `${method} https://${host}${path}`)
  return {
    refused: tables.flatMap(({ host, refused, exactly = '' }) => urls(host, `${refused}\n${exactly}`)),
    harmless: tables.flatMap(({ host, allowed }) => urls(host, allowed)),
  }
}

/** For each preset: calls that would return a credential, and calls that must be allowed. */
export const credentialCalls: Record<string, { refused: string[]; harmless: string[] }> = {
  ...Object.fromEntries(Object.entries(withKeysAlone).map(([id, tables]) => [id, callsOf(tables)])),
  asana: {
    refused: ['POST https://app.asana.com/-/oauth_token', 'POST https://app.asana.com/api/1.0/webhooks'],
    harmless: ['GET https://app.asana.com/api/1.0/tasks/1', 'GET https://app.asana.com/api/1.0/webhooks'],
  },
  atlassian: {
    refused: [
      'GET https://api.atlassian.com/users/1/manage/api-tokens',
      'POST https://api.atlassian.com/ex/jira/c1/rest/api/3/webhook',
    ],
    harmless: [
      'GET https://api.atlassian.com/oauth/token/accessible-resources',
      'POST https://api.atlassian.com/ex/jira/c1/rest/api/3/issue',
    ],
  },
  // Which of its calls are refused is tested in proxy/aws-call.test.ts.
  aws: { refused: [], harmless: ['GET https://s3.us-east-1.amazonaws.com/bucket/key'] },
  discord: {
    refused: [
      'POST https://discord.com/api/v10/channels/1/webhooks',
      'POST https://discord.com/api/webhooks/1/t',
      'GET https://discord.com/api/oauth2/@me',
      'POST https://discord.com/api/v10/applications/1/bot/reset',
    ],
    harmless: ['GET https://discord.com/api/v10/users/@me/guilds', 'GET https://discord.com/api/users/@me'],
  },
  dropbox: {
    refused: [
      'POST https://api.dropboxapi.com/2/auth/token/from_oauth1',
      'POST https://api.dropboxapi.com/oauth2/token',
    ],
    harmless: [
      'POST https://api.dropboxapi.com/2/files/list_folder',
      'POST https://content.dropboxapi.com/2/files/download',
    ],
  },
  figma: {
    refused: ['POST https://api.figma.com/v1/oauth/token', 'POST https://api.figma.com/v2/webhooks'],
    harmless: ['GET https://api.figma.com/v1/files/abc', 'GET https://api.figma.com/v2/webhooks/1'],
  },
  github: {
    refused: [
      'POST https://github.com/o/r.git/info/lfs/objects/batch',
      'POST https://github.com/login/oauth/access_token',
      'POST https://api.github.com/user/keys',
      'POST https://api.github.com/user/emails',
      'POST https://api.github.com/repos/o/r/keys',
      'POST https://api.github.com/repositories/1/keys',
      'POST https://api.github.com/repos/o/r/hooks',
      'POST https://api.github.com/applications/c/token/scoped',
      'POST https://api.github.com/app/installations/1/access_tokens',
      'GET https://api.github.com/orgs/o/personal-access-token-requests',
      'GET https://api.github.com/orgs/o/personal-access-tokens',
      'POST https://api.github.com/repos/o/r/actions/runners/registration-token',
      'POST https://api.github.com/organizations/1/actions/runners/generate-jitconfig',
    ],
    harmless: [
      'GET https://api.github.com/user',
      'GET https://github.com/o/r.git/info/refs',
      'POST https://github.com/o/r.git/git-receive-pack',
      'GET https://api.github.com/user/emails',
      'GET https://api.github.com/repos/o/r/issues',
      'GET https://api.github.com/repos/o/r/hooks',
      'GET https://api.github.com/repos/o/keys',
      'GET https://api.github.com/repos/o/r/actions/runners',
      'POST https://uploads.github.com/repos/o/r/releases/1/assets',
      'POST https://api.github.com/graphql',
    ],
  },
  gitlab: {
    refused: [
      'POST https://gitlab.com/api/v4/users/1/personal_access_tokens',
      'POST https://gitlab.com/api/v4/personal_access_tokens/self/rotate',
      'POST https://gitlab.com/api/v4/projects/group%2Fproject/access_tokens',
      'POST https://gitlab.com/api/v4/groups/1/deploy_tokens',
      'POST https://gitlab.com/api/v4/user/keys.json',
      'GET https://gitlab.com/api/v4/projects/1/variables/KEY',
      'POST https://gitlab.com/api/v4/projects/1/triggers',
      'POST https://gitlab.com/api/v4/user/runners',
      'POST https://gitlab.com/api/graphql',
    ],
    harmless: [
      'GET https://gitlab.com/api/v4/user',
      'POST https://gitlab.com/api/v4/projects/group%2Fproject/issues',
      'POST https://gitlab.com/group/subgroup/project.git/git-upload-pack',
    ],
  },
  google: {
    refused: [
      'POST https://www.googleapis.com/storage/v1/projects/p/hmacKeys',
      'GET https://www.googleapis.com/admin/directory/v1/users/u/verificationCodes',
      'POST https://gmail.googleapis.com/gmail/v1/users/me/settings/delegates',
      'POST https://www.googleapis.com/gmail/v1/users/me/settings/forwardingAddresses',
    ],
    harmless: [
      'GET https://gmail.googleapis.com/gmail/v1/users/me/messages',
      'GET https://www.googleapis.com/drive/v3/files',
      'GET https://www.googleapis.com/oauth2/v2/userinfo',
      'PUT https://sheets.googleapis.com/v4/spreadsheets/1/values/A1',
      'POST https://sheets.googleapis.com/v4/spreadsheets/1:batchUpdate',
    ],
  },
  'google-cloud': {
    refused: [
      'POST https://storage.googleapis.com/?Action=CreateAccessKey&UserName=a',
      'PUT https://storage.googleapis.com/bucket?policy',
      'PUT https://storage.googleapis.com/bucket/?acl',
      'POST https://storage.googleapis.com/storage/v1/projects/p/hmacKeys',
      'PUT https://storage.googleapis.com/storage/v1/b/bucket/iam',
      'PUT https://storage.googleapis.com/storage/v1/b/bucket/managedFolders/f/iam',
      'PATCH https://storage.googleapis.com/storage/v1/b/bucket',
      'POST https://storage.googleapis.com/storage/v1/b/bucket/acl',
      'POST https://storage.googleapis.com/storage/v1/b/bucket/notificationConfigs',
      'PATCH https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d',
      'POST https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d/tables/t:setIamPolicy',
      'POST https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d/tables/t/rowAccessPolicies:batchDelete',
      'PUT https://pubsub.googleapis.com/v1/projects/p/subscriptions/s',
      'POST https://pubsub.googleapis.com/v1/projects/p/subscriptions/s:modifyPushConfig',
      'POST https://pubsub.googleapis.com/v1/projects/p/topics/t:setIamPolicy',
      'POST https://firestore.googleapis.com/v1/projects/p/databases/(default):exportDocuments',
      'POST https://firestore.googleapis.com/v1/projects/p/databases/d/userCreds/u:resetPassword',
      'POST https://logging.googleapis.com/v2/projects/p/sinks',
      'POST https://monitoring.googleapis.com/v3/projects/p/notificationChannels',
    ],
    harmless: [
      'GET https://storage.googleapis.com/storage/v1/b/bucket/o/a%2Fb?alt=media',
      'POST https://storage.googleapis.com/upload/storage/v1/b/bucket/o?uploadType=media&name=a',
      'PUT https://storage.googleapis.com/bucket/object',
      'GET https://storage.googleapis.com/bucket',
      'POST https://bigquery.googleapis.com/bigquery/v2/projects/p/queries',
      'POST https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d/tables/t/insertAll',
      'PATCH https://bigquery.googleapis.com/bigquery/v2/projects/p/datasets/d/tables/t',
      'POST https://pubsub.googleapis.com/v1/projects/p/topics/t:publish',
      'POST https://pubsub.googleapis.com/v1/projects/p/subscriptions/s:pull',
      'POST https://firestore.googleapis.com/v1/projects/p/databases/(default)/documents:runQuery',
      'POST https://logging.googleapis.com/v2/entries:list',
      'GET https://monitoring.googleapis.com/v3/projects/p/timeSeries',
      'POST https://translation.googleapis.com/v3/projects/p:translateText',
    ],
  },
  hubspot: {
    refused: [
      'POST https://api.hubapi.com/marketing/v3/transactional/smtp-tokens',
      'POST https://api.hubapi.com/oauth/v1/token',
      'POST https://api.hubapi.com/conversations/v3/visitor-identification/tokens/create',
    ],
    harmless: ['POST https://api.hubapi.com/crm/v3/objects/contacts/batch/read'],
  },
  linear: {
    refused: ['POST https://api.linear.app/oauth/token'],
    harmless: ['POST https://api.linear.app/graphql', 'GET https://uploads.linear.app/a/b/c'],
  },
  microsoft: {
    refused: [
      'POST https://graph.microsoft.com/v1.0/applications/1/addPassword',
      "POST https://graph.microsoft.com/v1.0/applications(appId='1')/addPassword",
      'POST https://graph.microsoft.com/beta/me/ownedObjects/1/microsoft.graph.application/microsoft.graph.addPassword',
      'POST https://graph.microsoft.com/v1.0/users/1/authentication/temporaryAccessPassMethods',
      'POST https://graph.microsoft.com/v1.0/applications',
      'POST https://graph.microsoft.com/v1.0/subscriptions',
      "PATCH https://graph.microsoft.com/v1.0/subscriptions('1')",
      'POST https://graph.microsoft.com/v1.0/me/mailFolders/inbox/messageRules',
      "PATCH https://graph.microsoft.com/v1.0/me/mailFolders('inbox')/messageRules('1')",
      'GET https://graph.microsoft.com/v1.0/directory/deviceLocalCredentials/1?$select=credentials',
      "GET https://graph.microsoft.com/beta/deviceLocalCredentials('1')",
      'GET https://graph.microsoft.com/v1.0/informationProtection/bitlocker/recoveryKeys/1?$select=key',
      "PATCH https://graph.microsoft.com/v1.0/me/ownedObjects/1/microsoft.graph.application/federatedIdentityCredentials(name='x')",
      'POST https://graph.microsoft.com/v1.0/users',
      'PATCH https://graph.microsoft.com/v1.0/users/1',
      "PATCH https://graph.microsoft.com/v1.0/users('1')/",
      'PATCH https://graph.microsoft.com/v1.0/users/1/microsoft.graph.user',
      'PATCH https://graph.microsoft.com/beta/me',
      'PATCH https://graph.microsoft.com/v1.0/groups/1',
      'POST https://graph.microsoft.com/v1.0/me/exportPersonalData',
      'POST https://graph.microsoft.com/beta/deviceManagement/deviceManagementScripts',
      'POST https://graph.microsoft.com/v1.0/directory/administrativeUnits/1/scopedRoleMembers',
    ],
    harmless: [
      'GET https://graph.microsoft.com/v1.0/me/messages',
      'GET https://graph.microsoft.com/v1.0/subscriptions',
      'GET https://graph.microsoft.com/v1.0/me/mailFolders/inbox/messageRules',
      'POST https://graph.microsoft.com/v1.0/me/sendMail',
      'GET https://graph.microsoft.com/v1.0/me',
      'GET https://graph.microsoft.com/v1.0/users/1',
      'PATCH https://graph.microsoft.com/v1.0/users/1/messages/2',
      'PATCH https://graph.microsoft.com/v1.0/me/events/2',
      'POST https://graph.microsoft.com/v1.0/users/1/sendMail',
      'POST https://graph.microsoft.com/v1.0/groups/1/conversations',
    ],
  },
  notion: {
    refused: ['POST https://api.notion.com/v1/oauth/token'],
    harmless: ['POST https://api.notion.com/v1/search', 'GET https://api.notion.com/v1/users/me'],
  },
  salesforce: {
    refused: [
      'GET https://acme.my.salesforce.com/services/oauth2/singleaccess',
      'GET https://acme.my.salesforce.com/secur/frontdoor.jsp',
      'GET https://acme.my.salesforce.com/services/data/v62.0/apps/oauth/credentials/1/2',
      'GET https://acme.my.salesforce.com/services/data/v62.0/tooling/executeAnonymous/',
      'POST https://acme.my.salesforce.com/services/data/v62.0/sobjects/User/005/password',
      'POST https://acme.my.salesforce.com/services/Soap/u/62.0',
      'GET https://acme--dev.sandbox.my.salesforce.com/services/data/v62.0/sobjects/AuthSession/1',
      'PATCH https://acme.my.salesforce.com/services/data/v62.0/ui-api/records/005RM000002XCd1YAG',
      'GET https://acme.my.salesforce.com/services/data/v62.0/connect/batch/connect/organization,chatter/users/me',
    ],
    harmless: [
      'GET https://acme.my.salesforce.com/services/data/v62.0/sobjects/Account/001',
      'GET https://acme.my.salesforce.com/services/data/v62.0/query',
      'PATCH https://acme.my.salesforce.com/services/data/v62.0/ui-api/records/006RM000002XCd1YAG',
    ],
  },
  slack: {
    refused: [
      'POST https://slack.com/api/apps.manifest.create',
      'POST https://slack.com/api/oauth.v2.exchange',
      'POST https://slack.com/api/tooling.tokens.rotate',
      'POST https://slack.com/api/auth.revoke',
      'POST https://slack.com/api/rtm.connect',
    ],
    harmless: [
      'POST https://slack.com/api/auth.test',
      'POST https://slack.com/api/chat.postMessage',
      'GET https://files.slack.com/files-pri/T-F/x.png',
    ],
  },
  spotify: {
    refused: [],
    harmless: ['GET https://api.spotify.com/v1/me', 'PUT https://api.spotify.com/v1/me/player/play'],
  },
  zoom: {
    refused: ['GET https://api.zoom.us/v2/users/me/token', 'GET https://api.zoom.us/v2/users/me/zak'],
    harmless: ['GET https://api.zoom.us/v2/users/me', 'POST https://api.zoom.us/v2/users/me/meetings'],
  },
}

/** Batch calls. */
export const batchCalls: Record<string, string[]> = {
  asana: ['POST https://app.asana.com/api/1.0/batch'],
  atlassian: ['POST https://api.atlassian.com/graphql'],
  github: ['POST https://api.github.com/graphql'],
  gitlab: ['POST https://gitlab.com/api/graphql'],
  google: ['POST https://www.googleapis.com/batch/drive/v3', 'POST https://gmail.googleapis.com/batch'],
  'google-cloud': [
    'POST https://storage.googleapis.com/batch/storage/v1',
    'POST https://bigquery.googleapis.com/batch/bigquery/v2',
  ],
  hubspot: ['POST https://api.hubapi.com/collector/graphql'],
  linear: ['POST https://api.linear.app/graphql'],
  microsoft: ['POST https://graph.microsoft.com/v1.0/$batch', 'POST https://graph.microsoft.com/beta/%24batch'],
  salesforce: [
    'POST https://acme.my.salesforce.com/services/data/v62.0/composite/batch',
    'POST https://acme.my.salesforce.com/services/data/v62.0/tooling/composite',
    'POST https://acme.my.salesforce.com/services/data/v62.0/graphql',
  ],
  shopify: ['POST https://ada.myshopify.com/admin/api/2026-10/graphql.json'],
  supabase: ['POST https://abcdefghijklmnopqrst.supabase.co/graphql/v1'],
  zoom: ['POST https://api.zoom.us/v3/graphql'],
}
