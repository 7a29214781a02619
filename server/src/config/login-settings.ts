/** The settings for signing in with a browser. The service does not start if they are incomplete. */
import { httpsOrigin, incomplete, issuer, oneOf, optional, setting, text } from '../platform/config/settings.ts'
import type { SecretSource } from '../platform/config/settings.ts'

export const loginSettings = {
  githubClientId: setting(
    'SALLYPORT_GITHUB_CLIENT_ID',
    null,
    'Client ID of a GitHub OAuth app, to let users sign in with GitHub',
    optional(text),
  ),
  githubUrl: setting(
    'SALLYPORT_GITHUB_URL',
    'https://github.com',
    'URL of GitHub or of a GitHub Enterprise Server',
    httpsOrigin,
  ),
  oidcIssuer: setting(
    'SALLYPORT_OIDC_ISSUER',
    null,
    'Issuer URL of an OpenID Connect provider, to let users sign in with it',
    optional(issuer),
  ),
  oidcClientId: setting(
    'SALLYPORT_OIDC_CLIENT_ID',
    null,
    'Client ID registered with the OpenID Connect provider',
    optional(text),
  ),
  oidcName: setting('SALLYPORT_OIDC_NAME', 'Single sign-on', 'Name shown on the sign-in button', text),
  signup: setting(
    'SALLYPORT_SIGNUP',
    'invited',
    'Who can sign in with GitHub or OpenID Connect for the first time: only invited users (invited) or anyone (open)',
    oneOf('invited', 'open'),
  ),
}

export const loginSecretSettings = {
  githubClientSecret: {
    name: 'SALLYPORT_GITHUB_CLIENT_SECRET',
    fallback: 'none',
    meaning: 'Client secret of the GitHub OAuth app',
  },
  oidcClientSecret: {
    name: 'SALLYPORT_OIDC_CLIENT_SECRET',
    fallback: 'none',
    meaning: 'Client secret for SALLYPORT_OIDC_CLIENT_ID',
  },
} as const

interface LoginChoices {
  githubClientId: string | undefined
  githubClientSecret: SecretSource
  oidcIssuer: URL | undefined
  oidcClientId: string | undefined
  oidcClientSecret: SecretSource
}

export function loginContradictions(config: LoginChoices): string[] {
  return [
    ...incomplete('GitHub login', {
      SALLYPORT_GITHUB_CLIENT_ID: config.githubClientId !== undefined,
      SALLYPORT_GITHUB_CLIENT_SECRET: config.githubClientSecret.isSet,
    }),
    ...incomplete('OpenID Connect login', {
      SALLYPORT_OIDC_ISSUER: config.oidcIssuer !== undefined,
      SALLYPORT_OIDC_CLIENT_ID: config.oidcClientId !== undefined,
      SALLYPORT_OIDC_CLIENT_SECRET: config.oidcClientSecret.isSet,
    }),
  ]
}
