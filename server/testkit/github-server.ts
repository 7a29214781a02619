/**
 * The part of GitHub that a login uses, as an Enterprise Server, behind the same TLS front. It has
 * GitHub's peculiarities: errors with status 200, form responses unless JSON is accepted, scopes joined by commas, no
 * refresh token and no expiry.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { sharedAuthority } from './certificates.ts'
import { createGitHubSite, githubPaths } from './github-site.ts'
import type { GitHubAccount, GitHubApp, SiteAnswer, Visitor } from './github-site.ts'
import { startFront } from './oauth-front.ts'
import type { Front } from './oauth-front.ts'

export interface GitHubServer extends Pick<
  Front,
  'origin' | 'host' | 'calls' | 'secrets' | 'fault' | 'fetch' | 'close'
> {
  caFile: string
  /** A test may change the redirect URI. */
  client: GitHubApp
  /** By login. A test may add accounts, and rename one. */
  accounts: Record<string, GitHubAccount>
  /** Returns the URL that the browser is redirected to, without opening it. */
  approve: (authorizationUrl: string | URL, person?: { account?: string }) => Promise<string>
  deny: (authorizationUrl: string | URL) => Promise<string>
  /** The user revokes all authorizations in the settings. */
  endGrants: (login: string) => void
}

export interface GitHubServerOptions {
  redirectUri?: string
  accounts?: Record<string, GitHubAccount>
  port?: number
}

export async function startGitHubServer(
  t: Pick<TestContext, 'after'>,
  options: GitHubServerOptions = {},
): Promise<GitHubServer> {
  const authority = await sharedAuthority()
  const accounts = { ...(options.accounts ?? { ada: { id: 1815 } }) }
  const client: GitHubApp = {
    clientId: `Iv1.${randomBytes(8).toString('hex')}`,
    clientSecret: randomBytes(20).toString('hex'),
    redirectUri: options.redirectUri ?? 'https://client.example/callback',
  }
  const site = createGitHubSite(client, accounts)
  const browserOf = Object.keys(accounts)[0] ?? ''

  const answerTo = async (request: IncomingMessage): Promise<SiteAnswer> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://localhost')
    const { authorization = '', accept = '', cookie = '' } = request.headers
    if (pathname === githubPaths.authorization) return site.authorize(searchParams, visitorOf(cookie, browserOf))
    if (pathname !== githubPaths.token) return site.callApi(pathname, request.headers)
    const form = new URLSearchParams(await text(request))
    const [, basic] = /^Basic (.+)$/i.exec(authorization) ?? []
    const [id, secret] = Buffer.from(basic ?? '', 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent)
    const shown = basic === undefined ? [form.get('client_id'), form.get('client_secret')] : [id, secret]
    const body = site.exchange(form, shown[0] ?? null, shown[1] ?? null)
    if (accept.includes('application/json')) return { status: 200, body }
    const type = 'application/x-www-form-urlencoded; charset=utf-8'
    return { status: 200, headers: { 'content-type': type }, body: new URLSearchParams(body).toString() }
  }

  const front = await startFront(t, authority, options.port ?? 0, () => (request, response) => {
    answerTo(request).then(
      ({ status, headers, body = '' }) => {
        const type = typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8'
        response.writeHead(status, { 'content-type': type, ...headers })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      },
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  front.secrets.add(client.clientSecret)

  const browse = async (url: string | URL, { login, allows }: Visitor) => {
    const cookie = `login=${login}; allows=${allows ? 'yes' : 'no'}`
    const reply = await front.fetch(url, { redirect: 'manual', headers: { cookie } })
    const location = reply.headers.get('location')
    if (location === null) throw new Error(`the browser was not sent back: ${reply.status} ${await reply.text()}`)
    return location
  }

  return {
    ...front,
    caFile: authority.caFile,
    client,
    accounts,
    approve: (url, { account = browserOf } = {}) => browse(url, { login: account, allows: true }),
    deny: (url) => browse(url, { login: browserOf, allows: false }),
    endGrants: (login) => {
      const account = accounts[login]
      if (account) site.endGrants(account.id)
    },
  }
}

/** A simulated browser names its account; a real one uses the account that was set. */
function visitorOf(cookie: string, browserOf: string): Visitor {
  return { login: /login=([^;]+)/.exec(cookie)?.[1] ?? browserOf, allows: !cookie.includes('allows=no') }
}
