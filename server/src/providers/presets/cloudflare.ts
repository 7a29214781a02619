import type { ApiPath } from './api-path.ts'
import { bearer, callsAt, writes } from './preset.ts'
import type { Preset } from './preset.ts'

const host = 'api.cloudflare.com'
const inAccounts = (path: string, methods?: readonly string[]): ApiPath => ({
  host,
  path: `/client/v4/accounts/*/${path}`,
  ...(methods && { methods }),
})
/** Of an account or a zone. */
const anywhere = (path: string, methods?: readonly string[]): ApiPath => ({
  host,
  path: `/client/v4/*/*/${path}`,
  ...(methods && { methods }),
})

export const cloudflare: Preset = {
  id: 'cloudflare',
  name: 'Cloudflare',
  authMethods: [
    {
      kind: 'api_key',
      label: 'User API token',
      help: 'Create a token under My Profile, API Tokens, with the permissions and zones that the agent needs. Do not use the global API key.',
      inject: [bearer],
      check: { url: 'https://api.cloudflare.com/client/v4/user/tokens/verify' },
      env: ['CLOUDFLARE_API_TOKEN'],
    },
    {
      kind: 'api_key',
      name: 'account_token',
      label: 'Account API token',
      help: 'Create a token under Manage Account, API Tokens, with the permissions and zones that the agent needs.',
      members: [
        { name: 'account_id', label: 'Account ID', secret: false, pattern: '[a-f0-9]{32,32}' },
        { name: 'api_key', label: 'API token' },
      ],
      inject: [bearer],
      check: { url: 'https://api.cloudflare.com/client/v4/accounts/{account_id}/tokens/verify' },
    },
  ],
  apiHosts: [host],
  credentialPaths: [
    { host, path: '/client/v4/user/tokens', methods: writes },
    { host, path: '/client/v4/user/tokens/*/value' },
    { host, path: '/client/v4/user/invites', methods: writes },
    { host, path: '/client/v4/user', methods: writes, isExact: true },
    { host, path: '/client/v4/memberships', methods: writes },
    { host, path: '/client/v4/certificates', methods: writes },
    inAccounts('tokens', writes),
    inAccounts('tokens/*/value'),
    inAccounts('members', writes),
    inAccounts('roles', writes),
    inAccounts('iam', writes),
    inAccounts('sso_connectors', writes),
    inAccounts('oauth_clients'),
    inAccounts('client-secret'),
    inAccounts('cfd_tunnel/*/token'),
    inAccounts('cfd_tunnel/*/management'),
    inAccounts('cfd_tunnel', writes),
    inAccounts('tunnels', writes),
    inAccounts('warp_connector', writes),
    inAccounts('warp_connector/*/token'),
    inAccounts('mnm/vpc-flows/token'),
    inAccounts('magic/ipsec_tunnels/*/psk_generate'),
    inAccounts('challenges/widgets'),
    inAccounts('containers/registries/*/credentials'),
    inAccounts('pages/projects/*/upload-token'),
    inAccounts('r2/temp-access-credentials'),
    inAccounts('r2/buckets/*/sippy', writes),
    inAccounts('r2-catalog/*/credential'),
    inAccounts('basin-catalog/*/credential'),
    inAccounts('event_notifications', writes),
    inAccounts('realtime/kit/*/meetings/*/participants/*/token'),
    inAccounts('realtime/kit/*/webhooks', writes),
    inAccounts('moq/relays/*/tokens'),
    inAccounts('ai-search/tokens'),
    inAccounts('images/v1/keys'),
    inAccounts('stream/keys'),
    inAccounts('stream/webhook', writes),
    inAccounts('stream/live_inputs'),
    inAccounts('secrets_store', writes),
    inAccounts('workers/**/secrets', writes),
    inAccounts('workers/**/secrets-bulk', writes),
    inAccounts('workers/observability/destinations', writes),
    inAccounts('alerting/v3/destinations', writes),
    inAccounts('data-security/posture/webhooks', writes),
    inAccounts('vuln_scanner/credential_sets'),
    inAccounts('mtls_certificates', writes),
    inAccounts('email/routing/addresses', writes),
    anywhere('access', writes),
    anywhere('access/keys'),
    anywhere('access/identity_providers'),
    anywhere('logpush', writes),
    anywhere('email/routing', writes),
    anywhere('client_certificates', writes),
    anywhere('custom_certificates', writes),
    anywhere('keyless_certificates', writes),
    anywhere('origin_tls_client_auth', writes),
  ],
  access: {
    reads: callsAt(
      host,
      `
        POST /client/v4/graphql
        POST /client/v4/accounts/*/storage/kv/namespaces/*/bulk/get
        POST /client/v4/accounts/*/vectorize/v2/indexes/*/query
        POST /client/v4/accounts/*/vectorize/v2/indexes/*/get_by_ids
        POST /client/v4/accounts/*/workers/observability/telemetry/keys
        POST /client/v4/accounts/*/workers/observability/telemetry/values`,
    ),
    destructive: [
      ...callsAt(
        host,
        `
        POST /client/v4/accounts/*/storage/kv/namespaces/*/bulk/delete
        POST /client/v4/accounts/*/vectorize/v2/indexes/*/delete_by_ids
        POST /client/v4/accounts/*/queues/*/purge`,
      ),
      {
        ...{ host, path: '/client/v4/zones/*/dns_records/batch', methods: ['POST'] },
        parameter: { in: 'body', name: 'deletes' },
      },
    ],
  },
  bodyChecks: [],
  docs: [
    'https://developers.cloudflare.com/fundamentals/api/get-started/create-token/',
    'https://developers.cloudflare.com/fundamentals/api/get-started/account-owned-tokens/',
    'https://developers.cloudflare.com/fundamentals/api/troubleshooting',
    'https://developers.cloudflare.com/api/',
    'https://developers.cloudflare.com/api/resources/kv/subresources/namespaces/methods/bulk_delete',
    // Runs of telemetry/query are kept unless they are dry.
    'https://developers.cloudflare.com/api/resources/workers/subresources/observability/subresources/telemetry',
    'https://developers.cloudflare.com/analytics/graphql-api/',
    'https://developers.cloudflare.com/api/resources/kv/subresources/namespaces/methods/bulk_get',
    'https://developers.cloudflare.com/api/resources/vectorize/subresources/indexes/methods/query',
    'https://developers.cloudflare.com/api/resources/vectorize/subresources/indexes/methods/get_by_ids',
  ],
}
