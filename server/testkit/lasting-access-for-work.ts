/** Calls to APIs for messages, money, customers and tasks. See lasting-access.ts. */
import type { Table } from './lasting-access.ts'

export const forWork: Record<string, Table[]> = {
  airtable: [
    {
      host: 'api.airtable.com',
      refused: `
        POST /v0/bases/b/webhooks
        POST /v0/meta/bases/b/collaborators
        DELETE /v0/meta/bases/b/invites/i
        POST /v0/meta/workspaces/w/collaborators
        POST /v0/meta/enterpriseAccounts/e/users
        GET /v0/meta/enterpriseAccounts/e/exports/1
        GET /scim/v2/Users`,
      allowed: `
        GET /v0/meta/whoami
        GET /v0/meta/bases
        POST /v0/b/webhooks
        PATCH /v0/b/Tasks
        POST /v0/meta/bases/b/tables
        GET /v0/bases/b/webhooks`,
    },
    { host: 'content.airtable.com', refused: '', allowed: 'POST /v0/b/r/f/uploadAttachment' },
  ],
  sendgrid: [
    {
      host: 'api.sendgrid.com',
      refused: `
        POST /v3/api_keys
        GET /v3/api_keys
        POST /v3/teammates
        POST /v3/subusers
        POST /v3/sso/integrations
        POST /v3/access_settings/whitelist
        PUT /v3/user/password
        POST /v3/user/webhooks/parse/settings
        POST /v3/user/webhooks/event/settings
        GET /v3/user/webhooks/event/settings/signed
        PATCH /v3/mail_settings/forward_bounce
        POST /v3/marketing/contacts/exports`,
      allowed: `
        GET /v3/scopes
        POST /v3/mail/send
        GET /v3/templates
        PUT /v3/marketing/contacts
        GET /v3/user/webhooks/parse/settings
        GET /v3/teammates`,
    },
    { host: 'api.eu.sendgrid.com', refused: 'POST /v3/api_keys', allowed: 'POST /v3/mail/send' },
  ],
  stripe: [
    {
      host: 'api.stripe.com',
      refused: `
        POST /v1/webhook_endpoints
        POST /v2/core/event_destinations
        POST /v1/ephemeral_keys
        POST /v1/account_links
        POST /v1/accounts/a/login_links
        POST /v1/accounts/a/external_accounts
        POST /v1/account_sessions
        POST /v1/terminal/connection_tokens
        GET /v1/issuing/cards/c
        POST /v1/apps/secrets`,
      allowed: `
        GET /v1/balance
        GET /v1/customers
        POST /v1/customers
        POST /v1/refunds
        POST /v1/invoices/i/send
        POST /v1/tokens
        POST /v1/checkout/sessions
        GET /v1/webhook_endpoints`,
    },
    { host: 'files.stripe.com', refused: '', allowed: 'POST /v1/files' },
  ],
  telegram: [
    {
      host: 'api.telegram.org',
      refused: `
        POST /%7Bcredential%7D/setWebhook
        GET /%7Bcredential%7D/setwebhook
        POST /%7Bcredential%7D/test/setWebhook
        POST /%7Bcredential%7D/getManagedBotToken
        POST /%7Bcredential%7D/replaceManagedBotToken`,
      allowed: `
        GET /%7Bcredential%7D/getMe
        POST /%7Bcredential%7D/sendMessage
        GET /%7Bcredential%7D/getUpdates
        GET /%7Bcredential%7D/getWebhookInfo
        GET /file/%7Bcredential%7D/photos/file_1.jpg`,
    },
  ],
  twilio: [
    {
      host: 'api.twilio.com',
      refused: `
        POST /2010-04-01/Accounts/AC1/Keys.json
        GET /2010-04-01/Accounts/AC1/SigningKeys.json
        POST /2010-04-01/Accounts/AC1/Tokens.json
        POST /2010-04-01/Accounts/AC1/SIP/CredentialLists.json
        POST /2010-04-01/Accounts/AC1/IncomingPhoneNumbers/PN1.json
        POST /2010-04-01/Accounts/AC1/Applications.json`,
      exactly: `
        GET /2010-04-01/Accounts.json
        GET /2010-04-01/Accounts/AC1.json
        POST /2010-04-01/Accounts/AC1`,
      allowed: `
        GET /2010-04-01/Accounts/AC1/Messages.json
        POST /2010-04-01/Accounts/AC1/Messages.json
        POST /2010-04-01/Accounts/AC1/Calls.json
        GET /2010-04-01/Accounts/AC1/IncomingPhoneNumbers.json`,
    },
    { host: 'iam.twilio.com', refused: 'POST /v1/Keys', allowed: 'GET /v1/Roles' },
    { host: 'events.twilio.com', refused: 'POST /v1/Sinks', allowed: 'GET /v1/Types' },
    {
      host: 'conversations.twilio.com',
      refused: `
        POST /v1/Credentials
        POST /v1/Conversations/C/Webhooks`,
      allowed: 'POST /v1/Conversations/C/Messages',
    },
    {
      host: 'verify.twilio.com',
      refused: 'POST /v2/Services/S/AccessTokens',
      allowed: 'POST /v2/Services/S/Verifications',
    },
    { host: 'messaging.twilio.com', refused: 'POST /v1/Services/S', allowed: 'GET /v1/Services/S' },
    { host: 'lookups.twilio.com', refused: '', allowed: 'GET /v2/PhoneNumbers/+15005550006' },
    { host: 'voice.twilio.com', refused: '', allowed: 'GET /v1/DialingPermissions/Countries' },
  ],
}
