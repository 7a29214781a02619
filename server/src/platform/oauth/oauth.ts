/**
 * OAuth with openid-client, through egress. There are three kinds of errors: the server refused (OAuthRefused), its
 * response is invalid (OAuthAnswerInvalid), or it could not be reached (a ServiceError). None contains what was sent or
 * received.
 */
import { dynamicClientRegistrationRequest, processDynamicClientRegistrationResponse } from 'oauth4webapi'
import * as oidc from 'openid-client'
import type { Egress } from '../egress/egress.ts'
import type { SuppliedBy } from '../egress/destinations.ts'
import { ServiceError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { checkClient } from './check-client.ts'
import type { ClientCheck } from './check-client.ts'
import { joinScopes, keepingTokens, splitScopes, translating } from './dialect.ts'
import type { Dialect } from './dialect.ts'
import { isNotFound, judging } from './failures.ts'
import { isSameIssuer, metadataMembers, OAuthAnswerInvalid, OAuthRefused } from './oauth-client.ts'
import type { AuthMethod, Metadata, OAuthClient, Tokens } from './oauth-client.ts'

/** What has to be stored until the authorization response. */
export interface CodeChecks {
  state: Secret
  verifier: Secret
  nonce: string | undefined
}

const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code'

export function createOAuth({ egress }: { egress: Egress }) {
  const configure = (client: OAuthClient, wrap = (fetch: oidc.CustomFetch) => fetch) => {
    const { metadata, clientId, clientSecret, authMethod, dialect, suppliedBy } = client
    const config = new oidc.Configuration(metadata, clientId, {}, authentication(authMethod, clientSecret, dialect))
    config[oidc.customFetch] = wrap(translating(egress.fetch(suppliedBy), dialect, metadata.token_endpoint))
    return config
  }
  const configureRefresh = (client: OAuthClient) => {
    const { refreshEndpoint } = client.dialect
    const metadata = { ...client.metadata, ...(refreshEndpoint !== undefined && { token_endpoint: refreshEndpoint }) }
    return configure({ ...client, metadata }, keepingTokens)
  }

  return {
    /**
     * The metadata of an issuer or discovery URL. It must name the issuer that it was fetched from, except that openid-client
     * allows another one for login.microsoftonline.com and b2clogin.com, which return a tenant's issuer.
     */
    discover: async (url: URL, suppliedBy: SuppliedBy): Promise<Metadata> => {
      const ask = async (algorithm: 'oidc' | 'oauth2') => {
        const options = { [oidc.customFetch]: egress.fetch(suppliedBy), algorithm }
        return pick((await oidc.discovery(url, 'unused', undefined, oidc.None(), options)).serverMetadata())
      }
      const issuer = issuerOfDiscovery(url)
      const metadata = await judging(() =>
        ask('oidc').catch((error: unknown) => {
          // An issuer without OpenID Connect has its metadata elsewhere (RFC 8414 §3).
          if (issuer !== undefined || !isNotFound(error)) throw error
          return ask('oauth2')
        }),
      )
      if (issuer !== undefined && !isSameIssuer(metadata.issuer, issuer)) throw new OAuthAnswerInvalid('foreign issuer')
      return metadata
    },

    /** RFC 7591. */
    register: (
      metadata: Metadata,
      client: { name: string; redirectUri: string; scopes: readonly string[] },
      suppliedBy: SuppliedBy,
    ) =>
      judging(async () => {
        const wanted = {
          client_name: client.name,
          redirect_uris: [client.redirectUri],
          response_types: ['code'],
          grant_types: [
            'authorization_code',
            'refresh_token',
            ...(metadata.device_authorization_endpoint === undefined ? [] : [deviceCodeGrant]),
          ],
          token_endpoint_auth_method: 'client_secret_basic',
          ...(client.scopes.length > 0 && { scope: client.scopes.join(' ') }),
        }
        const options = { [oidc.customFetch]: egress.fetch(suppliedBy) }
        const response = await dynamicClientRegistrationRequest(metadata, wanted, options)
        return toRegistered(await processDynamicClientRegistrationResponse(response))
      }),

    /** The URL that the person opens to consent, and what the response will be checked against. */
    beginCode: async (
      client: OAuthClient,
      request: { redirectUri: string; scopes: readonly string[]; params: Readonly<Record<string, string>> },
    ) => {
      const { redirectUri, scopes, params } = request
      const checks: CodeChecks = {
        state: new Secret(oidc.randomState()),
        verifier: new Secret(oidc.randomPKCECodeVerifier()),
        nonce: scopes.includes('openid') ? oidc.randomNonce() : undefined,
      }
      const scope = joinScopes(client.dialect, scopes)
      const page = client.metadata.authorization_endpoint ?? ''
      // openid-client requires https, but a page on loopback may be http. Nothing is sent with this configuration.
      const config = configure({
        ...client,
        metadata: { ...client.metadata, authorization_endpoint: page.replace(/^http:/, 'https:') },
      })
      const url = oidc.buildAuthorizationUrl(config, {
        ...params,
        // OIDC Core §11: offline_access is ignored without prompt=consent.
        ...(scopes.includes('offline_access') && params['prompt'] === undefined && { prompt: 'consent' }),
        ...(scope !== '' && { [client.dialect.scopeParameter ?? 'scope']: scope }),
        redirect_uri: redirectUri,
        response_type: 'code',
        state: checks.state.reveal(),
        ...(!client.dialect.omitsPkce && {
          code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier.reveal()),
          code_challenge_method: 'S256',
        }),
        ...(checks.nonce !== undefined && { nonce: checks.nonce }),
      })
      url.protocol = new URL(page).protocol
      return { url, checks }
    },

    /** Checks the authorization response (state, iss, error) and exchanges its code for tokens. */
    endCode: (client: OAuthClient, callback: URL, { state, verifier, nonce }: CodeChecks): Promise<Tokens> =>
      judging(async () => {
        const answer = await oidc.authorizationCodeGrant(configure(client), callback, {
          expectedState: state.reveal(),
          ...(!client.dialect.omitsPkce && { pkceCodeVerifier: verifier.reveal() }),
          ...(nonce !== undefined && { expectedNonce: nonce }),
        })
        return toTokens(answer)
      }),

    /** Whether the server knows the client, as far as it lets anyone tell. */
    checkClient: (client: OAuthClient, redirectUri: string): Promise<ClientCheck> =>
      checkClient(client, async (one) => {
        const parameters = {
          code: oidc.randomState(),
          redirect_uri: redirectUri,
          ...(!client.dialect.omitsPkce && { code_verifier: oidc.randomPKCECodeVerifier() }),
        }
        try {
          await judging(() => oidc.genericGrantRequest(configure(one), 'authorization_code', parameters))
        } catch (error) {
          if (error instanceof OAuthRefused) return error.code
          if (!(error instanceof OAuthAnswerInvalid)) throw error
        }
        // An answer that means nothing, or tokens for a code that never was.
        return 'unreadable_error'
      }),

    refresh: (client: OAuthClient, refreshToken: Secret): Promise<Tokens> =>
      judging(async () => toTokens(await oidc.refreshTokenGrant(configureRefresh(client), refreshToken.reveal()))),

    /** RFC 6749 §4.4. */
    clientCredentials: (client: OAuthClient, scopes: readonly string[]): Promise<Tokens> =>
      judging(async () => {
        const scope = joinScopes(client.dialect, scopes)
        const answer = await oidc.clientCredentialsGrant(configure(client), scope === '' ? {} : { scope })
        return toTokens(answer)
      }),

    beginDevice: (client: OAuthClient, scopes: readonly string[]) =>
      judging(async () => {
        const scope = joinScopes(client.dialect, scopes)
        const answer = await oidc.initiateDeviceAuthorization(configure(client), scope === '' ? {} : { scope })
        return {
          deviceCode: new Secret(answer.device_code),
          userCode: answer.user_code,
          verificationUri: answer.verification_uri,
          verificationUriComplete: answer.verification_uri_complete,
          expiresInSeconds: answer.expires_in,
          // RFC 8628 §3.2
          intervalSeconds: answer.interval ?? 5,
        }
      }),

    /** Polls once. Until the person has decided, it is refused with `authorization_pending` or `slow_down`. */
    pollDevice: (client: OAuthClient, deviceCode: Secret): Promise<Tokens> =>
      judging(async () => {
        const parameters = { device_code: deviceCode.reveal() }
        return toTokens(await oidc.genericGrantRequest(configure(client), deviceCodeGrant, parameters))
      }),

    /** RFC 7009. */
    revoke: (client: OAuthClient, token: Secret, kind: 'access_token' | 'refresh_token'): Promise<void> =>
      judging(() => oidc.tokenRevocation(configure(client), token.reveal(), { token_type_hint: kind })),

    userinfo: (client: OAuthClient, accessToken: Secret, subject: string): Promise<Record<string, unknown>> =>
      judging(() => oidc.fetchUserInfo(configure(client), accessToken.reveal(), subject)),

    /** Calls the provider's own API to find out whose account it is. */
    askApi: (
      client: OAuthClient,
      accessToken: Secret,
      { method, url, body }: { method: string; url: string; body?: string | undefined },
    ): Promise<Record<string, unknown>> =>
      judging(async () => {
        const sent = new Headers({ accept: 'application/json' })
        const response = await oidc.fetchProtectedResource(
          configure(client),
          accessToken.reveal(),
          new URL(url),
          method,
          body,
          sent,
        )
        // As with the token endpoint, a failing server has not given an invalid response.
        if (response.status >= 500 || response.status === 429) {
          throw new ServiceError('provider_unavailable', { detail: `the provider's API: status ${response.status}` })
        }
        const value: unknown = response.ok ? await response.json() : undefined
        if (typeof value !== 'object' || value === null) throw new oidc.ClientError('no object')
        return value as Record<string, unknown>
      }),
  }
}

export type OAuth = ReturnType<typeof createOAuth>

function authentication(method: AuthMethod, secret: Secret | undefined, dialect: Dialect): oidc.ClientAuth {
  if (method === 'none' || secret === undefined) return oidc.None()
  if (method === 'client_secret_post') return oidc.ClientSecretPost(secret.reveal())
  if (!dialect.isBasicUnencoded) return oidc.ClientSecretBasic(secret.reveal())
  return (_server, { client_id }, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${client_id}:${secret.reveal()}`)}`)
  }
}

function pick(metadata: Metadata): Metadata {
  const entries = metadataMembers.map((name) => [name, metadata[name]] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Metadata
}

/** The issuer of a well-known URL (OIDC Discovery §4, RFC 8414 §3); undefined if the URL is an issuer itself. */
function issuerOfDiscovery(url: URL): string | undefined {
  const { origin, pathname } = url
  const appended = /^(.*)\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/.exec(pathname)?.[1]
  if (appended !== undefined) return origin + appended
  const inserted = /^\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(\/.*)$/.exec(pathname)?.[1]
  if (inserted !== undefined) return origin + inserted
  if (pathname.includes('/.well-known/')) throw new OAuthAnswerInvalid('no address of metadata')
  return undefined
}

function toRegistered(client: Record<string, unknown> & { client_id: string }) {
  const secret = client['client_secret']
  const method = client['token_endpoint_auth_method']
  const clientSecret = typeof secret === 'string' && secret !== '' ? new Secret(secret) : undefined
  const authMethod: AuthMethod =
    clientSecret === undefined ? 'none' : method === 'client_secret_post' ? 'client_secret_post' : 'client_secret_basic'
  return { clientId: client.client_id, clientSecret, authMethod }
}

function toTokens(answer: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): Tokens {
  const { access_token, refresh_token, expires_in, scope } = answer
  return {
    accessToken: new Secret(access_token),
    refreshToken: refresh_token === undefined ? undefined : new Secret(refresh_token),
    expiresInSeconds: expires_in,
    scopes: splitScopes(scope),
    claims: answer.claims(),
    extra: withoutTokens(answer),
  }
}

function withoutTokens(value: object): Record<string, unknown> {
  const members = Object.entries(value) as [string, unknown][]
  const rest = members.filter(([name, member]) => !/token$/i.test(name) && typeof member !== 'function')
  return Object.fromEntries(
    rest.map(([name, member]) => [name, isPlainObject(member) ? withoutTokens(member) : member]),
  )
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
