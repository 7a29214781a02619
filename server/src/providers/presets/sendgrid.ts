import { bearer, callsAt, writes } from './preset.ts'
import type { ApiPath } from './api-path.ts'
import type { Preset } from './preset.ts'

const apiHosts = ['api.sendgrid.com', 'api.eu.sendgrid.com']
const atBoth = (path: string, methods?: readonly string[]): ApiPath[] =>
  apiHosts.map((host) => ({ host, path, ...(methods && { methods }) }))

export const sendgrid: Preset = {
  id: 'sendgrid',
  name: 'SendGrid',
  authMethods: [
    {
      kind: 'api_key',
      name: 'api_key',
      label: 'API key',
      help: 'Create a key under Settings, API Keys, with "Restricted Access" to what the agent needs, such as Mail Send.',
      inject: [{ ...bearer, hosts: ['api.sendgrid.com'] }],
      check: { url: 'https://api.sendgrid.com/v3/scopes' },
      env: ['SENDGRID_API_KEY'],
    },
    {
      kind: 'api_key',
      name: 'eu_api_key',
      label: 'API key of an EU subuser',
      help: 'Create a key of the regional subuser under Settings, API Keys, with "Restricted Access" to what the agent needs.',
      inject: [{ ...bearer, hosts: ['api.eu.sendgrid.com'] }],
      check: { url: 'https://api.eu.sendgrid.com/v3/scopes' },
    },
  ],
  apiHosts,
  credentialPaths: [
    ...atBoth('/v3/api_keys'),
    ...atBoth('/v3/access_settings', writes),
    ...atBoth('/v3/teammates', writes),
    // The answer contains the tokens of invitations.
    ...atBoth('/v3/teammates/pending'),
    ...atBoth('/v3/scopes/requests', writes),
    ...atBoth('/v3/sso', writes),
    ...atBoth('/v3/subusers', writes),
    ...atBoth('/v3/user/password'),
    ...atBoth('/v3/user/email', writes),
    ...atBoth('/v3/user/username', writes),
    ...atBoth('/v3/user/webhooks', writes),
    ...atBoth('/v3/user/webhooks/event/settings/signed'),
    ...atBoth('/v3/mail_settings', writes),
    ...atBoth('/v3/partner_settings', writes),
    ...atBoth('/v3/marketing/contacts/exports'),
  ],
  access: {
    reads: apiHosts.flatMap((host) =>
      callsAt(
        host,
        `
        POST /v3/marketing/contacts/search
        POST /v3/marketing/contacts/search/emails
        POST /v3/marketing/contacts/batch
        POST /v3/asm/groups/*/suppressions/search`,
      ),
    ),
    // Version 2 takes GET and POST for everything.
    writes: atBoth('/api', ['GET', 'HEAD', 'OPTIONS']),
    destructive: atBoth('/api/**/*delete*'),
  },
  bodyChecks: [],
  docs: [
    'https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/authentication',
    'https://www.twilio.com/docs/sendgrid/api-reference/api-key-permissions/retrieve-a-list-of-scopes-for-which-this-user-has-access',
    'https://www.twilio.com/docs/sendgrid/api-reference/api-keys/retrieve-an-existing-api-key',
    'https://twilio.com/docs/sendgrid/api-reference/contacts/search-contacts',
    'https://twilio.com/docs/sendgrid/api-reference/contacts/get-batched-contacts-by-ids',
    'https://twilio.com/docs/sendgrid/api-reference/contacts/get-contacts-by-emails',
    'https://twilio.com/docs/sendgrid/api-reference/suppressions-suppressions/search-for-suppressions-within-a-group',
    'https://sendgrid.com/docs/API_Reference/Web_API/',
  ],
}
