import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.hubapi.com'

export const hubspot: Preset = {
  id: 'hubspot',
  name: 'HubSpot',
  authMethods: [
    { kind: 'oauth2' },
    {
      kind: 'api_key',
      label: 'Service key or private app token',
      help: 'In HubSpot, a super admin creates a service key under Development > Keys, or copies the token of a legacy private app.',
      inject: [{ in: 'header', name: 'authorization', template: 'Bearer {api_key}' }],
      check: { url: 'https://api.hubapi.com/account-info/2026-03/details', account: { id: 'portalId' } },
    },
  ],
  oauth: {
    issuerUrl: 'https://app.hubspot.com',
    authorizationUrl: 'https://app.hubspot.com/oauth/authorize',
    tokenUrl: 'https://api.hubapi.com/oauth/2026-03/token',
    revocationUrl: 'https://api.hubapi.com/oauth/2026-03/token/revoke',
    tokenEndpointAuthMethod: 'client_secret_post',
    dialect: { scopeArray: true },
    defaultScopes: ['oauth'],
    account: { from: 'token_answer', id: 'hub_id', labels: ['hub_id'] },
    notes: 'Request exactly the scopes that the app lists as required, in addition to "oauth".',
  },
  apiHosts: [host],
  // The batch endpoints of the CRM work on one kind of object each, so the path still says what is done.
  batchPaths: [{ host, path: '/**/graphql' }],
  credentialPaths: [
    { host, path: '/oauth' },
    { host, path: '/**/smtp-tokens' },
    { host, path: '/**/visitor-identification' },
    { host, path: '/email/public/*/smtpapi' },
    { host, path: '/scim' },
    { host, path: '/settings/**/users', methods: writes },
    // Workflows and custom actions can call a URL whenever something changes.
    { host, path: '/automation', methods: writes },
    // The version is before the name, or since 2026 after it.
    { host, path: '/crm/*/extensions', methods: writes },
    { host, path: '/crm/extensions', methods: writes },
    { host, path: '/crm/*/exports' },
    { host, path: '/crm/exports' },
    { host, path: '/private-apps' },
    { host, path: '/webhooks' },
    { host, path: '/webhooks-journal' },
    { host, path: '/developer' },
    { host, path: '/appinstalls' },
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /crm/*/objects/*/search
        POST /crm/*/objects/*/batch/read
        POST /crm/*/lists/search
        POST /crm/*/properties/*/batch/read
        POST /crm/*/associations/*/*/batch/read
        POST /cms/*/*/posts/batch/read
        POST /cms/*/*/authors/batch/read
        POST /cms/*/*/tags/batch/read
        POST /cms/*/*/landing-pages/batch/read
        POST /cms/*/*/site-pages/batch/read
        POST /cms/*/*/tables/*/rows/draft/batch/read`,
    ),
    // Its paths end with those of files. The version is before or after the name.
    writes: callsAt(host, 'POST /cms/**/source-code'),
    destructive: callsAt(
      host,
      `
        POST /**/batch/archive
        POST /**/batch/labels/archive
        POST /**/batch/purge
        POST /**/gdpr-delete
        POST /crm/**/merge
        POST /contacts/*/contact/merge-vids`,
    ),
  },
  bodyChecks: ['graphql'],
  docs: [
    'https://developers.hubspot.com/docs/apps/legacy-apps/private-apps/overview',
    'https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens',
    'https://developers.hubspot.com/docs/api-reference/2026-03/authentication/oauth-tokens/refresh-oauth-token',
    'https://developers.hubspot.com/changelog/v1-oauth-api-deprecation',
    'https://developers.hubspot.com/docs/api-reference/latest/account/account-information/guide',
    'https://developers.hubspot.com/changelog/additional-details-returned-when-generating-oauth-access-tokens',
    'https://developers.hubspot.com/docs/api-reference/marketing-transactional-emails-v3/guide',
    'https://developers.hubspot.com/docs/api-reference/latest/crm/associations/associate-records/batch/delete-association-labels',
    'https://developers.hubspot.com/docs/api-reference/cms-source-code-v3/guide',
    'https://developers.hubspot.com/docs/api-reference/legacy/crm/objects/contacts/v1/post-contacts-v1-contact-merge-vidscontact-id',
    'https://developers.hubspot.com/docs/api/crm/search',
    'https://developers.hubspot.com/docs/api-reference/legacy/crm/lists/search-lists.md',
    'https://developers.hubspot.com/docs/api-reference/latest/crm/properties/batch/get-properties.md',
    'https://developers.hubspot.com/docs/api-reference/legacy/crm/associations/associate-records/batch/get-associations',
    'https://developers.hubspot.com/docs/api-reference/legacy/cms/pages/landing-pages/batch/read-landing-pages.md',
    'https://developers.hubspot.com/docs/api-reference/latest/cms/pages/website-pages/batch/read-website-pages',
    'https://developers.hubspot.com/docs/api-reference/legacy/cms/hubdb/rows/batch-get-rows',
  ],
}
