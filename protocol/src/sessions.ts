import { Type, type Static } from 'typebox'
import { Device, signedMembers } from './devices.ts'
import { ListQuery, Page, SearchQuery } from './lists.ts'
import { DisplayName, Nullable, RecordId, RedirectAfter, Strict, Text, Timestamp } from './schema.ts'

export const sessionCookie = 'svc_session'

/** Cookie that binds a login in progress to the browser that started it. */
export const loginCookie = 'svc_login'

export const userStatuses = ['active', 'disabled'] as const

export const User = Type.Object({
  user_id: RecordId('usr'),
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  status: Type.Enum(userStatuses),
  created_at: Timestamp,
  disabled_at: Nullable(Timestamp),
  require_device_approval: Type.Boolean({
    description: "Whether one of the user's devices has to sign each approval",
  }),
})
export type User = Static<typeof User>

export const sessionStatuses = ['active', 'expired', 'revoked'] as const

export const Session = Type.Object({
  session_id: RecordId('ses'),
  status: Type.Enum(sessionStatuses),
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
  revoked_at: Nullable(Timestamp),
  current: Type.Boolean({ description: 'Whether this is the session making the request' }),
})
export type Session = Static<typeof Session>

const Email = Type.String({ format: 'email', maxLength: 254 })

export const CreateLoginTokenBody = Type.Optional(
  Strict({
    user_id: Type.Optional(Text({ maxLength: 100 })),
    email: Type.Optional(Email),
    name: Type.Optional(DisplayName({ minLength: 1, maxLength: 200 })),
    ttl_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  }),
)
export type CreateLoginTokenBody = Static<typeof CreateLoginTokenBody>

export const CreateLoginTokenReply = Type.Object({
  login_token: Type.String(),
  login_url: Type.String({ description: 'The sign-in page with the token in the URL fragment' }),
  expires_at: Timestamp,
  user_id: RecordId('usr'),
})
export type CreateLoginTokenReply = Static<typeof CreateLoginTokenReply>

export const LoginBody = Strict({ login_token: Type.String({ maxLength: 200 }) })

export const LoginPreviewReply = Type.Object({ user: User, expires_at: Timestamp })
export type LoginPreviewReply = Static<typeof LoginPreviewReply>

export const LoginReply = Type.Object({
  user: User,
  session_token: Type.String({ description: 'The same session as the cookie. It is shown only once.' }),
  expires_at: Timestamp,
})
export type LoginReply = Static<typeof LoginReply>

export const MeReply = Type.Object({
  user: User,
  session: Nullable(Session),
  operator: Type.Boolean({
    description: 'Whether this session may act as the operator: it began with the link of a service on its own machine',
  }),
  device: Nullable(
    Type.Object(Device.properties, { description: 'Set if a device makes the request; a device has no other session' }),
  ),
})
export type MeReply = Static<typeof MeReply>

export const ChangeMeBody = Strict({
  require_device_approval: Type.Boolean({
    description: 'Turning it off requires a signature of "off" by an enrolled device',
  }),
  ...signedMembers,
})
export type ChangeMeBody = Static<typeof ChangeMeBody>

export const LogoutAllReply = Type.Object({
  revoked: Type.Integer({ description: 'Number of sessions that were ended' }),
})
export type LogoutAllReply = Static<typeof LogoutAllReply>

export const ListSessionsQuery = ListQuery('ses', sessionStatuses)
export type ListSessionsQuery = Static<typeof ListSessionsQuery>
export const SessionPage = Page('sessions', Session)
export type SessionPage = Static<typeof SessionPage>
export const ListUsersQuery = SearchQuery('usr', userStatuses, 'the name, the email address or the id')
export type ListUsersQuery = Static<typeof ListUsersQuery>
export const ListedUser = Type.Object({
  ...User.properties,
  active_grants: Type.Integer({
    description: 'Grants that have not ended. Those of a disabled user work again once the user is enabled',
  }),
  last_seen_at: Nullable(
    Type.String({
      format: 'date-time',
      description: "Last activity in the user's newest session; null after a month without one",
    }),
  ),
})
export type ListedUser = Static<typeof ListedUser>
export const UserPage = Page('users', ListedUser)
export type UserPage = Static<typeof UserPage>

export const loginProviderIds = ['github', 'oidc'] as const

export const LoginProvidersReply = Type.Object({
  providers: Type.Array(
    Type.Object({
      id: Type.Enum(loginProviderIds),
      type: Type.Enum(loginProviderIds),
      name: Type.String(),
      enabled: Type.Boolean(),
      login_url: Nullable(Type.String({ description: 'Where a browser starts to sign in; null if it is disabled' })),
    }),
  ),
})
export type LoginProvidersReply = Static<typeof LoginProvidersReply>

export const StartLoginQuery = Strict({ redirect_after: RedirectAfter })

/** Values of `/?error=` after a failed browser login. */
export const loginErrorCodes = [
  'access_denied',
  'invalid_state',
  'invalid_response',
  'not_invited',
  'user_disabled',
  'provider_unavailable',
  'provider_error',
] as const
export type LoginErrorCode = (typeof loginErrorCodes)[number]
