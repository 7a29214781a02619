import { StartConnectBody, StartConnectReply, waitingCookie } from '@sallyport/protocol/connections'
import { Slug } from '@sallyport/protocol/providers'
import { CallbackQuery, Strict } from '@sallyport/protocol/schema'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import type { Http } from '../platform/http/http.ts'
import { clearCookie, onlyCookie, setCookie } from '../platform/http/cookies.ts'
import { readCallback } from '../platform/oauth/callback.ts'
import { Secret } from '../platform/secret.ts'
import { isWellFormedToken } from '../platform/tokens.ts'
import { sessionCookieOptions } from '../sessions/session-cookies.ts'
import { connectFlowSeconds } from './connect-flow.ts'
import { receiveAnswer, resumeConnect } from './finish-connect.ts'
import type { FinishConnectNeeds, Landing } from './finish-connect.ts'
import { startConnect } from './start-connect.ts'
import type { StartConnectNeeds } from './start-connect.ts'

const tags = ['Connections']

export function connectRoutes(http: Http, needs: StartConnectNeeds & FinishConnectNeeds): void {
  const cookie = { ...sessionCookieOptions(needs.config), path: '/v4/oauth' }

  http.post(
    '/v4/oauth/connect/start',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Start connecting an account; open the URL in a browser',
        body: StartConnectBody,
        response: { 200: StartConnectReply },
      },
    },
    async (request) => {
      const { body } = request
      const { authorizationUrl, warning, expiresAt } = await startConnect(
        onBehalfOf(request, needs),
        actingUser(request).user,
        {
          providerSlug: body.provider_slug,
          providerId: body.provider_id,
          scopes: body.scopes,
          connectionId: body.connection_id,
          redirectAfter: body.redirect_after,
        },
      )
      return { authorization_url: authorizationUrl, warning, expires_at: expiresAt.toISOString() }
    },
  )

  http.get(
    '/v4/oauth/callback/:slug',
    {
      // A response can be used only once: a HEAD request, as sent by link previews, must not consume it.
      exposeHeadRoute: false,
      config: { allow: 'anyone', recognises: ['user'] },
      schema: {
        tags,
        summary: 'OAuth callback: the provider redirects the browser here',
        params: Strict({ slug: Slug }),
        querystring: CallbackQuery,
        response: { 302: Type.Null({ description: 'Redirect to the console, with `connection_id` or `error`' }) },
      },
    },
    async (request, reply) => {
      const answer = { slug: request.params.slug, ...readCallback(request.url) }
      return land(reply, await receiveAnswer(onBehalfOf(request, needs), signedIn(request), answer, request.id))
    },
  )

  http.get(
    '/v4/oauth/resume',
    {
      exposeHeadRoute: false,
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Resume an OAuth callback after signing in',
        response: { 302: Type.Null({ description: 'Redirect to the console, with `connection_id` or `error`' }) },
      },
    },
    async (request, reply) => {
      const token = onlyCookie(request, waitingCookie)
      const waiting = token !== undefined && isWellFormedToken('connect', token) ? new Secret(token) : undefined
      const { user } = actingUser(request)
      return land(reply, await resumeConnect(onBehalfOf(request, needs), user, waiting, request.id))
    },
  )

  function land(reply: FastifyReply, { url, waiting }: Landing): FastifyReply {
    if (waiting) setCookie(reply, waitingCookie, waiting.reveal(), { ...cookie, maxAge: connectFlowSeconds })
    else clearCookie(reply, waitingCookie, cookie)
    return reply.header('referrer-policy', 'no-referrer').redirect(url, 302)
  }
}

function signedIn({ actor }: FastifyRequest) {
  return actor?.kind === 'user' ? actor.user : undefined
}
