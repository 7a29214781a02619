import { Type, type Static } from 'typebox'
import { termNames } from './grant-terms.ts'
import { Page, pagingMembers } from './lists.ts'
import { Dictionary, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const grantStatuses = ['active', 'revoked', 'expired'] as const

const terms = {
  allowed_hosts: Type.Array(Type.String()),
  allowed_methods: Nullable(Type.Array(Type.String(), { description: 'null: any but TRACE and CONNECT' })),
  allowed_paths: Nullable(Type.Array(Type.String(), { description: 'null: any' })),
  max_calls: Nullable(Type.Integer({ description: 'null: as many as it likes' })),
  expires_at: Nullable(Timestamp),
}

export const Grant = Type.Object({
  grant_id: RecordId('grt'),
  kind: Type.Enum(['sandbox', 'connection']),
  status: Type.Enum(grantStatuses, {
    description: 'revoked also once its connection is, or its user disabled; expired also once its calls are used up',
  }),
  agent: Type.Object({
    agent_id: RecordId('agt'),
    name: Type.String({ description: 'As the agent calls itself; nobody has verified it' }),
  }),
  provider: Nullable(Type.String({ description: "The provider's slug; null in the sandbox, and once it is deleted" })),
  provider_name: Nullable(Type.String()),
  connection_id: Nullable(RecordId('con')),
  account_label: Nullable(Type.String({ description: 'Whose account it is; shown to its user alone' })),
  access_request_id: Nullable(RecordId('arq')),
  ...terms,
  calls: Type.Integer(),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  revoked_at: Nullable(
    Type.String({ format: 'date-time', description: 'null also where it ended with its connection or its user' }),
  ),
  revoked_by: Nullable(Type.Enum(['user', 'agent', 'sandbox'], { description: 'sandbox: a new one took its place' })),
  signed: Type.Boolean({ description: 'Whether a device signed the approval; the receipt says what it signed' }),
})
export type Grant = Static<typeof Grant>

const Id = Text({ minLength: 1, maxLength: 100 })

const Cursor = Type.String({
  pattern: '^(?:active|ended)\\.[0-9]{1,15}\\.grt_[0-9a-hjkmnp-tv-z]{26}$',
  description: 'next_cursor of the page before',
  examples: ['ended.1763380800000.grt_01k9x3v7qmf5v8t2w4y6z8abcd'],
})

export const ListGrantsQuery = Strict({
  ...pagingMembers,
  cursor: Type.Optional(Cursor),
  status: Type.Optional(Type.Enum(grantStatuses)),
  agent_id: Type.Optional(Id),
  connection_id: Type.Optional(Id),
})
export type ListGrantsQuery = Static<typeof ListGrantsQuery>
export const GrantPage = Page('grants', Grant)
export type GrantPage = Static<typeof GrantPage>

/** What shows, without the service, that a person approved a grant. */
export const Receipt = Type.Object({
  grant_id: RecordId('grt'),
  access_request_id: RecordId('arq'),
  verdict: Type.Literal('approve'),
  signed: Type.Boolean({ description: 'Whether a device signed the approval' }),
  scope_signed: Type.Boolean({ description: 'Whether what it signed holds the terms too, not the yes alone' }),
  signing_input: Nullable(Type.String({ description: 'The text that was signed' })),
  signature: Nullable(Type.String({ description: 'ECDSA P-256 with SHA-256, DER in base64url' })),
  challenge: Nullable(Type.Object({ challenge_id: RecordId('chl'), nonce: Type.String() })),
  decision: Nullable(
    Dictionary(Type.Unknown(), {
      description: 'As the device sent it: the second half of the nonce is the SHA-256 of its RFC 8785 form',
    }),
  ),
  device: Nullable(
    Type.Object({
      device_id: RecordId('dev'),
      public_key_jwk: Type.Object({
        kty: Type.Literal('EC'),
        crv: Type.Literal('P-256'),
        x: Type.String(),
        y: Type.String(),
      }),
    }),
  ),
  approved_by: RecordId('usr'),
  approved_at: Timestamp,
  grant: Type.Object({ connection_id: RecordId('con'), ...terms }, { description: 'The terms as they were granted' }),
  unsigned: Type.Array(Type.Enum(termNames), {
    description: 'The terms that no signature covers, because the decision did not name them',
  }),
})
export type Receipt = Static<typeof Receipt>
