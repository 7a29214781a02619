import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.my.salesforce.com'

export const salesforce: Preset = {
  id: 'salesforce',
  name: 'Salesforce',
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://login.salesforce.com',
    discoveryUrl: 'https://login.salesforce.com/.well-known/openid-configuration',
    authorizationUrl: 'https://login.salesforce.com/services/oauth2/authorize',
    tokenUrl: 'https://login.salesforce.com/services/oauth2/token',
    revocationUrl: 'https://login.salesforce.com/services/oauth2/revoke',
    userinfoUrl: 'https://login.salesforce.com/services/oauth2/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    // Without `openid`: an org with its own domain may use that as the issuer of the ID token.
    defaultScopes: ['id', 'api', 'refresh_token'],
    // `id` is the identity URL, which contains the org and the user.
    account: { from: 'token_answer', id: 'id', labels: ['instance_url'] },
    apiHostFrom: 'instance_url',
    notes:
      'For production orgs; for a sandbox (test.salesforce.com), add a provider without a preset. Token responses have no expiry, so an access token is refreshed after a 401.',
  },
  // Every org has its own host, so a connection is limited to the one in its token response.
  apiHosts: [host],
  batchPaths: [
    { host, path: '/services/data/**/composite' },
    { host, path: '/services/data/*/graphql' },
    { host, path: '/services/async' },
    { host, path: '/services/data/*/jobs' },
  ],
  // SOQL, SOSL and the User Interface API name the type of a record. OauthToken, which only SOQL reads, has refresh
  // tokens.
  queryPaths: [
    { host, path: '/services/data/**/query' },
    { host, path: '/services/data/**/queryAll' },
    { host, path: '/services/data/**/search' },
    { host, path: '/services/data/**/parameterizedSearch' },
    { host, path: '/services/data/*/ui-api' },
    // Bulk jobs: XML, CSV or JSON.
    { host, path: '/services/async' },
    { host, path: '/services/data/*/jobs' },
  ],
  credentialPaths: [
    { host, path: '/services/oauth2' },
    { host, path: '/services/Soap' },
    { host, path: '/services/auth' },
    { host, path: '/services/authcallback' },
    { host, path: '/services/proxy' },
    { host, path: '/secur' },
    { host, path: '/setup' },
    { host, path: '/services/data/**/executeAnonymous' },
    { host, path: '/services/data/*/metadata' },
    // Combines calls that are named in the path. Each of them can be made separately.
    { host, path: '/services/data/**/connect/batch' },
    { host, path: '/services/data/*/named-credentials' },
    { host, path: '/services/data/*/apps' },
    { host, path: '/services/data/**/sobjects/*/*/password' },
    { host, path: '/services/data/**/sobjects/ConnectedApp*' },
    { host, path: '/services/data/**/sobjects/Ext*ClientApp*' },
    { host, path: '/services/data/**/sobjects/*Credential*' },
    { host, path: '/services/data/**/sobjects/Auth*' },
    { host, path: '/services/data/**/sobjects/Oauth*' },
    { host, path: '/services/data/**/sobjects/Certificate' },
    { host, path: '/services/data/**/sobjects/TwoFactor*' },
    { host, path: '/services/data/**/sobjects/VerificationHistory' },
    // Code, event relays and e-mail services, which keep running after the grant has ended.
    { host, path: '/services/data/*/tooling', methods: writes },
    { host, path: '/services/data/**/sobjects/EmailServices*' },
    { host, path: '/services/data/**/sobjects/EmailDomainKey' },
    { host, path: '/services/data/**/sobjects/EmailRelay', methods: writes },
    { host, path: '/services/data/**/sobjects/EventRelay*', methods: writes },
    // Creating users, changing their e-mail addresses and granting permissions are writes to ordinary records.
    { host, path: '/services/data/**/sobjects/User', methods: writes },
    // The ids of users begin with 005.
    { host, path: '/services/data/*/ui-api/records/005*', methods: writes },
    { host, path: '/services/data/**/sobjects/PermissionSet*', methods: writes },
    { host, path: '/services/data/**/sobjects/SetupEntityAccess', methods: writes },
    { host, path: '/services/data/**/sobjects/GroupMember', methods: writes },
    { host, path: '/services/data/**/sobjects/ThirdPartyAccountLink' },
  ],
  // Bodies of bulk and composite requests name the type of a record, which is then not in the path.
  credentialFields: [
    '=User',
    '=GroupMember',
    'AuthConfig',
    'AuthProvider',
    'AuthSession',
    'Certificate',
    'ConnectedApplication',
    'EmailDomainKey',
    'EmailServicesAddress',
    'EmailServicesFunction',
    'EventRelayConfig',
    'ExternalClientApplication',
    'ExternalCredential',
    'NamedCredential',
    'OauthCustomScope',
    'OauthToken',
    'PermissionSetAssignment',
    'SetupEntityAccess',
    'ThirdPartyAccountLink',
    'TwoFactorInfo',
    'TwoFactorTempCode',
  ],
  recordPath: '/services/data/v1/sobjects',
  access: {
    reads: callsAt(
      host,
      `
        POST /services/data/*/parameterizedSearch
        POST /services/data/*/analytics/reports/query
        POST /services/data/*/analytics/reports/*`,
    ),
    writes: [
      // A class does what its code says.
      ...callsAt(host, 'GET,HEAD,OPTIONS /services/apexrest'),
      // On request it counts what is searched for and found.
      ...(['query', 'body'] as const).flatMap((where) =>
        ['updateTracking', 'updateViewStat'].map((name) => ({
          ...{ host, path: '/services/data/*/parameterizedSearch' },
          parameter: { in: where, name, values: ['true'] },
        })),
      ),
    ],
    destructive: ['/services/data/*/jobs/ingest', '/services/async/*/job'].map((path) => ({
      ...{ host, path, methods: ['POST'], isExact: true },
      parameter: { in: 'body' as const, name: 'operation', values: ['delete', 'harddelete'] },
    })),
    batches: callsAt(
      host,
      `
        POST /services/data/*/composite
        POST /services/data/*/composite/batch
        POST /services/data/*/composite/graph`,
    ),
  },
  bodyChecks: ['batch', 'graphql'],
  docs: [
    'https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_web_server_flow.htm',
    'https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_tokens_scopes.htm',
    'https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_revoke_token.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_composite.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_sobject_user_password.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_list.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.object_reference.meta/object_reference/sforce_api_objects_oauthtoken.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.uiapi.meta/uiapi/ui_api_resources_records_post.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.264.0.api_rest.meta/api_rest/resources_search_parameterized.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.264.0.api_analytics.meta/api_analytics/sforce_analytics_rest_api_resource_reference.htm',
    'https://developer.salesforce.com/docs/atlas.en-us.264.0.api_analytics.meta/api_analytics/sforce_analytics_rest_api_report_query_example.htm',
  ],
}
