import { loginCookie, LoginProvidersReply, sessionCookie, StartLoginQuery } from '@sallyport/protocol/sessions'
import { CallbackQuery, IdInPath } from '@sallyport/protocol/schema'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { clearCookie, onlyCookie, setCookie } from '../platform/http/cookies.ts'
import { requestMembers } from '../platform/http/response-log.ts'
import { readCallback } from '../platform/oauth/callback.ts'
import { judgeRedirectAfter } from '../platform/http/own-path.ts'
import { beginBrowserLogin, endBrowserLogin } from './browser-login.ts'
import type { BrowserLoginNeeds } from './browser-login.ts'
import { createGitHubLogin } from './github-login.ts'
import type { GitHubLoginNeeds } from './github-login.ts'
import { LoginFailed, withRedirectAfter } from './login-failure.ts'
import type { LoginProvider } from './login-provider.ts'
import { createOidcLogin } from './oidc-login.ts'
import type { OidcLoginNeeds } from './oidc-login.ts'
import { loginCookieOptions, sessionCookieOptions } from './session-cookies.ts'

const tags = ['Sessions']

interface BrowserLoginRoutesNeeds extends BrowserLoginNeeds {
  config: BrowserLoginNeeds['config'] &
    GitHubLoginNeeds['config'] &
    OidcLoginNeeds['config'] &
    Pick<Config, 'sessionSeconds' | 'oidcName'>
}

export function browserLoginRoutes(http: Http, needs: BrowserLoginRoutesNeeds): void {
  const { config } = needs
  const ways = [
    { id: 'github', name: 'GitHub', provider: createGitHubLogin(needs) },
    { id: 'oidc', name: config.oidcName, provider: createOidcLogin(needs) },
  ] as const
  const providerOf = (id: string): LoginProvider => {
    const provider = ways.find((way) => way.id === id)?.provider
    if (!provider) throw new ServiceError('not_found', { message: 'No such login provider.' })
    return provider
  }
  const backToThePage = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    if (!(error instanceof LoginFailed)) throw error
    request.log.info({ ...requestMembers(request), code: error.code, reason: error.message }, 'a browser login failed')
    clearCookie(reply, loginCookie, loginCookieOptions(config))
    const page = new URL(error.redirectAfter, config.baseUrl)
    page.searchParams.set('error', error.code)
    void reply.redirect(page.pathname + page.search + page.hash)
  }

  http.get(
    '/v4/auth/providers',
    {
      config: { allow: 'anyone' },
      schema: { tags, summary: 'List login providers', response: { 200: LoginProvidersReply } },
    },
    () => ({
      providers: ways.map(({ id, name, provider }) => ({
        id,
        type: id,
        name,
        enabled: provider !== undefined,
        login_url: provider ? `${config.baseUrl.origin}/v4/auth/login/${id}` : null,
      })),
    }),
  )

  http.get(
    '/v4/auth/login/:id',
    {
      config: { allow: 'anyone' },
      exposeHeadRoute: false,
      errorHandler: backToThePage,
      schema: {
        tags,
        summary: 'Start a browser login',
        params: IdInPath,
        querystring: StartLoginQuery,
        response: { 302: Type.Null({ description: 'Redirect to the provider' }) },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.id)
      const redirectAfter = judgeRedirectAfter(request.query.redirect_after ?? '/', config.baseUrl)
      const wanted = { redirectAfter, address: request.ip }
      const begun = await withRedirectAfter(redirectAfter, () => beginBrowserLogin(needs, provider, wanted))
      setCookie(reply, loginCookie, begun.cookie.reveal(), loginCookieOptions(config))
      return reply.redirect(begun.authorizationUrl.href)
    },
  )

  http.get(
    '/v4/auth/callback/:id',
    {
      config: { allow: 'anyone' },
      exposeHeadRoute: false,
      errorHandler: backToThePage,
      schema: {
        tags,
        summary: 'Login callback: the provider redirects the browser here',
        params: IdInPath,
        querystring: CallbackQuery,
        response: {
          302: Type.Null({ description: 'Redirect to the page that was requested, with `error` if the login failed' }),
        },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.id)
      const answer = { cookie: onlyCookie(request, loginCookie), ...readCallback(request.url) }
      const { sessionToken, redirectAfter } = await endBrowserLogin(needs, provider, answer, request.id)
      const lasting = { ...sessionCookieOptions(config), maxAge: config.sessionSeconds }
      clearCookie(reply, loginCookie, loginCookieOptions(config))
      setCookie(reply, sessionCookie, sessionToken.reveal(), lasting)
      return reply.redirect(redirectAfter)
    },
  )
}
