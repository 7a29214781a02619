/** A service whose users sign in with real providers, and browsers with their own cookies. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { startGitHubServer } from './github-server.ts'
import type { GitHubServer, GitHubServerOptions } from './github-server.ts'
import { startOAuthServer } from './oauth-server.ts'
import type { OAuthServer, OAuthServerOptions } from './oauth-server.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'

export const base = 'https://sallyport.example'

export interface LoginWorld {
  oidc: OAuthServer
  github: GitHubServer
  /** Settings of the service for both providers. */
  settings: Record<string, string>
}

/** Both providers, for all tests of a file. */
export async function startLoginWorld(
  { oidc = {}, github = {} }: { oidc?: OAuthServerOptions; github?: GitHubServerOptions } = {},
  baseUrl = base,
): Promise<LoginWorld> {
  const scope = {
    after: (end: () => unknown) => {
      after(async () => {
        await end()
      })
    },
  } as Pick<TestContext, 'after'>
  const callback = (id: string) => `${baseUrl}/v4/auth/callback/${id}`
  const oidcServer = await startOAuthServer(scope, { redirectUris: [callback('oidc')], ...oidc })
  const githubServer = await startGitHubServer(scope, { redirectUri: callback('github'), ...github })
  const settings = {
    SALLYPORT_BASE_URL: baseUrl,
    SALLYPORT_EGRESS_ALLOW: `${oidcServer.host},${githubServer.host}`,
    SALLYPORT_EGRESS_CA_FILE: oidcServer.caFile,
    SALLYPORT_GITHUB_CLIENT_ID: githubServer.client.clientId,
    SALLYPORT_GITHUB_CLIENT_SECRET: githubServer.client.clientSecret,
    SALLYPORT_GITHUB_URL: githubServer.origin,
    SALLYPORT_OIDC_ISSUER: oidcServer.issuer,
    SALLYPORT_OIDC_CLIENT_ID: oidcServer.client.clientId,
    SALLYPORT_OIDC_CLIENT_SECRET: oidcServer.client.clientSecret,
  }
  return { oidc: oidcServer, github: githubServer, settings }
}

export interface Browser {
  cookies: Map<string, string>
  open: (url: string) => Promise<Reply>
  /** The signed-in user, if any. */
  user: () => Promise<{ user_id: string; name: string | null; email: string | null } | undefined>
}

export function newBrowser(service: TestService): Browser {
  const cookies = new Map<string, string>()
  const open = async (url: string) => {
    const { pathname, search } = new URL(url, base)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await service.call('GET', pathname + search, { headers: cookie === '' ? {} : { cookie } })
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(line)) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return reply
  }
  return { cookies, open, user: async () => (await open('/v4/auth/me')).body.user }
}

/** Starts a login. Returns the provider's URL that the browser is redirected to. */
export async function begin(browser: Browser, id: 'oidc' | 'github', query = ''): Promise<string> {
  const { status, headers } = await browser.open(`/v4/auth/login/${id}${query}`)
  assert.equal(status, 302)
  return String(headers['location'])
}

/** The whole login. Returns the path where the browser ends. */
export async function signInWith(
  { oidc, github }: LoginWorld,
  browser: Browser,
  id: 'oidc' | 'github',
  account: string,
): Promise<string> {
  const url = await begin(browser, id)
  const callback = await { oidc, github }[id].approve(url, { account })
  return endOf(await browser.open(callback))
}

export function endOf({ status, headers }: Reply): string {
  assert.equal(status, 302)
  return String(headers['location'])
}

export async function serviceIn(
  world: LoginWorld,
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  changes: Environment = {},
): Promise<TestService> {
  return startService(t, engine, { ...world.settings, ...changes })
}

export async function invite(service: TestService, email: string, name?: string): Promise<string> {
  const { body } = await service.call('POST', '/v4/auth/login-tokens', {
    token: service.adminToken,
    body: { email, ...(name !== undefined && { name }) },
  })
  return body.user_id as string
}
