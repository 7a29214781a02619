import type { ApiPath } from './api-path.ts'
import { all, callsAt, can, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'graph.microsoft.com'

/** Changes to an entity itself, addressed by its key and optionally with a type cast, but not to anything below it. */
function entities(name: string): ApiPath[] {
  const paths = [`/*/${name}*`, `/*/${name}/*`, `/*/${name}*/microsoft.graph.*`, `/*/${name}/*/microsoft.graph.*`]
  return paths.map((path) => ({ host, path, methods: ['PUT', 'PATCH'], isExact: true }))
}

export const microsoft: Preset = {
  id: 'microsoft',
  name: 'Microsoft',
  otherNames: ['Outlook', 'Office 365', 'OneDrive', 'SharePoint', 'Azure', 'Entra'],
  authMethods: [{ kind: 'oauth2' }],
  oauth: {
    issuerUrl: 'https://login.microsoftonline.com/common/v2.0',
    discoveryUrl: 'https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration',
    authorizationUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    deviceAuthorizationUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/devicecode',
    userinfoUrl: 'https://graph.microsoft.com/oidc/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    // Without `openid`: the ID token's issuer differs per tenant, and Graph says whose account it is.
    registerUrl: 'https://entra.microsoft.com/',
    defaultScopes: ['offline_access', 'User.Read'],
    account: {
      from: 'request',
      method: 'GET',
      url: 'https://graph.microsoft.com/v1.0/me',
      id: 'id',
      labels: ['mail', 'userPrincipalName', 'displayName'],
    },
    notes:
      'Register an app for accounts in any organizational directory and personal accounts, with a redirect URI of type "Web". Connecting with a code needs "Allow public client flows". Do not request "openid": the ID token names the tenant as its issuer and is refused. For a single-tenant app, add a provider without a preset.',
  },
  apiHosts: [host],
  batchPaths: [{ host, path: '/*/$batch' }],
  // OData has many paths to one resource, and accepts `applications(appId='…')` and `microsoft.graph.addPassword` too.
  credentialPaths: [
    { host, path: '/**/*addPassword' },
    { host, path: '/**/*addKey' },
    { host, path: '/**/*addTokenSigningCertificate' },
    { host, path: '/**/*uploadSecret' },
    { host, path: '/**/*changePassword' },
    { host, path: '/**/*resetPassword' },
    { host, path: '/**/*acquireAccessToken' },
    { host, path: '/**/*generateApiKey' },
    { host, path: '/**/authentication' },
    { host, path: '/**/federatedIdentityCredentials*' },
    { host, path: '/**/synchronization' },
    { host, path: '/**/trustFramework' },
    { host, path: '/*/applications*' },
    { host, path: '/*/servicePrincipals*' },
    { host, path: '/**/oauth2PermissionGrants*' },
    { host, path: '/**/appRoleAssign*', methods: writes },
    { host, path: '/*/applicationTemplates*', methods: writes },
    { host, path: '/*/sites/*/permissions*', methods: writes },
    { host, path: '/**/installedApps*', methods: writes },
    { host, path: '/**/certificateBasedAuthConfiguration*' },
    { host, path: '/*/identityProviders*' },
    { host, path: '/*/identityGovernance', methods: writes },
    { host, path: '/*/domains*', methods: writes },
    { host, path: '/*/policies', methods: writes },
    { host, path: '/*/directoryRoles*', methods: writes },
    { host, path: '/*/roleManagement', methods: writes },
    { host, path: '/*/tenantRelationships', methods: writes },
    { host, path: '/*/invitations*' },
    // Creating users. Passwords, and the addresses that can reset them, are set as properties of a user.
    { host, path: '/*/users', methods: ['POST'], isExact: true },
    ...entities('users'),
    ...entities('me'),
    { host, path: '/**/exportPersonalData' },
    { host, path: '/*/privacy', methods: writes },
    { host, path: '/*/directory', methods: writes },
    { host, path: '/*/administrativeUnits*', methods: writes },
    { host, path: '/*/devices*', methods: writes },
    // Apps, scripts and policies that stay in force for a whole organization, and the secrets of its devices.
    { host, path: '/*/appCatalogs', methods: writes },
    { host, path: '/*/teamwork', methods: writes },
    { host, path: '/*/deviceManagement', methods: writes },
    { host, path: '/*/deviceAppManagement', methods: writes },
    { host, path: '/**/*getOmaSettingPlainTextValue*' },
    { host, path: '/**/*getFileVaultKey*' },
    { host, path: '/**/*retrieveDeviceLocalAdminAccountDetail*' },
    // A group's members can be set as one of its properties.
    ...entities('groups'),
    { host, path: '/**/containers*/**/permissions*', methods: writes },
    { host, path: '/**/bookingBusinesses*/**/staffMembers*', methods: writes },
    { host, path: '/*/security/cases', methods: writes },
    { host, path: '/*/groups*/**/members*', methods: writes },
    { host, path: '/*/groups*/**/owners*', methods: writes },
    { host, path: '/*/teams*/**/members*', methods: writes },
    { host, path: '/*/teams*/**/owners*', methods: writes },
    { host, path: '/**/calendarPermissions*', methods: writes },
    // Returns a URL that contains a token, for notifications about changes in a drive.
    { host, path: '/**/socketIo' },
    { host, path: '/*/identity' },
    { host, path: '/*/subscriptions*', methods: ['POST', 'PUT', 'PATCH'] },
    { host, path: '/**/deviceLocalCredentials*' },
    { host, path: '/**/recoveryKeys*' },
    // A rule can forward mail for as long as it exists.
    { host, path: '/**/messageRules*', methods: ['POST', 'PUT', 'PATCH'] },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /*/search/query
        POST /*/directoryObjects/getByIds
        POST /*/groups/*/checkMemberGroups
        POST /*/groups/*/getMemberGroups
        POST /*/me/getMailTips
        POST /*/users/*/getMailTips
        POST /*/me/calendar/getSchedule
        POST /*/users/*/calendar/getSchedule
        POST /*/me/findMeetingTimes
        POST /*/users/*/findMeetingTimes
        POST /*/me/getMemberGroups
        POST /*/users/*/getMemberGroups
        POST /*/me/getMemberObjects
        POST /*/users/*/getMemberObjects
        POST /*/me/checkMemberGroups
        POST /*/users/*/checkMemberGroups
        POST /*/me/checkMemberObjects
        POST /*/users/*/checkMemberObjects
        POST /*/me/translateExchangeIds
        POST /*/users/*/translateExchangeIds`,
    ),
    destructive: callsAt(
      host,
      `
        POST /**/*permanentDelete
        POST /**/delete
        POST /**/microsoft.graph.delete
        POST /**/*range*/clear
        POST /**/*wipe
        POST /**/*retire
        POST /**/*cleanWindowsDevice`,
    ),
    batches: callsAt(host, 'POST /*/$batch'),
  },
  abilities: ['/v1.0/me', '/beta/me', '/v1.0/users/*', '/beta/users/*'].flatMap((user) => [
    can('write', 'send', 'mail as you', host, {
      ...{ path: `${user}/sendMail`, only: true },
      scopes: ['Mail.Send', 'https://graph.microsoft.com/Mail.Send', 'Mail.Send.Shared'],
    }),
    ...all('your mail', host, `${user}/messages`),
    ...all('your mail', host, `${user}/mailFolders`),
    ...all('your calendars', host, `${user}/calendars`),
    ...all('your calendars', host, `${user}/events`),
    ...all('your files', host, `${user}/drive`),
    ...all('your contacts', host, `${user}/contacts`),
    ...all('your tasks', host, `${user}/todo`),
  ]),
  bodyChecks: ['batch'],
  docs: [
    'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow',
    'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code',
    'https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc',
    'https://learn.microsoft.com/en-us/graph/api/user-get',
    'https://learn.microsoft.com/en-us/graph/json-batching',
    'https://learn.microsoft.com/en-us/graph/api/application-addpassword',
    'https://learn.microsoft.com/en-us/graph/api/overview',
    'https://learn.microsoft.com/en-us/graph/api/user-update',
    'https://learn.microsoft.com/en-us/graph/api/group-update',
    'https://learn.microsoft.com/en-us/graph/api/mailfolder-post-messagerules',
    'https://learn.microsoft.com/en-us/graph/api/intune-devices-manageddevice-cleanwindowsdevice',
    'https://learn.microsoft.com/th-th/graph/api/range-clear?view=graph-rest-beta',
    'https://learn.microsoft.com/graph/migrate-exchange-web-services-api-mapping',
    'https://learn.microsoft.com/en-us/graph/api/search-query',
    'https://learn.microsoft.com/en-us/graph/api/directoryobject-getbyids',
    'https://learn.microsoft.com/en-us/graph/api/directoryobject-getmembergroups',
    'https://learn.microsoft.com/en-us/graph/api/directoryobject-checkmemberobjects',
    'https://learn.microsoft.com/en-us/graph/api/user-getmailtips',
    'https://learn.microsoft.com/en-us/graph/api/user-findmeetingtimes',
    'https://learn.microsoft.com/en-us/graph/api/user-translateexchangeids',
    'https://learn.microsoft.com/en-us/graph/api/calendar-getschedule',
  ],
}
