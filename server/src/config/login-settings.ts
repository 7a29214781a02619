/** The settings of signing in with a browser. Incomplete ones stop the start. */
import { httpsOrigin, incomplete, issuer, oneOf, optional, setting, text } from '../platform/config/settings.ts'
import type { SecretSource } from '../platform/config/settings.ts'

export const loginSettings = {
  githubClientId: setting(
    'SALLYPORT_GITHUB_CLIENT_ID',
    null,
    'The client ID of a GitHub OAuth app: people can sign in with GitHub',
    optional(text),
  ),
  githubUrl: setting(
    'SALLYPORT_GITHUB_URL',
    'https://github.com',
    'Where GitHub is; the address of a GitHub Enterprise Server otherwise',
    httpsOrigin,
  ),
  oidcIssuer: setting(
    'SALLYPORT_OIDC_ISSUER',
    null,
    'The issuer of an OpenID Connect provider: people can sign in with it',
    optional(issuer),
  ),
  oidcClientId: setting('SALLYPORT_OIDC_CLIENT_ID', null, 'The client ID that it knows us by', optional(text)),
  oidcName: setting('SALLYPORT_OIDC_NAME', 'Single sign-on', 'What people call it; stands on the button', text),
  signup: setting(
    'SALLYPORT_SIGNUP',
    'invited',
    'Who may sign in with GitHub or OpenID Connect for the first time: those an admin invited, or all (open)',
    oneOf('invited', 'open'),
  ),
}

export const loginSecretSettings = {
  githubClientSecret: {
    name: 'SALLYPORT_GITHUB_CLIENT_SECRET',
    fallback: 'none',
    meaning: 'The client secret of the GitHub OAuth app',
  },
  oidcClientSecret: {
    name: 'SALLYPORT_OIDC_CLIENT_SECRET',
    fallback: 'none',
    meaning: 'The client secret that goes with SALLYPORT_OIDC_CLIENT_ID',
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
    ...incomplete('a GitHub login', {
      SALLYPORT_GITHUB_CLIENT_ID: config.githubClientId !== undefined,
      SALLYPORT_GITHUB_CLIENT_SECRET: config.githubClientSecret.isSet,
    }),
    ...incomplete('an OpenID Connect login', {
      SALLYPORT_OIDC_ISSUER: config.oidcIssuer !== undefined,
      SALLYPORT_OIDC_CLIENT_ID: config.oidcClientId !== undefined,
      SALLYPORT_OIDC_CLIENT_SECRET: config.oidcClientSecret.isSet,
    }),
  ]
}
