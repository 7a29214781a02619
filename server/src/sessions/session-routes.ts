import {
  CreateLoginTokenBody,
  CreateLoginTokenReply,
  ListSessionsQuery,
  LoginBody,
  LoginPreviewReply,
  LoginReply,
  LogoutAllReply,
  Session as SessionView,
  sessionCookie,
  SessionPage,
} from '@sallyport/protocol/sessions'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { Static } from 'typebox'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import { clearCookie, setCookie } from '../platform/http/cookies.ts'
import type { Http } from '../platform/http/http.ts'
import { endSessions } from './end-sessions.ts'
import type { EndSessionsNeeds } from './end-sessions.ts'
import { issueLoginToken, loginUrl } from './issue-login-token.ts'
import type { IssueLoginTokenNeeds, LoginTokenFor } from './issue-login-token.ts'
import { logIn, previewLogin } from './log-in.ts'
import type { LogInNeeds } from './log-in.ts'
import { sessionEnds, statusOf } from './session.ts'
import type { Session, SessionEnds } from './session.ts'
import { sessionCookieOptions } from './session-cookies.ts'
import { userView } from './user-routes.ts'

const tags = ['Sessions']

export function sessionRoutes(http: Http, needs: IssueLoginTokenNeeds & LogInNeeds & EndSessionsNeeds): void {
  const { config, database, sessions, clock } = needs
  const cookie = sessionCookieOptions(config)
  const ends = () => sessionEnds(config.sessionIdleSeconds, clock())
  const view = (session: Session, current: Session) => sessionView(session, current, ends())

  http.post(
    '/v4/auth/login-tokens',
    {
      config: { allow: ['admin'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Issue a one-time login token',
        body: CreateLoginTokenBody,
        response: { 201: CreateLoginTokenReply },
      },
    },
    async ({ body, id }, reply) => {
      const options = { lifetimeSeconds: body.ttl_seconds, requestId: id }
      const { loginToken, expiresAt, userId } = await issueLoginToken(needs, whom(body), options)
      return reply.code(201).send({
        login_token: loginToken.reveal(),
        login_url: loginUrl(config, loginToken).reveal(),
        expires_at: expiresAt.toISOString(),
        user_id: userId,
      })
    },
  )

  http.post(
    '/v4/auth/login/preview',
    {
      config: { allow: 'anyone', startsSession: true, worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Preview a login token without using it',
        body: LoginBody,
        response: { 200: LoginPreviewReply },
      },
    },
    async ({ body }) => {
      const { user, expiresAt } = await previewLogin(needs, body.login_token)
      return { user: userView(user), expires_at: expiresAt.toISOString() }
    },
  )

  http.post(
    '/v4/auth/login',
    {
      config: { allow: 'anyone', startsSession: true, worksOnFullDisk: true },
      schema: { tags, summary: 'Start a session', body: LoginBody, response: { 200: LoginReply } },
    },
    async ({ body, id }, reply) => {
      const { user, session, sessionToken } = await logIn(needs, body.login_token, id)
      setCookie(reply, sessionCookie, sessionToken.reveal(), { ...cookie, maxAge: config.sessionSeconds })
      return {
        user: userView(user),
        session_token: sessionToken.reveal(),
        expires_at: session.expiresAt.toISOString(),
      }
    },
  )

  http.post(
    '/v4/auth/logout',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: { tags, summary: 'Sign out of this session', body: NoBody, response: { 200: SessionView } },
    },
    async (request, reply) => {
      const { user, session } = actingUser(request)
      const [ended = session] = await endSessions(onBehalfOf(request, needs), user, session, request.id)
      clearCookie(reply, sessionCookie, cookie)
      return view(ended, session)
    },
  )

  http.post(
    '/v4/auth/logout-all',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: { tags, summary: 'Sign out of all sessions', body: NoBody, response: { 200: LogoutAllReply } },
    },
    async (request, reply) => {
      const ended = await endSessions(onBehalfOf(request, needs), actingUser(request).user, 'all', request.id)
      clearCookie(reply, sessionCookie, cookie)
      return { revoked: ended.length }
    },
  )

  http.get(
    '/v4/auth/sessions',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'List your sessions',
        querystring: ListSessionsQuery,
        response: { 200: SessionPage },
      },
    },
    async (request) => {
      const { user, session } = actingUser(request)
      const page = await sessions.listOfUser(database.queries, user.userId, pageRequest(request.query), ends())
      return { sessions: page.records.map((one) => view(one, session)), next_cursor: page.nextCursor }
    },
  )

  http.delete(
    '/v4/auth/sessions/:id',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: { tags, summary: 'End one of your sessions', params: IdInPath, response: { 200: SessionView } },
    },
    async (request) => {
      const { user, session } = actingUser(request)
      const [ended] = await endSessions(onBehalfOf(request, needs), user, { sessionId: request.params.id }, request.id)
      const found = ended ?? (await sessions.findOfUser(database.queries, user.userId, request.params.id))
      if (!found) throw new ServiceError('not_found')
      return view(found, session)
    },
  )
}

export function sessionView(session: Session, current: Session, ends: SessionEnds): Static<typeof SessionView> {
  return {
    session_id: session.sessionId,
    status: statusOf(session, ends),
    created_at: session.createdAt.toISOString(),
    last_seen_at: session.lastSeenAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    revoked_at: session.revokedAt?.toISOString() ?? null,
    current: session.sessionId === current.sessionId,
  }
}

function whom(body: Static<typeof CreateLoginTokenBody>): LoginTokenFor {
  const { user_id: userId, email, name } = body
  if (userId !== undefined && (email ?? name) !== undefined) {
    const field = email === undefined ? 'name' : 'email'
    throw new ServiceError('invalid_field', {
      field,
      message: `"${field}" is for a new user, "user_id" for an existing one. Use only one of them.`,
    })
  }
  if (userId !== undefined) return { userId }
  return email === undefined ? { name } : { email, name }
}
