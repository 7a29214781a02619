/** What the tests' authorization server promises, seen by openid-client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { startOAuthServer } from './oauth-server.ts'
import type { OAuthServer } from './oauth-server.ts'

const redirectUri = 'https://client.example/callback'

function discover(server: OAuthServer, client = server.client): Promise<oauth.Configuration> {
  return oauth.discovery(
    new URL(server.issuer),
    client.clientId,
    client.clientSecret,
    oauth.ClientSecretBasic(client.clientSecret),
    {
      [oauth.customFetch]: server.fetch as unknown as oauth.CustomFetch,
    },
  )
}

async function authorize(config: oauth.Configuration, scope = 'openid email offline_access') {
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
  return { url, finish }
}

test('a person signs in and allows, and the code becomes tokens that the API takes', async (t) => {
  const server = await startOAuthServer(t)
  const config = await discover(server)
  const { url, finish } = await authorize(config)
  const callback = await server.approve(url, { account: 'grace' })
  assert.equal(new URL(callback).searchParams.get('iss'), server.issuer)
  const tokens = await finish(callback)
  assert.equal(tokens.claims()?.sub, 'grace')
  const whoami = await server.fetch(`${server.issuer}/api/whoami`, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  })
  assert.equal(((await whoami.json()) as any).sub, 'grace')
  const refreshed = await oauth.refreshTokenGrant(config, tokens.refresh_token ?? '')
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token)
})
