import { Type, type Static } from 'typebox'
import { SigningDevice } from './devices.ts'
import { exceptionActions, grantModes, maxAccesses, termNames } from './grant-terms.ts'
import { Page, pagingMembers } from './lists.ts'
import { Dictionary, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const grantStatuses = ['active', 'revoked', 'expired'] as const

/** Calls that the mode does not apply to. Of several that match, the strictest counts: deny, then ask, then allow. */
export const GrantException = Strict({
  paths: Type.Array(Text({ minLength: 1, maxLength: 1024 }), {
    minItems: 1,
    maxItems: 50,
    description: 'As allowed_paths',
  }),
  methods: Type.Optional(
    Type.Array(Text({ minLength: 1, maxLength: 30 }), { minItems: 1, maxItems: 20, description: 'Default: any' }),
  ),
  action: Type.Enum(exceptionActions),
})
export type GrantException = Static<typeof GrantException>

export const GrantMode = Type.Enum(grantModes, {
  description: 'Which calls wait for a person: none, those that change something, or all',
})
export const MaxAccess = Type.Enum(maxAccesses, {
  description: 'read: calls that only read. write: also those that change something, but not destructive ones',
})

export const Exceptions = Type.Array(GrantException, { maxItems: 20 })

const ownTerms = {
  mode: GrantMode,
  exceptions: Exceptions,
  max_access: Nullable(MaxAccess),
}
const terms = {
  allowed_hosts: Type.Array(Type.String()),
  allowed_methods: Nullable(Type.Array(Type.String(), { description: 'null: any except TRACE and CONNECT' })),
  allowed_paths: Nullable(Type.Array(Type.String(), { description: 'null: any' })),
  max_calls: Nullable(Type.Integer({ description: 'null: no limit' })),
  expires_at: Nullable(Timestamp),
}

export const Grant = Type.Object({
  grant_id: RecordId('grt'),
  kind: Type.Enum(['sandbox', 'connection']),
  status: Type.Enum(grantStatuses, {
    description:
      'revoked also if the connection was revoked or the user disabled; expired also if the call limit was reached',
  }),
  agent: Type.Object({
    agent_id: RecordId('agt'),
    name: Type.String({ description: 'The name the agent registered with; not verified' }),
  }),
  provider: Nullable(
    Type.String({ description: "The provider's slug; null for the sandbox and for a deleted provider" }),
  ),
  provider_name: Nullable(Type.String()),
  connection_id: Nullable(RecordId('con')),
  account_label: Nullable(Type.String({ description: 'The account; shown only to its user' })),
  access_request_id: Nullable(RecordId('arq')),
  ...terms,
  ...ownTerms,
  calls: Type.Integer(),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  revoked_at: Nullable(
    Type.String({ format: 'date-time', description: 'null also if it ended with its connection or its user' }),
  ),
  revoked_by: Nullable(Type.Enum(['user', 'agent', 'sandbox'], { description: 'sandbox: replaced by a new sandbox' })),
  signed: Type.Boolean({ description: 'Whether a device signed the approval; the receipt shows what it signed' }),
})
export type Grant = Static<typeof Grant>

const Id = Text({ minLength: 1, maxLength: 100 })

const Cursor = Type.String({
  pattern: '^(?:active|ended)\\.[0-9]{1,15}\\.grt_[0-9a-hjkmnp-tv-z]{26}$',
  description: 'next_cursor of the previous page',
  examples: ['ended.1763380800000.grt_01k9x3v7qmf5v8t2w4y6z8abcd'],
})

export const ListGrantsQuery = Strict({
  ...pagingMembers('grt'),
  cursor: Type.Optional(Cursor),
  status: Type.Optional(Type.Enum(grantStatuses)),
  agent_id: Type.Optional(Id),
  connection_id: Type.Optional(Id),
})
export type ListGrantsQuery = Static<typeof ListGrantsQuery>
export const GrantPage = Page('grants', Grant)
export type GrantPage = Static<typeof GrantPage>

export const GrantUseReply = Type.Object({
  grant_id: RecordId('grt'),
  since: Timestamp,
  complete_since: Nullable(Timestamp, { description: 'Only calls since then are included. null: all since `since`' }),
  calls: Type.Integer({ description: 'Calls that were made' }),
  methods: Type.Array(Type.String()),
  hosts: Type.Array(Type.String()),
  paths: Nullable(Type.Array(Type.String(), { description: 'Patterns that cover all paths; null: too many' })),
  suggestion: Nullable(
    Type.Object(
      {
        allowed_hosts: Type.Optional(Type.Array(Type.String())),
        allowed_methods: Type.Optional(Type.Array(Type.String())),
        allowed_paths: Type.Optional(Type.Array(Type.String())),
      },
      { description: 'A change of the grant that would have allowed all of these calls; null: it fits already' },
    ),
  ),
})
export type GrantUseReply = Static<typeof GrantUseReply>

/** Proves that a user approved a grant. Can be verified without the service. */
export const Receipt = Type.Object({
  grant_id: RecordId('grt'),
  access_request_id: RecordId('arq'),
  verdict: Type.Literal('approve'),
  signed: Type.Boolean({ description: 'Whether a device signed the approval' }),
  scope_signed: Type.Boolean({ description: 'Whether the signature covers the terms too, not only the approval' }),
  signing_input: Nullable(Type.String({ description: 'The text that was signed' })),
  signature: Nullable(Type.String({ description: 'ECDSA P-256 with SHA-256, DER in base64url' })),
  challenge: Nullable(Type.Object({ challenge_id: RecordId('chl'), nonce: Type.String() })),
  decision: Nullable(
    Dictionary(Type.Unknown(), {
      description: 'As the device sent it; the second half of the nonce is the SHA-256 of its RFC 8785 form',
    }),
  ),
  device: Nullable(SigningDevice),
  approved_by: RecordId('usr'),
  approved_at: Timestamp,
  grant: Type.Object(
    { connection_id: RecordId('con'), ...terms, ...Type.Partial(Type.Object(ownTerms)).properties },
    {
      description:
        'The terms of the grant now: those that were approved, or narrower ones. An older receipt has no mode, exceptions and max_access: all calls were allowed.',
    },
  ),
  unsigned: Type.Array(Type.Enum(termNames), {
    description: 'Terms that the signature does not cover, because the decision did not include them',
  }),
})
export type Receipt = Static<typeof Receipt>
