/** oidc-provider, configured for the tests and the demo: its own keys, PKCE with S256 always required. */
import { randomBytes } from 'node:crypto'
import Provider from 'oidc-provider'
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { keptKey } from './kept-keys.ts'
import { plainPages } from './oauth-pages.ts'
import type { OAuthPages } from './oauth-pages.ts'
import type { OAuthStore } from './oauth-store.ts'

export interface ProviderOptions {
  /** Scopes of its API, besides OpenID's. */
  apiScopes?: string[]
  pages?: OAuthPages
  /** Dynamic client registration: for anyone (the default), nobody, or with this initial access token. */
  registration?: boolean | { initialAccessToken: string }
  /** Asks for consent every time, even if the account consented before. */
  alwaysAsksConsent?: boolean
  rotateRefreshToken?: boolean
  accessTokenSeconds?: number
  deviceFlow?: boolean
  deviceCodeSeconds?: number
  revocation?: boolean
  /** The claims of these accounts; other accounts get claims made from their name. */
  accounts?: Record<string, { email?: string; email_verified?: boolean; name?: string }>
  /** The claims are in the ID token too, not only in userinfo. */
  emailInIdToken?: boolean
  /** Sends `iss` in the authorization response (RFC 9207), which is the default. */
  issParameter?: boolean
}

export function createProvider(issuer: string, store: OAuthStore, options: ProviderOptions): Provider {
  const provider = new Provider(issuer, {
    ...configurationOf(options),
    adapter: store.adapter,
    jwks: { keys: [{ ...keptKey('oauth-provider').export({ format: 'jwk' }), kty: 'RSA', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
  })
  provider.proxy = true
  if (options.issParameter === false) provider.use(withoutIss)
  return provider
}

function configurationOf(options: ProviderOptions): Configuration {
  const { apiScopes = ['read', 'write'], pages = plainPages } = options
  const { registration = true, deviceFlow = true, revocation = true, rotateRefreshToken = true } = options
  return {
    scopes: ['openid', 'offline_access', 'email', 'profile', ...apiScopes],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: options.emailInIdToken !== true,
    pkce: { required: () => true },
    clockTolerance: 0,
    clientBasedCORS: () => false,
    rotateRefreshToken,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    ...(options.alwaysAsksConsent && { loadExistingGrant: grantJustGiven }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: async (_context, sub) => ({
      accountId: sub,
      claims: async () => ({
        sub,
        ...(options.accounts?.[sub] ?? { email: `${sub}@example.com`, email_verified: true, name: sub }),
      }),
    }),
    renderError: (context, { error, error_description: description = '' }) => {
      context.type = 'html'
      context.body = pages.failed(error, description)
    },
    ttl: {
      AccessToken: options.accessTokenSeconds ?? 3600,
      AuthorizationCode: 60,
      ClientCredentials: options.accessTokenSeconds ?? 3600,
      DeviceCode: options.deviceCodeSeconds ?? 600,
      Grant: 14 * 86_400,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 14 * 86_400,
      Session: 86_400,
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      resourceIndicators: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: {
        enabled: revocation,
        allowedPolicy: (_context, client, token) => token.clientId === client.clientId,
      },
      registration: {
        enabled: registration !== false,
        ...(typeof registration === 'object' && registration),
      },
      registrationManagement: { enabled: registration !== false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: deviceFlow, ...deviceSources(pages) },
    },
  }
}

async function grantJustGiven({ oidc }: KoaContextWithOIDC) {
  const grantId = oidc.result?.consent?.grantId
  return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId)
}

type DeviceSources = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>

function deviceSources(pages: OAuthPages): DeviceSources {
  return {
    userCodeInputSource: (context, form, _out, error) => {
      const isRefusal = error?.name === 'AbortedError'
      context.type = 'html'
      context.status = error && !isRefusal ? 400 : 200
      context.body = isRefusal ? pages.refused() : pages.enterCode(form, error !== undefined)
    },
    userCodeConfirmSource: (context, form, client, _deviceInfo, userCode) => {
      context.type = 'html'
      context.body = pages.confirmCode(form, client.clientName ?? client.clientId, userCode)
    },
    successSource: (context) => {
      context.type = 'html'
      context.body = pages.connected()
    },
  }
}

/** oidc-provider always sends `iss`; this removes it, as most providers do not send it. */
async function withoutIss(context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
  await next()
  const location = context.response.get('location')
  if (URL.canParse(location)) {
    const url = new URL(location)
    url.searchParams.delete('iss')
    context.set('location', url.href)
  }
  if (context.path === '/.well-known/openid-configuration') {
    context.body = { ...(context.body as object), authorization_response_iss_parameter_supported: undefined }
  }
}
