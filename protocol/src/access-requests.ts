import { Type, type Static } from 'typebox'
import { Ability } from './abilities.ts'
import { signedMembers } from './devices.ts'
import { Exceptions, GrantMode, MaxAccess } from './grants.ts'
import { Page, PageQuery } from './lists.ts'
import { DisplayName, Nullable, Prose, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const accessRequestStatuses = ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const

const Hosts = Type.Array(Text({ minLength: 1, maxLength: 300 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Host names, or *.name for all subdomains, each with an optional port',
})
const Methods = Type.Array(Text({ minLength: 1, maxLength: 30 }), {
  minItems: 1,
  maxItems: 20,
  description: 'HTTP methods, in upper or lower case, except TRACE and CONNECT',
})
const Paths = Type.Array(Text({ minLength: 1, maxLength: 1024 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Path prefixes of whole segments; a segment * matches any one segment',
})
const MaxCalls = Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Call limit' })
const WantedProvider = Text({
  minLength: 1,
  maxLength: 100,
  description: "The provider's slug. `sandbox` is approved immediately and reaches only the sandbox's echo endpoint.",
})

export const CreateAccessRequestBody = Strict({
  provider: WantedProvider,
  hosts: Type.Optional(Hosts),
  methods: Type.Optional(Methods),
  paths: Type.Optional(Paths),
  max_calls: Type.Optional(MaxCalls),
  reason: Type.Optional(Prose({ maxLength: 1000, description: 'Shown to the person unchanged, as your own words' })),
  user_id: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 254,
      description:
        'Who should decide: a user_id or an email address. If it matches no user, any user who opens the link can decide.',
    }),
  ),
  callback_url: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 2000,
      description:
        'An https URL that is notified of the decision by a POST with event (access_request.approved or ' +
        'access_request.denied), access_request_id, status, grant_id, provider and agent_id',
    }),
  ),
})
export type CreateAccessRequestBody = Static<typeof CreateAccessRequestBody>

export const callbackStatuses = ['waiting', 'pending', 'delivered', 'failed'] as const

const record = {
  access_request_id: RecordId('arq'),
  status: Type.Enum(accessRequestStatuses),
  agent: Type.Object({
    agent_id: RecordId('agt'),
    name: Type.String({ description: 'The name the agent registered with; not verified' }),
    registered_at: Timestamp,
    registration: Nullable(
      Type.Object(
        {
          kind: Type.Enum(['self_registered', 'claims_owner']),
          claimed_owner: Nullable(Type.String({ description: 'The owner that the agent claims' })),
          claims_you: Type.Boolean({
            description: 'Whether that is your user_id or email address; any agent can claim it',
          }),
          verified: Type.Boolean({ description: 'Always false: anyone can register an agent under any name' }),
        },
        { description: 'How the agent registered; shown only to users' },
      ),
    ),
  }),
  history: Nullable(
    Type.Object(
      {
        grants: Type.Integer(),
        active_grants: Type.Integer({ description: 'How many of them are still active' }),
        calls: Type.Integer(),
        last_call_at: Nullable(Timestamp),
      },
      {
        description:
          'Your earlier grants to this agent and the calls it made with them, among your newest 1 000 grants; shown only to ' +
          'users while the request is pending',
      },
    ),
  ),
  provider: Nullable(Type.String({ description: "The provider's slug, or `sandbox`; null for a deleted provider" })),
  provider_name: Type.String(),
  verified: Type.Boolean({ description: 'Whether an administrator set up the provider' }),
  api_hosts: Type.Array(Type.String(), { description: 'All hosts that the provider’s tokens may be sent to' }),
  abilities: Type.Array(Ability, {
    description:
      'What calls to the provider’s API can do, in plain words, at the hosts of the request; shown only to users',
  }),
  hosts: Nullable(Hosts),
  methods: Nullable(Methods),
  paths: Nullable(Paths),
  max_calls: Nullable(MaxCalls),
  reason: Nullable(Type.String()),
  user_hint: Nullable(Type.String({ description: 'The user_id given when the request was created' })),
  approval_url: Type.String({ description: 'Where the person decides; send them there' }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Nullable(Timestamp),
  approved_by: Nullable(RecordId('usr')),
  denial_reason: Nullable(Type.String({ description: 'Shown to the agent and to the user who denied it' })),
  grant_id: Nullable(RecordId('grt')),
  callback: Nullable(
    Type.Object(
      {
        status: Type.Enum(callbackStatuses),
        attempts: Type.Integer(),
        last_error: Nullable(Type.String({ description: 'An error code' })),
      },
      { description: 'Delivery status of the callback; shown only to the agent' },
    ),
  ),
}

export const AccessRequest = Type.Object(record)
export type AccessRequest = Static<typeof AccessRequest>

export const CreateAccessRequestReply = Type.Object({
  ...record,
  callback_secret: Type.Optional(
    Type.String({ description: 'Secret to verify the callback with (Standard Webhooks). It is shown only once.' }),
  ),
})
export type CreateAccessRequestReply = Static<typeof CreateAccessRequestReply>

export const ListPendingQuery = PageQuery('arq')
export const AccessRequestPage = Page('access_requests', AccessRequest)
export type AccessRequestPage = Static<typeof AccessRequestPage>

const moment = { format: 'date-time', maxLength: 40 } as const

/** The terms of an approval. Each can only narrow the request, or is the person's alone to set. */
const decision = {
  allowed_hosts: Type.Optional(Hosts),
  allowed_methods: Type.Optional(Methods),
  allowed_paths: Type.Optional(Paths),
  max_calls: Type.Optional(MaxCalls),
  expires_at: Type.Optional(
    Type.String({ ...moment, description: 'When the grant expires (RFC 3339). Default: never, until it is revoked' }),
  ),
  mode: Type.Optional(GrantMode),
  exceptions: Type.Optional(Exceptions),
  max_access: Type.Optional(MaxAccess),
}
const ConnectionId = Text({ minLength: 1, maxLength: 100, description: 'Your account with this provider' })

/** Changes of a grant. Absent members stay as they are. */
const change = {
  allowed_hosts: Type.Optional(Nullable(Hosts, { description: 'null: as in an approval that names none' })),
  allowed_methods: Type.Optional(Nullable(Methods, { description: 'null: all that were requested' })),
  allowed_paths: Type.Optional(Nullable(Paths, { description: 'null: all that were requested' })),
  max_calls: Type.Optional(
    Nullable(MaxCalls, { description: 'Counts the calls made so far. null: the limit that was requested, if any' }),
  ),
  expires_at: Type.Optional(Nullable(Type.String(moment), { description: 'null: never, until it is revoked' })),
  mode: Type.Optional(GrantMode),
  exceptions: Type.Optional(Exceptions),
  max_access: Type.Optional(Nullable(MaxAccess, { description: 'null: any' })),
}

export const ChangeGrantBody = Strict({ ...change, ...signedMembers })
export type ChangeGrantBody = Static<typeof ChangeGrantBody>

/** The change to be signed. */
export const GrantChallengeBody = Strict(change)
export type GrantChallengeBody = Static<typeof GrantChallengeBody>

export const GrantChallengeReply = Type.Object({
  challenge_id: RecordId('chl'),
  nonce: Type.String({ description: 'base64url; ends with the SHA-256 of the change in its RFC 8785 form' }),
  expires_at: Timestamp,
  access_request_id: RecordId('arq'),
  signing_input: Type.String({
    description:
      'What to sign, with ECDSA P-256 and SHA-256: an approval of the request that the grant came from, ' +
      'svc-approval.v1.{challenge_id}.{nonce}.{access_request_id}.approve',
  }),
})
export type GrantChallengeReply = Static<typeof GrantChallengeReply>

export const ApproveBody = Strict({ connection_id: ConnectionId, ...decision, ...signedMembers })
export type ApproveBody = Static<typeof ApproveBody>

/** Unknown members are allowed, as the spec leaves them open. */
export const DenyBody = Type.Optional(
  Type.Object({
    reason: Type.Optional(Prose({ maxLength: 1000, description: 'Shown to the agent' })),
    block: Type.Optional(
      Type.Boolean({ description: 'Never notify me about this agent again, and do not list its requests' }),
    ),
    ...signedMembers,
  }),
)
export type DenyBody = Static<typeof DenyBody>

/** The decision to be signed. Unknown members are allowed and ignored. */
export const ChallengeBody = Type.Optional(Type.Object({ connection_id: Type.Optional(ConnectionId), ...decision }))
export type ChallengeBody = Static<typeof ChallengeBody>

export const ChallengeReply = Type.Object({
  challenge_id: RecordId('chl'),
  nonce: Type.String({
    description: 'base64url; ends with the SHA-256 of the decision in its RFC 8785 form, if the body contained one',
  }),
  expires_at: Timestamp,
  signing_input: Type.Object(
    { approve: Type.String(), deny: Type.String() },
    {
      description:
        'What to sign for each verdict, with ECDSA P-256 and SHA-256: ' +
        'svc-approval.v1.{challenge_id}.{nonce}.{access_request_id}.{verdict}',
    },
  ),
})
export type ChallengeReply = Static<typeof ChallengeReply>

export const MutedAgent = Type.Object({
  agent_id: RecordId('agt'),
  name: Type.String(),
  muted_at: Timestamp,
  muted_until: Nullable(Type.String({ format: 'date-time', description: 'null: permanently' })),
  blocked: Type.Boolean({ description: 'Muted permanently' }),
})
export type MutedAgent = Static<typeof MutedAgent>
export const MutedAgentPage = Page('muted_agents', MutedAgent)
export type MutedAgentPage = Static<typeof MutedAgentPage>

const ownName = DisplayName({ minLength: 1, maxLength: 100, description: 'What you call the agent. Only you see it.' })
export const AgentName = Type.Object({ agent_id: RecordId('agt'), name: ownName })
export type AgentName = Static<typeof AgentName>
export const AgentNameBody = Strict({ name: ownName })
export type AgentNameBody = Static<typeof AgentNameBody>
export const AgentNamePage = Page('agent_names', AgentName)
export type AgentNamePage = Static<typeof AgentNamePage>
