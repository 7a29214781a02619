import type { Config } from '../config/config.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { OAuthClient } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { personOf } from './login-provider.ts'
import type { LoginProvider } from './login-provider.ts'

export interface GitHubLoginNeeds {
  config: Pick<Config, 'githubClientId' | 'githubClientSecret' | 'githubUrl'>
  oauth: OAuth
}

/** GitHub, or GitHub Enterprise Server. It doesn't support OpenID Connect: its API says whose token it is. */
export function createGitHubLogin({ config, oauth }: GitHubLoginNeeds): LoginProvider | undefined {
  const { githubClientId: clientId, githubUrl } = config
  if (clientId === undefined) return undefined
  const { origin } = githubUrl
  const api = apiOf(githubUrl)
  const client: OAuthClient = {
    metadata: {
      issuer: `${origin}/login/oauth`,
      authorization_endpoint: `${origin}/login/oauth/authorize`,
      token_endpoint: `${origin}/login/oauth/access_token`,
    },
    clientId,
    // Read once: a configured command that returns it must not run at every login.
    clientSecret: config.githubClientSecret.read(),
    authMethod: 'client_secret_post',
    dialect: { errorsWithStatus200: true },
    suppliedBy: 'operator',
  }
  return {
    id: 'github',
    scopes: ['user:email'],
    client: () => Promise.resolve(client),
    identify: async (_client, { accessToken }) => {
      const ask = (path: string) => oauth.askApi(client, accessToken, { method: 'GET', url: api + path })
      const { id, name, login } = await ask('/user')
      if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) throw new OAuthAnswerInvalid('no numeric id')
      // The app may lack permission to read e-mail addresses, and known users don't need one.
      const emails = await ask('/user/emails?per_page=100').catch((error: unknown) => {
        if (error instanceof OAuthAnswerInvalid || error instanceof OAuthRefused) return []
        throw error
      })
      const email = primaryOf(emails)
      // A login can be transferred to another account, the id can't.
      return personOf(origin, { sub: String(id), name: name ?? login, ...email })
    },
  }
}

function apiOf({ origin, hostname }: URL): string {
  if (hostname === 'github.com' || hostname.endsWith('.ghe.com')) return `https://api.${hostname}`
  return `${origin}/api/v3`
}

function primaryOf(emails: unknown): { email?: unknown; email_verified?: boolean } {
  if (!Array.isArray(emails)) throw new OAuthAnswerInvalid('no list of addresses')
  const primary = (emails as (Record<string, unknown> | null)[]).find((one) => one?.['primary'] === true)
  return primary ? { email: primary['email'], email_verified: primary['verified'] === true } : {}
}
