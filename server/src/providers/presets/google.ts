import { all, callsAt, can, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const watched = ['users/*', 'changes', 'files/*', 'events', 'acl', 'calendarList', 'settings', 'directory/*/users']

const fullMail = 'https://mail.google.com/'

function scopes(names: string): string[] {
  return names.split(' ').map((name) => `https://www.googleapis.com/auth/${name}`)
}

export const google: Preset = {
  id: 'google',
  name: 'Google',
  otherNames: ['Gmail', 'YouTube'],
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'google_service_account',
      label: 'Service account',
      help: 'In Google Cloud, open IAM & Admin > Service Accounts, create an account, and add a key of the type JSON under Keys. Share files and calendars with its address, or let it act for a user by domain-wide delegation in the Google Admin console.',
    },
  ],
  oauth: {
    issuerUrl: 'https://accounts.google.com',
    discoveryUrl: 'https://accounts.google.com/.well-known/openid-configuration',
    authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    deviceAuthorizationUrl: 'https://oauth2.googleapis.com/device/code',
    revocationUrl: 'https://oauth2.googleapis.com/revoke',
    userinfoUrl: 'https://openidconnect.googleapis.com/v1/userinfo',
    tokenEndpointAuthMethod: 'client_secret_post',
    registerUrl: 'https://console.cloud.google.com/apis/credentials',
    defaultScopes: ['openid', 'email', 'profile'],
    // A refresh token is issued only with a user's consent, so consent is requested each time.
    authorizationParams: { access_type: 'offline', prompt: 'consent' },
    account: { from: 'id_token', id: 'sub', labels: ['email', 'name'] },
    notes:
      'Create an OAuth client of the type "Web application" and enable each API in its project. Connecting with a code needs a client of the type "TVs and Limited Input devices" and works for few scopes. While the app is in testing, refresh tokens expire after 7 days.',
  },
  // Listed one by one: anyone can have a storage bucket with its own name below googleapis.com.
  apiHosts: [
    'www.googleapis.com',
    'openidconnect.googleapis.com',
    'people.googleapis.com',
    'gmail.googleapis.com',
    'calendar-json.googleapis.com',
    'docs.googleapis.com',
    'sheets.googleapis.com',
    'slides.googleapis.com',
    'forms.googleapis.com',
    'tasks.googleapis.com',
    'chat.googleapis.com',
    'meet.googleapis.com',
    'driveactivity.googleapis.com',
    'youtube.googleapis.com',
  ],
  batchPaths: [{ host: '*.googleapis.com', path: '/batch' }],
  credentialPaths: [
    { host: '*.googleapis.com', path: '/token' },
    { host: '*.googleapis.com', path: '/o/oauth2' },
    { host: 'www.googleapis.com', path: '/oauth2/*/token' },
    { host: 'www.googleapis.com', path: '/identitytoolkit' },
    { host: 'www.googleapis.com', path: '/storage/*/projects/*/hmacKeys' },
    { host: 'www.googleapis.com', path: '/storage/*/b/*/iam', methods: writes },
    { host: 'www.googleapis.com', path: '/storage/*/b/*/notificationConfigs', methods: writes },
    { host: 'www.googleapis.com', path: '/sql' },
    { host: 'www.googleapis.com', path: '/admin', methods: writes },
    { host: 'www.googleapis.com', path: '/admin/directory/*/users/*/asps' },
    { host: 'www.googleapis.com', path: '/admin/directory/*/users/*/tokens' },
    { host: 'www.googleapis.com', path: '/admin/directory/*/users/*/verificationCodes' },
    { host: 'www.googleapis.com', path: '/compute' },
    { host: '*.googleapis.com', path: '/**/serviceAccounts/*/keys' },
    { host: '*.googleapis.com', path: '/**/serviceAccounts/*:generateAccessToken' },
    { host: '*.googleapis.com', path: '/**/serviceAccounts/*:generateIdToken' },
    { host: '*.googleapis.com', path: '/**/serviceAccounts/*:sign*' },
    { host: '*.googleapis.com', path: '/**/apiKeys' },
    // Push channels send changes to a URL for days, and can be renewed.
    ...watched.map((path) => ({ host: '*.googleapis.com', path: `/**/${path}/watch` })),
    { host: '*.googleapis.com', path: '/**/forms/*/watches', methods: writes },
    { host: '*.googleapis.com', path: '/**/calendars/*/acl', methods: writes },
    { host: '*.googleapis.com', path: '/**/files/generateCseToken' },
    // The response contains the stream key, with which anyone can stream.
    { host: '*.googleapis.com', path: '/**/youtube/*/liveStreams' },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/filters', methods: writes },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/imap', methods: writes },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/pop', methods: writes },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/sendAs', methods: writes },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/delegates' },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/forwardingAddresses' },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/autoForwarding' },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/cse' },
    { host: '*.googleapis.com', path: '/**/gmail/*/users/*/settings/sendAs/*/smimeInfo' },
  ],
  access: {
    reads: callsAt(
      '*.googleapis.com',
      `
        POST /calendar/*/freeBusy
        POST /v4/spreadsheets/*:getByDataFilter
        POST /v4/spreadsheets/*/values:batchGetByDataFilter
        POST /v4/spreadsheets/*/developerMetadata:search
        POST /v2/activity:query`,
    ),
    destructive: [
      ...callsAt(
        '*.googleapis.com',
        `
        POST /**/gmail/*/users/*/messages/batchDelete
        POST /calendar/*/calendars/*/clear
        POST /v1/people:batchDeleteContacts
        POST /v4/spreadsheets/*/values/*:clear
        POST /v4/spreadsheets/*/values:batchClear*
        POST /youtube/*/watermarks/unset`,
      ),
      ...['deleteSheet', 'deleteDimension', 'deleteRange'].map((name) => ({
        ...{ host: '*.googleapis.com', path: '/v4/spreadsheets/*:batchUpdate', methods: ['POST'] },
        parameter: { in: 'body' as const, name },
      })),
    ],
    batches: callsAt('*.googleapis.com', 'POST /batch/**'),
  },
  // With the scopes that allow it. A host is named without paths where all of it is one product.
  abilities: [
    can('read', 'read', 'your mail', 'gmail.googleapis.com', {
      scopes: [fullMail, ...scopes('gmail.readonly gmail.modify')],
    }),
    can('write', 'send', 'mail as you', 'gmail.googleapis.com', {
      ...{ path: '/gmail/v1/users/*/messages/send', only: true },
      scopes: [fullMail, ...scopes('gmail.modify gmail.compose gmail.send')],
    }),
    can('write', 'change', 'your mail', 'gmail.googleapis.com', {
      scopes: [fullMail, ...scopes('gmail.modify gmail.compose gmail.insert gmail.labels gmail.settings.basic')],
    }),
    can('destructive', 'delete', 'your mail', 'gmail.googleapis.com', {
      scopes: [fullMail, ...scopes('gmail.modify gmail.compose gmail.labels gmail.settings.basic')],
    }),
    ...all('your calendars', 'www.googleapis.com', '/calendar'),
    ...all('your files in Drive', 'www.googleapis.com', '/drive'),
    ...all('your calendars', 'calendar-json.googleapis.com'),
    ...all('your contacts', 'people.googleapis.com'),
    ...all('your documents', 'docs.googleapis.com'),
    ...all('your spreadsheets', 'sheets.googleapis.com'),
    ...all('your slides', 'slides.googleapis.com'),
    ...all('your forms', 'forms.googleapis.com'),
    ...all('your tasks', 'tasks.googleapis.com'),
    ...all('your chats', 'chat.googleapis.com'),
    ...all('your YouTube channel', 'youtube.googleapis.com'),
  ],
  bodyChecks: ['batch'],
  docs: [
    'https://developers.google.com/identity/protocols/oauth2/web-server',
    'https://developers.google.com/identity/openid-connect/openid-connect',
    'https://developers.google.com/identity/protocols/oauth2/limited-input-device',
    'https://developers.google.com/identity/protocols/oauth2/service-account',
    'https://developers.google.com/workspace/gmail/api/guides/batch',
    'https://cloud.google.com/storage/docs/json_api/v1/projects/hmacKeys',
    'https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values/batchClear',
    'https://developers.google.com/youtube/v3/docs/watermarks/unset',
    'https://developers.google.com/workspace/calendar/api/v3/reference/freebusy/query',
    'https://developers.google.com/workspace/sheets/api/reference/rest',
    'https://developers.google.com/workspace/drive/activity/v2',
  ],
}
