import { callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = '*.myshopify.com'

/** Tokens, deliveries to other servers, scripts in the shop that outlive the grant, and ways in for customers. */
const credentialFields = [
  'delegateAccessTokenCreate storefrontAccessTokenCreate storefrontAccessTokens flowGenerateSignature',
  'webhookSubscriptionCreate webhookSubscriptionUpdate pubSubWebhookSubscriptionCreate',
  'pubSubWebhookSubscriptionUpdate eventBridgeWebhookSubscriptionCreate eventBridgeWebhookSubscriptionUpdate',
  'serverPixelCreate eventBridgeServerPixelUpdate pubSubServerPixelUpdate webPixelCreate webPixelUpdate',
  'scriptTagCreate scriptTagUpdate carrierServiceCreate carrierServiceUpdate fulfillmentServiceCreate',
  'fulfillmentServiceUpdate mobilePlatformApplicationCreate mobilePlatformApplicationUpdate',
  'customerGenerateAccountActivationUrl customerSendAccountInviteEmail customerPaymentMethodGetUpdateUrl',
  // They run an operation that is in a string.
  'bulkOperationRunMutation bulkOperationRunQuery',
].flatMap((line) => line.split(' '))

export const shopify: Preset = {
  id: 'shopify',
  name: 'Shopify',
  authMethods: [
    {
      kind: 'api_key',
      label: 'Admin API access token',
      help: 'The Admin API access token (shpat_…) of an app that is installed in the shop, with no more scopes than are needed. The shop is the first part of its myshopify.com address.',
      members: [
        { name: 'shop', label: 'Shop', host: '{shop}.myshopify.com' },
        { name: 'api_key', label: 'Admin API access token' },
      ],
      inject: [{ in: 'header', name: 'x-shopify-access-token', template: '{api_key}' }],
      check: {
        url: 'https://{shop}.myshopify.com/admin/api/2026-10/shop.json?fields=id,name,myshopify_domain',
        account: { id: 'shop.id', labels: ['shop.name', 'shop.myshopify_domain'] },
      },
    },
    {
      kind: 'client_credentials',
      label: 'App of your organization',
      help: 'In the Dev Dashboard, create an app with no more scopes than are needed, install it in the shop, and open its settings: they show the client ID and the secret. The shop is the first part of its myshopify.com address.',
      members: [
        { name: 'shop', label: 'Shop', host: '{shop}.myshopify.com' },
        { name: 'client_id', label: 'Client ID' },
        { name: 'client_secret', label: 'Client secret' },
      ],
      inject: [{ in: 'header', name: 'x-shopify-access-token', template: '{token}' }],
      token_url: 'https://{shop}.myshopify.com/admin/oauth/access_token',
    },
  ],
  apiHosts: [host],
  // Below `/admin/api` and a version; without a version it is the oldest one.
  batchPaths: [{ host, path: '/admin/**/graphql' }],
  credentialPaths: [
    { host, path: '/admin/oauth', methods: writes },
    { host, path: '/admin/oauth/authorize' },
    { host, path: '/admin/**/storefront_access_tokens' },
    { host, path: '/admin/**/webhooks', methods: writes },
    { host, path: '/admin/**/script_tags', methods: writes },
    { host, path: '/admin/**/carrier_services', methods: writes },
    { host, path: '/admin/**/fulfillment_services', methods: writes },
    { host, path: '/admin/**/mobile_platform_applications', methods: writes },
    { host, path: '/admin/**/customers/*/account_activation_url' },
    { host, path: '/admin/**/customers/*/send_invite' },
  ],
  credentialFields,
  access: {
    reads: callsAt(host, 'POST /admin/api/*/orders/*/refunds/calculate.json'),
    // What is cancelled or disabled stays so.
    destructive: callsAt(
      host,
      `
        POST /admin/**/orders/*/cancel
        POST /admin/**/gift_cards/*/disable`,
    ),
    operations: { destructive: ['*DataErasure', 'orderCancel', 'giftCardDeactivate', 'giftCardDisable'] },
  },
  bodyChecks: ['graphql'],
  docs: [
    'https://shopify.dev/docs/apps/build/authentication-authorization/client-credentials-grant',
    'https://shopify.dev/docs/apps/build/authentication-authorization/legacy/admin-custom-apps',
    'https://shopify.dev/docs/api/admin-rest/latest/resources/shop',
    'https://shopify.dev/docs/api/admin-graphql/latest',
    'https://shopify.dev/api/admin-rest/2025-01/resources/refund',
    'https://shopify.dev/docs/api/admin-rest/2027-01/resources/gift-card',
    'https://shopify.dev/docs/api/admin-graphql/latest/payloads/giftcarddeactivatepayload.md',
    'https://shopify.dev/docs/api/admin-graphql/2024-10/objects/ordercancelusererror',
  ],
}
