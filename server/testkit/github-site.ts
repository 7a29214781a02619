/** GitHub's part of a login without HTTP: codes, tokens, and what the API returns for a token. */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface GitHubAccount {
  /** GitHub's numeric id, which stays when the login changes. */
  id: number
  name?: string | null
  /** The public e-mail address of the profile; null if there is none. */
  email?: string | null
  emails?: { email: string; primary: boolean; verified: boolean }[]
}

export const githubPaths = {
  authorization: '/login/oauth/authorize',
  token: '/login/oauth/access_token',
  user: '/api/v3/user',
  emails: '/api/v3/user/emails',
}

/** The OAuth app that is registered there. */
export interface GitHubApp {
  clientId: string
  clientSecret: string
  redirectUri: string
}

/** The user at the authorize page. */
export interface Visitor {
  login: string
  allows: boolean
}

export interface SiteAnswer {
  status: number
  headers?: Record<string, string>
  body?: unknown
}

export interface GitHubSite {
  authorize: (query: URLSearchParams, visitor: Visitor) => SiteAnswer
  exchange: (form: URLSearchParams, clientId: string | null, clientSecret: string | null) => Record<string, string>
  callApi: (path: string, headers: IncomingHttpHeaders) => SiteAnswer
  endGrants: (accountId: number) => void
}

interface Allowed {
  accountId: number
  scope: string
}

interface Code extends Allowed {
  redirectUri: string
  challenge: string | null
}

export function createGitHubSite(app: GitHubApp, accounts: Record<string, GitHubAccount>): GitHubSite {
  const codes = new Map<string, Code>()
  const tokens = new Map<string, Allowed>()

  const authorize: GitHubSite['authorize'] = (query, visitor) => {
    const redirectUri = query.get('redirect_uri') ?? app.redirectUri
    const state = query.get('state')
    const back = (to: string, members: Record<string, string>): SiteAnswer => {
      const url = new URL(to)
      for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value)
      if (state !== null) url.searchParams.set('state', state)
      return { status: 302, headers: { location: url.href } }
    }
    if (query.get('client_id') !== app.clientId) return { status: 404 }
    if (!isBelow(redirectUri, app.redirectUri)) return back(app.redirectUri, { error: 'redirect_uri_mismatch' })
    if (!visitor.allows) return back(redirectUri, { error: 'access_denied' })
    const account = accounts[visitor.login]
    if (!account) throw new Error(`no account ${visitor.login}`)
    const code = randomBytes(10).toString('hex')
    const scope = (query.get('scope') ?? '').split(/[ ,]+/).join(',')
    codes.set(code, { accountId: account.id, scope, redirectUri, challenge: query.get('code_challenge') })
    return back(redirectUri, { code })
  }

  const exchange: GitHubSite['exchange'] = (form, clientId, clientSecret) => {
    if (clientId !== app.clientId || clientSecret !== app.clientSecret) {
      return { error: 'incorrect_client_credentials', error_description: 'Client id or secret are wrong.' }
    }
    const value = form.get('code') ?? ''
    const code = codes.get(value)
    codes.delete(value)
    // GitHub does not document the error for a wrong verifier; it is treated like a wrong code.
    if (!code || !isProven(code.challenge, form.get('code_verifier'))) {
      return { error: 'bad_verification_code', error_description: 'The code is wrong or has expired.' }
    }
    if ((form.get('redirect_uri') ?? code.redirectUri) !== code.redirectUri) {
      return { error: 'redirect_uri_mismatch', error_description: 'The redirect_uri is not the one registered.' }
    }
    const token = `gho_${randomBytes(27).toString('base64url').replace(/[-_]/g, '0')}`
    tokens.set(token, code)
    return { access_token: token, token_type: 'bearer', scope: code.scope }
  }

  const callApi: GitHubSite['callApi'] = (path, { authorization = '', 'user-agent': userAgent }) => {
    if (!userAgent) return { status: 403, body: 'Request forbidden by administrative rules.' }
    const [, value = ''] = /^(?:Bearer|token) (.+)$/i.exec(authorization) ?? []
    const allowed = tokens.get(value)
    const [login, account] = Object.entries(accounts).find(([, { id }]) => id === allowed?.accountId) ?? []
    if (!allowed || !account) return { status: 401, body: { message: 'Bad credentials', status: '401' } }
    const headers = { 'x-oauth-scopes': allowed.scope.replaceAll(',', ', ') }
    const { id, name = null, email = null, emails = [] } = account
    if (path === githubPaths.user) return { status: 200, headers, body: { login, id, type: 'User', name, email } }
    const seesEmails = /(?:^|,)user(?::email)?(?:,|$)/.test(allowed.scope)
    if (path === githubPaths.emails && seesEmails) return { status: 200, headers, body: emails }
    return { status: 404, headers, body: { message: 'Not Found', status: '404' } }
  }

  return {
    authorize,
    exchange,
    callApi,
    endGrants: (ended) => {
      for (const [token, { accountId }] of tokens) if (accountId === ended) tokens.delete(token)
    },
  }
}

/** GitHub accepts any path below the registered one. */
function isBelow(redirectUri: string, registered: string): boolean {
  if (!URL.canParse(redirectUri)) return false
  const [asked, known] = [new URL(redirectUri), new URL(registered)]
  return asked.origin === known.origin && `${asked.pathname}/`.startsWith(`${known.pathname.replace(/\/$/, '')}/`)
}

function isProven(challenge: string | null, verifier: string | null): boolean {
  if (challenge === null) return true
  return (
    createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url') === challenge
  )
}
