import { all, bearer, callsAt, can, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.stripe.com'

export const stripe: Preset = {
  id: 'stripe',
  name: 'Stripe',
  authMethods: [
    {
      kind: 'api_key',
      help: 'Create a restricted key in the Dashboard under Developers, API keys. Allow what the agent needs, and reading "Balance", by which the key is checked. Begin with a key of a sandbox.',
      inject: [bearer],
      check: { url: 'https://api.stripe.com/v1/balance' },
      env: ['STRIPE_API_KEY'],
    },
  ],
  apiHosts: [host, 'files.stripe.com'],
  credentialPaths: [
    { host, path: '/v1/webhook_endpoints', methods: writes },
    { host, path: '/v2/core/event_destinations', methods: writes },
    // Reading returns keys too.
    { host, path: '/v2/iam' },
    { host, path: '/v1/ephemeral_keys' },
    { host, path: '/v1/apps/secrets' },
    { host, path: '/v1/account_links' },
    { host, path: '/v2/core/account_links' },
    { host, path: '/v1/account_sessions' },
    { host, path: '/v1/customer_sessions' },
    { host, path: '/v1/accounts/*/login_links' },
    { host, path: '/v1/terminal/connection_tokens' },
    // Where the money is paid out to.
    { host, path: '/v1/accounts', methods: writes, isExact: true },
    { host, path: '/v1/accounts/*', methods: writes, isExact: true },
    { host, path: '/v1/accounts/*/external_accounts', methods: writes },
    { host, path: '/v1/accounts/*/bank_accounts', methods: writes },
    { host, path: '/v2/money_management/outbound_setup_intents', methods: writes },
    { host, path: '/v2/money_management/payout_methods', methods: writes },
    // A card's number and security code are shown on request.
    { host, path: '/v1/issuing/cards' },
  ],
  access: {
    reads: callsAt(host, 'POST /v1/invoices/create_preview'),
    destructive: callsAt(
      host,
      `
        POST /v1/invoices/*/void
        POST /v1/payment_methods/*/detach
        POST /v1/**/redact
        POST /v1/privacy/redaction_jobs`,
    ),
  },
  abilities: [
    ...all('customers', host, '/v1/customers'),
    ...all('payments', host, '/v1/payment_intents'),
    ...all('charges', host, '/v1/charges'),
    ...all('invoices', host, '/v1/invoices'),
    ...all('subscriptions', host, '/v1/subscriptions'),
    ...all('products', host, '/v1/products'),
    can('read', 'read', 'your balance', host, { path: '/v1/balance' }),
    can('write', 'make', 'refunds', host, { path: '/v1/refunds', only: true }),
  ],
  bodyChecks: [],
  docs: [
    'https://docs.stripe.com/keys/restricted-api-keys',
    'https://docs.stripe.com/api/authentication',
    'https://docs.stripe.com/stripe-cli/keys',
    'https://docs.stripe.com/changelog/basil/2025-03-31/invoice-preview-api-deprecations.md',
    'https://docs.stripe.com/api/invoices/create_preview?api-version=2025-08-27.basil',
    'https://docs.stripe.com/api/invoices/void',
    'https://docs.stripe.com/api/payment_methods/detach.md',
    'https://docs.stripe.com/privacy/redaction',
    'https://docs.stripe.com/privacy/redaction-integration',
  ],
}
