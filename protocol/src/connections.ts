import { Type, type Static } from 'typebox'
import { ListQuery, Page } from './lists.ts'
import { Scopes } from './providers.ts'
import { Dictionary, DisplayName, Nullable, RecordId, RedirectAfter, Strict, Text, Timestamp } from './schema.ts'

export const connectionStatuses = ['active', 'needs_reauth', 'revoked'] as const

export const Connection = Type.Object({
  connection_id: RecordId('con'),
  provider_id: RecordId('prv'),
  provider: Nullable(Type.String({ description: "The provider's slug; null for a deleted provider" })),
  provider_name: Type.String(),
  auth_method: Type.String({ description: "Which of the provider's auth_methods it uses" }),
  verified: Type.Boolean({ description: 'Whether an administrator set up the provider' }),
  account_label: Nullable(Type.String({ description: 'The account, as named by the provider' })),
  api_host: Nullable(
    Type.String({ description: 'The only host that its credential is sent to; null: any of the provider’s api_hosts' }),
  ),
  scopes: Type.Array(Type.String()),
  status: Type.Enum(connectionStatuses),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  expires_at: Nullable(Type.String({ format: 'date-time', description: 'When the current access token expires' })),
  renewable: Type.Boolean({ description: 'Whether the access token is refreshed automatically' }),
  revoked_at: Nullable(Timestamp),
  remote_revocation: Nullable(
    Type.Enum(['pending', 'done', 'unsupported', 'failed'], {
      description: 'After disconnecting: whether the provider has revoked the tokens too',
    }),
  ),
})
export type Connection = Static<typeof Connection>

const UserId = Type.Optional(Text({ maxLength: 100, description: 'Admin only: whose account it is' }))

export const ListConnectionsQuery = Strict({ ...ListQuery('con', connectionStatuses).properties, user_id: UserId })
export type ListConnectionsQuery = Static<typeof ListConnectionsQuery>
export const ConnectionPage = Page('connections', Connection)
export type ConnectionPage = Static<typeof ConnectionPage>

const Credential = Dictionary(Type.String({ maxLength: 20_000 }), {
  maxProperties: 20,
  description: "The members of the provider's auth_method, each a string. Never shown again",
})

export const CreateConnectionBody = Strict({
  provider_slug: Text({
    minLength: 1,
    maxLength: 100,
    description: 'Of a provider, or of a preset that is connectable',
  }),
  auth_method: Type.Optional(
    Text({ minLength: 1, maxLength: 40, description: 'Required if several methods take a credential' }),
  ),
  credential: Credential,
  label: Type.Optional(DisplayName({ minLength: 1, maxLength: 200 })),
  user_id: UserId,
})
export type CreateConnectionBody = Static<typeof CreateConnectionBody>

export const ReplaceCredentialBody = Strict({ credential: Credential, user_id: UserId })
export type ReplaceCredentialBody = Static<typeof ReplaceCredentialBody>

const which = {
  provider_slug: Type.Optional(Text({ minLength: 1, maxLength: 100 })),
  provider_id: Type.Optional(Text({ minLength: 1, maxLength: 100 })),
  scopes: Type.Optional(Scopes),
  connection_id: Type.Optional(Text({ maxLength: 100, description: 'One of your connections, to reconnect' })),
}

export const StartConnectBody = Strict({
  ...which,
  redirect_after: RedirectAfter,
})
export type StartConnectBody = Static<typeof StartConnectBody>

const warning = Nullable(
  Type.String({
    description: 'Show this before continuing: the provider is unverified. null for a verified provider',
  }),
)

export const StartConnectReply = Type.Object({
  authorization_url: Type.String({ description: 'Open it in the browser that is signed in to this service' }),
  warning,
  expires_at: Timestamp,
})
export type StartConnectReply = Static<typeof StartConnectReply>

/** Values of the `error` parameter that the browser returns with if no connection was made. */
export const connectErrorCodes = [
  'access_denied',
  'invalid_state',
  'wrong_user',
  'wrong_account',
  'invalid_response',
  'token_refused',
  'weak_token',
  'provider_unavailable',
  'provider_disabled',
  'provider_error',
] as const
export type ConnectErrorCode = (typeof connectErrorCodes)[number]

/** Cookie that lets the browser claim an OAuth response once its user has signed in. */
export const waitingCookie = 'svc_connect'

export const StartDeviceFlowBody = Strict(which)
export type StartDeviceFlowBody = Static<typeof StartDeviceFlowBody>

export const StartDeviceFlowReply = Type.Object({
  device_flow_id: RecordId('dfl'),
  user_code: Type.String(),
  verification_uri: Type.String(),
  verification_uri_complete: Nullable(Type.String()),
  warning,
  expires_at: Timestamp,
  interval: Type.Integer({ description: 'Seconds to wait between polls' }),
})
export type StartDeviceFlowReply = Static<typeof StartDeviceFlowReply>

export const PollDeviceFlowBody = Strict({ device_flow_id: Text({ maxLength: 100 }) })

export const deviceFlowStatuses = ['pending', 'slow_down', 'denied', 'expired', 'connected'] as const

export const PollDeviceFlowReply = Type.Object({
  status: Type.Enum(deviceFlowStatuses),
  interval: Type.Integer(),
  connection_id: Type.Optional(RecordId('con')),
})
export type PollDeviceFlowReply = Static<typeof PollDeviceFlowReply>
