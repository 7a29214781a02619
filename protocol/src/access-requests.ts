import { Type, type Static } from 'typebox'
import { signedMembers } from './devices.ts'
import { Page, PageQuery } from './lists.ts'
import { Nullable, Prose, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const accessRequestStatuses = ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const

const Hosts = Type.Array(Text({ minLength: 1, maxLength: 300 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Host names, or *.name for all below it, each with an optional port',
})
const Methods = Type.Array(Text({ minLength: 1, maxLength: 30 }), {
  minItems: 1,
  maxItems: 20,
  description: 'HTTP methods, in upper or lower case; neither TRACE nor CONNECT',
})
const Paths = Type.Array(Text({ minLength: 1, maxLength: 1024 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Path prefixes by whole segments; a segment * stands for any one segment',
})
const MaxCalls = Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'How many calls at most' })
const WantedProvider = Text({
  minLength: 1,
  maxLength: 100,
  description: "The provider's slug. `sandbox` is approved at once and reaches the sandbox's echo only.",
})

export const CreateAccessRequestBody = Strict({
  provider: WantedProvider,
  hosts: Type.Optional(Hosts),
  methods: Type.Optional(Methods),
  paths: Type.Optional(Paths),
  max_calls: Type.Optional(MaxCalls),
  reason: Type.Optional(Prose({ maxLength: 1000, description: 'Shown to the person as it is, as your own words' })),
  user_id: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 254,
      description:
        'Who should decide: a user_id or an e-mail address. Where it means nobody here, whoever opens the link may.',
    }),
  ),
  callback_url: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 2000,
      description:
        'An https URL that is told of the answer, by a POST with event (access_request.approved or ' +
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
    name: Type.String({ description: 'As the agent calls itself; nobody has verified it' }),
    registered_at: Timestamp,
    registration: Nullable(
      Type.Object(
        {
          kind: Type.Enum(['self_registered', 'claims_owner']),
          claimed_owner: Nullable(Type.String({ description: 'Whom the agent says it belongs to, in its own words' })),
          claims_you: Type.Boolean({
            description: 'Whether that is your user_id or e-mail address; anyone can say so',
          }),
          verified: Type.Boolean({ description: 'Always false: anybody may register an agent, under any name' }),
        },
        { description: 'How the agent registered; shown to people alone' },
      ),
    ),
  }),
  history: Nullable(
    Type.Object(
      {
        grants: Type.Integer(),
        active_grants: Type.Integer({ description: 'Those of them that it can still use' }),
        calls: Type.Integer(),
        last_call_at: Nullable(Timestamp),
      },
      {
        description:
          'What you granted this agent before, and the calls it made with that, of your newest 1 000 grants; shown to ' +
          'people alone, while the request waits',
      },
    ),
  ),
  provider: Nullable(Type.String({ description: "The provider's slug, or `sandbox`; null once it is deleted" })),
  provider_name: Type.String(),
  verified: Type.Boolean({ description: 'Whether somebody who runs this service answers for the provider' }),
  api_hosts: Type.Array(Type.String(), { description: 'Where the provider’s tokens may go at all' }),
  hosts: Nullable(Hosts),
  methods: Nullable(Methods),
  paths: Nullable(Paths),
  max_calls: Nullable(MaxCalls),
  reason: Nullable(Type.String()),
  user_hint: Nullable(Type.String({ description: 'What user_id held when it was created' })),
  approval_url: Type.String({ description: 'Where the person decides; send them there' }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Nullable(Timestamp),
  approved_by: Nullable(RecordId('usr')),
  denial_reason: Nullable(Type.String({ description: 'For the agent and whoever denied it' })),
  grant_id: Nullable(RecordId('grt')),
  callback: Nullable(
    Type.Object(
      {
        status: Type.Enum(callbackStatuses),
        attempts: Type.Integer(),
        last_error: Nullable(Type.String({ description: 'A coarse code' })),
      },
      { description: 'How the callback fares; shown to the agent alone' },
    ),
  ),
}

export const AccessRequest = Type.Object(record)
export type AccessRequest = Static<typeof AccessRequest>

export const CreateAccessRequestReply = Type.Object({
  ...record,
  callback_secret: Type.Optional(
    Type.String({ description: 'Verifies the callback (Standard Webhooks). It is shown this once.' }),
  ),
})
export type CreateAccessRequestReply = Static<typeof CreateAccessRequestReply>

export const ListPendingQuery = PageQuery
export const AccessRequestPage = Page('access_requests', AccessRequest)
export type AccessRequestPage = Static<typeof AccessRequestPage>

/** What an approval says beyond yes. Each member can only narrow what was asked for. */
const decision = {
  allowed_hosts: Type.Optional(Hosts),
  allowed_methods: Type.Optional(Methods),
  allowed_paths: Type.Optional(Paths),
  max_calls: Type.Optional(MaxCalls),
  expires_at: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'When the grant ends (RFC 3339); without it, when it is revoked',
    }),
  ),
}
const ConnectionId = Text({ minLength: 1, maxLength: 100, description: 'The account: your own, at this provider' })

export const ApproveBody = Strict({ connection_id: ConnectionId, ...decision, ...signedMembers })
export type ApproveBody = Static<typeof ApproveBody>

/** Members that are not known here pass: the contract leaves them open. */
export const DenyBody = Type.Optional(
  Type.Object({
    reason: Type.Optional(Prose({ maxLength: 1000, description: 'Told to the agent' })),
    block: Type.Optional(
      Type.Boolean({ description: 'Never notify me of this agent again, nor list what it asks for' }),
    ),
    ...signedMembers,
  }),
)
export type DenyBody = Static<typeof DenyBody>

/** The decision that will be signed. Members that are not known here pass, and are not part of it. */
export const ChallengeBody = Type.Optional(Type.Object({ connection_id: Type.Optional(ConnectionId), ...decision }))
export type ChallengeBody = Static<typeof ChallengeBody>

export const ChallengeReply = Type.Object({
  challenge_id: RecordId('chl'),
  nonce: Type.String({
    description: 'base64url; ends with the SHA-256 of the decision in its RFC 8785 form, where the body held one',
  }),
  expires_at: Timestamp,
  signing_input: Type.Object(
    { approve: Type.String(), deny: Type.String() },
    {
      description:
        'What to sign for either verdict, by ECDSA P-256 over SHA-256: ' +
        'svc-approval.v1.{challenge_id}.{nonce}.{access_request_id}.{verdict}',
    },
  ),
})
export type ChallengeReply = Static<typeof ChallengeReply>

export const MutedAgent = Type.Object({
  agent_id: RecordId('agt'),
  name: Type.String(),
  muted_at: Timestamp,
  muted_until: Nullable(Type.String({ format: 'date-time', description: 'null: for good' })),
  blocked: Type.Boolean({ description: 'Muted for good' }),
})
export type MutedAgent = Static<typeof MutedAgent>
export const MutedAgentPage = Page('muted_agents', MutedAgent)
export type MutedAgentPage = Static<typeof MutedAgentPage>
