/** openid-client as a client of the tests' authorization server. */
import * as oauth from 'openid-client'
import type { OAuthServer } from './oauth-server.ts'

const redirectUri = 'https://client.example/callback'

/** The fetch for openid-client, which trusts the server's certificate. */
export function trusting(server: OAuthServer): oauth.DiscoveryRequestOptions {
  return { [oauth.customFetch]: server.fetch as unknown as oauth.CustomFetch }
}

export function discover(server: OAuthServer, client = server.client): Promise<oauth.Configuration> {
  const authentication = oauth.ClientSecretBasic(client.clientSecret)
  return oauth.discovery(new URL(server.issuer), client.clientId, undefined, authentication, trusting(server))
}

/** The authorization URL, and a function that exchanges the callback URL for tokens. */
export async function authorize(config: oauth.Configuration, scope = 'openid offline_access') {
  const verifier = oauth.randomPKCECodeVerifier()
  const state = oauth.randomState()
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state,
    prompt: 'consent',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const finish = (callback: string) =>
    oauth.authorizationCodeGrant(config, new URL(callback), { pkceCodeVerifier: verifier, expectedState: state })
  return { url, finish, verifier }
}

export async function signIn(server: OAuthServer, { account = 'ada', scope = 'openid offline_access' } = {}) {
  const { url, finish } = await authorize(await discover(server), scope)
  return finish(await server.approve(url, { account }))
}

/** The error that openid-client throws for an error response of an endpoint. */
export function refusedWith(error: string): { name: string; error: string } {
  return { name: 'ResponseBodyError', error }
}
