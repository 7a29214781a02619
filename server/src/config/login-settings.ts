/** The settings for signing in with a browser. The service does not start if they are incomplete. */
import { httpsOrigin, incomplete, issuer, oneOf, optional, setting, text } from '../platform/config/settings.ts'

export const loginSettings = {
  SALLYPORT_GITHUB_CLIENT_ID: setting(
    null,
    'Client ID of a GitHub OAuth app, to let users sign in with GitHub',
    optional(text),
  ),
  SALLYPORT_GITHUB_URL: setting('https://github.com', 'URL of GitHub or of a GitHub Enterprise Server', httpsOrigin),
  SALLYPORT_OIDC_ISSUER: setting(
    null,
    'Issuer URL of an OpenID Connect provider, to let users sign in with it',
    optional(issuer),
  ),
  SALLYPORT_OIDC_CLIENT_ID: setting(null, 'Client ID registered with the OpenID Connect provider', optional(text)),
  SALLYPORT_OIDC_NAME: setting('Single sign-on', 'Name shown on the sign-in button', text),
  SALLYPORT_SIGNUP: setting(
    'invited',
    'Who can sign in with GitHub or OpenID Connect for the first time: only invited users (invited) or anyone (open)',
    oneOf('invited', 'open'),
  ),
}

export const loginSecretSettings = {
  SALLYPORT_GITHUB_CLIENT_SECRET: { fallback: 'none', meaning: 'Client secret of the GitHub OAuth app' },
  SALLYPORT_OIDC_CLIENT_SECRET: { fallback: 'none', meaning: 'Client secret for SALLYPORT_OIDC_CLIENT_ID' },
} as const

const github = ['SALLYPORT_GITHUB_CLIENT_ID', 'SALLYPORT_GITHUB_CLIENT_SECRET']
const oidc = ['SALLYPORT_OIDC_ISSUER', 'SALLYPORT_OIDC_CLIENT_ID', 'SALLYPORT_OIDC_CLIENT_SECRET']

export function loginContradictions(config: object): string[] {
  return [...incomplete('GitHub login', github, config), ...incomplete('OpenID Connect login', oidc, config)]
}
