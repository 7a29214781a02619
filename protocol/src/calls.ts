/** Held calls: calls that wait for a person's decision, and approvals that repeat. */
import { Type, type Static } from 'typebox'
import { errorCodes } from './errors.ts'
import type { ErrorCode } from './errors.ts'
import { signedMembers, SigningDevice } from './devices.ts'
import { accessClasses } from './grant-terms.ts'
import { Page, pagingMembers } from './lists.ts'
import { AwsScope, ProxyReply } from './proxy.ts'
import { Dictionary, Nullable, Prose, RecordId, Strict, Text, Timestamp } from './schema.ts'

/**
 * `waiting` for a decision; `approved` and about to start; `running`; `done`: it was made, or could not be made any more
 * (`error`); `denied` by a person; `expired`: nobody decided in time; `cancelled` by its agent, or because its grant ended;
 * `unknown`: the service crashed while it ran.
 */
export const callStatuses = [
  'waiting',
  'approved',
  'running',
  'done',
  'denied',
  'expired',
  'cancelled',
  'unknown',
] as const
export type CallStatus = (typeof callStatuses)[number]

/** The answer to a call that waits (202). */
export const HeldReply = Type.Object({
  status: Type.Literal('waiting'),
  call_id: RecordId('cal'),
  approval_url: Type.String({ description: 'Where the person decides; show it to them' }),
  expires_at: Timestamp,
})
export type HeldReply = Static<typeof HeldReply>

/** A held call as its agent sees it. */
export const AgentCall = Type.Object({
  call_id: RecordId('cal'),
  status: Type.Enum(callStatuses),
  approval_url: Type.String(),
  grant_id: RecordId('grt'),
  method: Type.String(),
  url: Type.String(),
  access: Type.Enum(accessClasses),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Nullable(Timestamp),
  denial_reason: Nullable(Type.String({ description: 'What the person said, for a denied call' })),
  response: Nullable(ProxyReply, {
    description: 'For a call that is done, during one hour: the same as the response of POST /v4/proxy',
  }),
  error: Nullable(
    Type.Object({
      code: Type.Unsafe<ErrorCode>(Type.Union(errorCodes.map((code) => Type.Literal(code)))),
      message: Type.String(),
      status: Type.Integer({ description: 'The HTTP status that the call would have been answered with' }),
      retryable: Type.Boolean(),
    }),
    { description: 'For a call that is done without a response: the reason' },
  ),
})
export type AgentCall = Static<typeof AgentCall>

/**
 * Everything that a decision covers. A device signs the SHA-256 of its RFC 8785 form and computes it from what it shows.
 */
export const CallDescription = Type.Object({
  agent_id: RecordId('agt'),
  grant_id: RecordId('grt'),
  connection_id: Nullable(RecordId('con')),
  account: Nullable(Type.String()),
  method: Type.String(),
  url: Type.String(),
  headers: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
    description: 'Names and values as they will be sent, without the credential',
  }),
  adds: Type.Array(Type.String(), { description: 'Where the credential goes: `header authorization`, `query key`' }),
  aws: Nullable(AwsScope),
  body_sha256: Type.String({ description: 'base64url' }),
  body_length: Type.Integer(),
  access: Type.Enum(accessClasses),
})
export type CallDescription = Static<typeof CallDescription>

/** The body for people: formatted, redacted and cut after 32 KiB. */
export const ShownBody = Type.Object({
  kind: Type.Enum(['none', 'json', 'form', 'text', 'binary']),
  text: Type.String(),
  is_cut: Type.Boolean(),
})
export type ShownBody = Static<typeof ShownBody>

/** A held call as the person who decides sees it. */
export const PersonCall = Type.Object({
  call_id: RecordId('cal'),
  status: Type.Enum(callStatuses),
  agent: Type.Object({ agent_id: RecordId('agt'), name: Type.String({ description: 'Not verified' }) }),
  provider: Nullable(Type.String()),
  provider_name: Nullable(Type.String()),
  account_label: Nullable(Type.String()),
  access: Type.Enum(accessClasses),
  sentence: Nullable(Type.String({ description: "What the call does. null: it can't be summarised" })),
  details: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: 'What the sentence leaves out, such as all recipients',
  }),
  description: CallDescription,
  digest: Type.String({ description: 'base64url of the SHA-256 of the RFC 8785 form of description' }),
  body: ShownBody,
  reason: Nullable(Type.String({ description: "The agent's own words; not verified" })),
  term: Type.String({ description: 'The term of the grant that asks: `mode`, or `exceptions.0`' }),
  repeat: Nullable(
    Type.Object({ scope: Type.String({ description: 'What a repeated call must have in common with this one' }) }),
    { description: 'null: each such call has to be approved on its own' },
  ),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Nullable(Timestamp),
  decided_by: Nullable(RecordId('usr')),
  signed: Type.Boolean(),
  upstream_status: Nullable(Type.Integer({ description: 'For a call that was made' })),
})
export type PersonCall = Static<typeof PersonCall>

export const ListCallsQuery = Strict({
  ...pagingMembers('cal'),
  status: Type.Optional(Type.Enum(callStatuses)),
})
export type ListCallsQuery = Static<typeof ListCallsQuery>
export const PersonCallPage = Page('calls', PersonCall)
export type PersonCallPage = Static<typeof PersonCallPage>
export const AgentCallPage = Page('calls', AgentCall)
export type AgentCallPage = Static<typeof AgentCallPage>

export const repeatSeconds = [900, 3600] as const
const RepeatForSeconds = Type.Optional(
  Type.Union([Type.Literal(900), Type.Literal(3600)], {
    description: 'Also allows the same call again for this long, at most 50 times',
  }),
)
const Digest = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'The digest of the call as it was shown' })

export const CallChallengeBody = Type.Optional(Type.Object({ repeat_for_seconds: RepeatForSeconds }))
export const CallChallengeReply = Type.Object({
  challenge_id: RecordId('chl'),
  nonce: Type.String({
    description:
      'base64url; ends with the SHA-256 of the RFC 8785 form of the description with repeat_for_seconds (or null) added',
  }),
  expires_at: Timestamp,
  signing_input: Type.Object(
    { approve: Type.String(), deny: Type.String() },
    { description: 'svc-call.v1.{challenge_id}.{nonce}.{call_id}.{verdict}' },
  ),
})
export type CallChallengeReply = Static<typeof CallChallengeReply>

export const ApproveCallBody = Type.Optional(
  Strict({ digest: Type.Optional(Digest), repeat_for_seconds: RepeatForSeconds, ...signedMembers }),
)
export type ApproveCallBody = Static<typeof ApproveCallBody>
export const DenyCallBody = Type.Optional(
  Strict({ reason: Type.Optional(Prose({ maxLength: 1000, description: 'Shown to the agent' })), ...signedMembers }),
)
export type DenyCallBody = Static<typeof DenyCallBody>

/** Several calls at once: each by its digest, and with a signature of its own from a device. */
export const DecideCallsBody = Strict({
  decisions: Type.Array(
    Strict({
      call_id: Text({ maxLength: 100 }),
      digest: Digest,
      verdict: Type.Enum(['approve', 'deny']),
      ...signedMembers,
    }),
    { minItems: 1, maxItems: 50 },
  ),
})
export type DecideCallsBody = Static<typeof DecideCallsBody>
export const DecideCallsReply = Type.Object({
  results: Type.Array(
    Type.Object({
      call_id: Type.String(),
      status: Nullable(Type.Enum(callStatuses), { description: 'null: it was not decided' }),
      error: Nullable(
        Type.Object({
          code: Type.Unsafe<ErrorCode>(Type.Union(errorCodes.map((code) => Type.Literal(code)))),
          message: Type.String(),
        }),
      ),
    }),
  ),
})
export type DecideCallsReply = Static<typeof DecideCallsReply>

/** Calls that are allowed again without a question, because a person approved one of them so. */
export const Repeat = Type.Object({
  repeat_id: RecordId('rep'),
  agent: Type.Object({ agent_id: RecordId('agt'), name: Type.String() }),
  grant_id: RecordId('grt'),
  provider_name: Nullable(Type.String()),
  method: Type.String(),
  url: Type.String({ description: 'Without its query' }),
  scope: Type.String(),
  calls_left: Type.Integer(),
  created_at: Timestamp,
  expires_at: Timestamp,
})
export type Repeat = Static<typeof Repeat>
export const RepeatPage = Page('repeats', Repeat)
export type RepeatPage = Static<typeof RepeatPage>

/** Proves a decision on a call without the service. */
export const CallReceipt = Type.Object({
  call_id: RecordId('cal'),
  verdict: Type.Enum(['approve', 'deny']),
  signed: Type.Boolean(),
  signing_input: Nullable(Type.String()),
  signature: Nullable(Type.String({ description: 'ECDSA P-256 with SHA-256, DER in base64url' })),
  challenge: Nullable(Type.Object({ challenge_id: RecordId('chl'), nonce: Type.String() })),
  description: Type.Union([CallDescription, Dictionary(Type.Unknown())]),
  repeat_for_seconds: Nullable(Type.Integer()),
  device: Nullable(SigningDevice),
  decided_by: RecordId('usr'),
  decided_at: Timestamp,
})
export type CallReceipt = Static<typeof CallReceipt>
