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
  clickup: [
    {
      host: 'api.clickup.com',
      refused: `
        POST /api/v2/oauth/token
        POST /api/v2/team/1/webhook
        PUT /api/v2/webhook/w
        POST /api/v2/team/1/user
        POST /api/v2/team/1/guest
        POST /api/v2/team/1/group`,
      allowed: `
        GET /api/v2/user
        POST /api/v2/list/1/task
        PUT /api/v2/task/t
        GET /api/v2/team/1/webhook
        POST /api/v2/task/t/comment`,
    },
  ],
  deepl: [
    {
      host: 'api.deepl.com',
      refused: `
        POST /v2/admin/developer-keys
        GET /v2/admin/developer-keys
        PUT /v2/admin/developer-keys/deactivate`,
      allowed: `
        POST /v2/translate
        POST /v2/document
        GET /v2/usage`,
    },
    {
      host: 'api-free.deepl.com',
      refused: '',
      allowed: 'POST /v2/translate',
    },
  ],
  intercom: [
    {
      host: 'api.intercom.io',
      refused: `
        POST /export/content/data
        GET /download/content/data/1
        PUT /ip_allowlist
        POST /subscriptions`,
      allowed: `
        GET /me
        GET /contacts
        POST /contacts/c/notes
        POST /conversations/1/reply
        POST /messages
        GET /subscription_types`,
    },
    {
      host: 'api.eu.intercom.io',
      refused: 'POST /export/content/data',
      allowed: 'GET /me',
    },
    {
      host: 'api.au.intercom.io',
      refused: 'POST /export/content/data',
      allowed: 'GET /me',
    },
  ],
  jira: [
    {
      host: 'acme.atlassian.net',
      refused: `
        POST /gateway/api/graphql
        POST /rest/api/3/webhook
        POST /rest/webhooks/1.0/webhook
        POST /rest/api/3/user
        POST /rest/api/3/group/user
        POST /rest/api/3/project/P/role/1
        POST /rest/api/3/role/1/actors
        PUT /rest/api/3/permissionscheme/1
        POST /rest/servicedeskapi/customer
        POST /rest/servicedeskapi/servicedesk/1/customer
        POST /rest/atlassian-connect/1/app/module/dynamic
        POST /rest/plugins/1.0/
        POST /rest/backup/1/export/runbackup
        POST /wiki/rest/obm/1.0/runbackup
        PUT /rest/api/3/application-properties/a
        POST /wiki/rest/api/space/S/permission
        POST /wiki/api/v2/user/access/invite-by-email`,
      allowed: `
        GET /rest/api/3/myself
        POST /rest/api/3/issue
        POST /rest/api/3/issue/WEBHOOK-1/comment
        GET /rest/api/3/user
        GET /rest/api/3/project/P/role/1
        POST /rest/agile/1.0/sprint
        POST /wiki/api/v2/pages
        POST /rest/api/3/filter/1/permission`,
    },
  ],
  mailgun: [
    {
      host: 'api.mailgun.net',
      refused: `
        POST /v1/keys
        GET /v1/keys
        POST /v3/domains/d/credentials
        GET /v5/accounts/http_signing_key
        POST /v5/accounts/subaccounts
        POST /v3/routes
        PUT /v3/routes/r
        POST /v3/domains/d/webhooks
        POST /v4/domains/d/webhooks
        POST /v2/ip_whitelist`,
      allowed: `
        GET /v4/domains
        POST /v3/d/messages
        GET /v3/routes
        POST /v3/lists
        GET /v3/d/events`,
    },
    {
      host: 'api.eu.mailgun.net',
      refused: 'POST /v3/routes',
      allowed: 'POST /v3/d/messages',
    },
  ],
  postmark: [
    {
      host: 'api.postmarkapp.com',
      refused: `
        GET /server
        PUT /server
        GET /servers
        POST /servers
        POST /webhooks
        PUT /webhooks/1`,
      allowed: `
        POST /email
        POST /email/batch
        GET /messages/outbound
        GET /domains
        GET /webhooks
        POST /templates`,
    },
  ],
  resend: [
    {
      host: 'api.resend.com',
      refused: `
        POST /api-keys
        GET /api-keys
        POST /webhooks
        GET /webhooks/w
        POST /webhooks/w/signing-secret/rotate
        GET /oauth/grants
        POST /domains/claim`,
      allowed: `
        GET /domains
        POST /emails
        POST /emails/batch
        GET /contacts
        POST /broadcasts
        POST /domains`,
    },
  ],
  sendgrid: [
    {
      host: 'api.sendgrid.com',
      refused: `
        POST /v3/api_keys
        GET /v3/api_keys
        POST /v3/teammates
        GET /v3/teammates/pending
        PATCH /v3/scopes/requests/1/approve
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
        GET /v2/iam/api_keys
        POST /v2/iam/api_keys/k/rotate
        POST /v2/money_management/outbound_setup_intents
        POST /v1/account_links
        POST /v1/accounts/a/login_links
        POST /v1/accounts/a/external_accounts
        POST /v1/account_sessions
        POST /v1/terminal/connection_tokens
        GET /v1/issuing/cards/c
        POST /v1/apps/secrets`,
      exactly: `
        POST /v1/accounts
        POST /v1/accounts/a`,
      allowed: `
        GET /v1/balance
        GET /v1/customers
        GET /v1/accounts/a
        POST /v1/accounts/a/persons
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
  trello: [
    {
      host: 'api.trello.com',
      refused: `
        GET /1/tokens/t
        POST /1/tokens/t/webhooks
        GET /1/OAuthGetAccessToken
        POST /1/webhooks
        GET /1/members/me/tokens
        PUT /1/organizations/o/members
        POST /1/organizations/o/exports
        POST /1/boards/b/emailKey/generate
        GET /1/batch`,
      allowed: `
        GET /1/members/me
        GET /1/members/me/boards
        POST /1/cards
        PUT /1/cards/c
        PUT /1/boards/b/members/m
        GET /1/webhooks/w`,
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
        POST /2010-04-01/Accounts/AC1/Applications.json
        POST /2010-04-01/Accounts/AC1/Usage/Triggers.json`,
      exactly: `
        GET /2010-04-01/Accounts.json
        GET /2010-04-01/Accounts/AC1.json
        POST /2010-04-01/Accounts/AC1`,
      allowed: `
        GET /2010-04-01/Accounts/AC1/Messages.json
        POST /2010-04-01/Accounts/AC1/Messages.json
        POST /2010-04-01/Accounts/AC1/Calls.json
        GET /2010-04-01/Accounts/AC1/IncomingPhoneNumbers.json
        GET /2010-04-01/Accounts/AC1/Usage/Records.json`,
    },
    { host: 'iam.twilio.com', refused: 'POST /v1/Keys\nPOST /v1/Accounts/AC1/Tokens', allowed: 'GET /v1/Roles' },
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
    { host: 'voice.twilio.com', refused: 'POST /v1/ByocTrunks', allowed: 'GET /v1/DialingPermissions/Countries' },
  ],
  shopify: [
    {
      host: 'ada.myshopify.com',
      refused: `
        POST /admin/oauth/access_token
        POST /admin/oauth/access_token.json
        GET /admin/oauth/authorize
        GET /admin/api/2026-10/storefront_access_tokens.json
        POST /admin/api/2026-10/storefront_access_tokens.json
        POST /admin/storefront_access_tokens.json
        POST /admin/api/2026-10/webhooks.json
        PUT /admin/api/2026-10/webhooks/1.json
        POST /admin/api/2026-10/script_tags.json
        POST /admin/api/2026-10/carrier_services.json
        PUT /admin/api/2026-10/fulfillment_services/1.json
        POST /admin/api/2026-10/customers/1/account_activation_url.json
        POST /admin/api/2026-10/customers/1/send_invite.json`,
      allowed: `
        GET /admin/oauth/access_scopes.json
        GET /admin/api/2026-10/shop.json
        POST /admin/api/2026-10/graphql.json
        GET /admin/api/2026-10/webhooks.json
        GET /admin/api/2026-10/fulfillment_services.json
        POST /admin/api/2026-10/products.json
        PUT /admin/api/2026-10/orders/1.json
        POST /admin/api/2026-10/customers.json`,
    },
  ],
  zendesk: [
    {
      host: 'acme.zendesk.com',
      refused: `
        POST /api/v2/oauth/tokens
        GET /api/v2/oauth/clients.json
        POST /api/v2/users/me/oauth/clients.json
        POST /api/v2/webhooks
        GET /api/v2/webhooks/w/signing_secret
        POST /api/v2/targets
        POST /api/v2/triggers
        POST /api/v2/automations
        POST /api/v2/users
        PUT /api/v2/users/1
        POST /api/v2/users/1/identities
        POST /api/v2/users/1/password
        POST /api/v2/apps
        POST /api/v2/recipient_addresses
        GET /api/services/zis/connections/oauth/clients/i
        POST /sc/v2/apps/a/keys`,
      allowed: `
        GET /api/v2/users/me.json
        GET /api/v2/users/1
        POST /api/v2/tickets
        PUT /api/v2/tickets/1
        GET /api/v2/search
        GET /api/v2/triggers
        POST /api/v2/uploads`,
    },
  ],
}
