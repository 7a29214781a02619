import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.zendesk.com'

export const zendesk: Preset = {
  id: 'zendesk',
  name: 'Zendesk',
  authMethods: [
    {
      kind: 'api_key',
      help: 'In Admin Center, open Apps and integrations, APIs, and add an API token. It works with the address of any agent: choose one whose role allows no more than is needed.',
      members: [
        { name: 'subdomain', label: 'Subdomain', host: '{subdomain}.zendesk.com' },
        { name: 'email', label: 'E-mail address', secret: false },
        { name: 'api_token', label: 'API token' },
      ],
      inject: [{ in: 'header', name: 'authorization', template: 'Basic {base64({email}/token:{api_token})}' }],
      check: {
        url: 'https://{subdomain}.zendesk.com/api/v2/users/me.json',
        account: { id: 'user.id', labels: ['user.email', 'user.name'] },
      },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/oauth' },
    { host, path: '/access' },
    { host, path: '/api/*/oauth' },
    { host, path: '/api/*/users/me/oauth' },
    { host, path: '/api/*/api_tokens' },
    { host, path: '/api/*/sessions', methods: writes },
    // The answer to reading may contain the signing secret.
    { host, path: '/api/*/webhooks' },
    { host, path: '/api/*/targets', methods: writes },
    { host, path: '/api/*/triggers', methods: writes },
    { host, path: '/api/*/automations', methods: writes },
    { host, path: '/api/*/apps', methods: writes },
    { host, path: '/api/*/recipient_addresses', methods: writes },
    { host, path: '/api/*/sharing_agreements', methods: writes },
    { host, path: '/api/*/account/settings', methods: writes },
    // Agents and administrators are users too. A password and an identity are ways to sign in.
    { host, path: '/api/*/users', methods: writes },
    { host, path: '/api/*/custom_roles', methods: writes },
    { host, path: '/api/*/group_memberships', methods: writes },
    { host, path: '/api/services' },
    { host, path: '/api/*/any_channel', methods: writes },
    { host, path: '/sc' },
  ],
  access: {
    reads: ['', '.json'].flatMap((format) =>
      callsAt(
        host,
        `
        POST /api/v2/views/preview${format}
        POST /api/v2/views/preview/count${format}
        POST /api/v2/custom_objects/*/records/search${format}`,
      ),
    ),
    // They renew the session, and start a job.
    writes: callsAt(
      host,
      `
        GET,HEAD,OPTIONS /api/*/users/me/session/renew
        GET,HEAD,OPTIONS /api/*/views/*/export`,
    ),
    destructive: [
      { host, path: '/api/v2/**/redact', methods: ['PUT'] },
      { host, path: '/api/v2/*_redactions/*', methods: ['PUT'] },
      {
        ...{ host, path: '/api/v2/custom_objects/*/jobs', methods: ['POST'] },
        parameter: { in: 'body', name: 'action', values: ['delete', 'delete_by_external_id'] },
      },
    ],
  },
  bodyChecks: ['method_override'],
  docs: [
    'https://support.zendesk.com/hc/en-us/articles/4408889192858-Generating-a-new-API-token-',
    'https://developer.zendesk.com/api-reference/ticketing/oauth/oauth_clients',
    'https://developer.zendesk.com/api-reference/integration-services/connections/oauth_clients',
    'https://developer.zendesk.com/api-reference/ticketing/business-rules/views',
    'https://developer.zendesk.com/api-reference/ticketing/account-configuration/sessions/',
    'https://developer.zendesk.com/api-reference/custom-data/custom-objects/custom_object_records/',
    'https://support.zendesk.com/hc/en-us/articles/4408835158682-Ticket-Comments-API-Announcing-new-Ticket-Redaction-endpoints',
  ],
}
