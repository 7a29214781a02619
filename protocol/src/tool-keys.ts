import { Type, type Static } from 'typebox'
import { Nullable, RecordId, Strict, Timestamp } from './schema.ts'

export const maxGrantsPerKey = 20
export const maxKeySeconds = 86_400
export const defaultKeySeconds = 3600

export const CreateToolKeyBody = Strict({
  grant_ids: Type.Array(RecordId('grt'), {
    minItems: 1,
    maxItems: maxGrantsPerKey,
    uniqueItems: true,
    description: "Active grants of this agent on a person's accounts. The key reaches nothing else",
  }),
  expires_in_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: maxKeySeconds, default: defaultKeySeconds })),
})
export type CreateToolKeyBody = Static<typeof CreateToolKeyBody>

const members = {
  key_id: RecordId('key'),
  grant_ids: Type.Array(RecordId('grt')),
  created_at: Timestamp,
  expires_at: Timestamp,
}

export const CreateToolKeyReply = Type.Object({
  ...members,
  key: Type.String({ description: 'Begins with sp_key_. It is shown only once.' }),
})
export type CreateToolKeyReply = Static<typeof CreateToolKeyReply>

export const ToolKey = Type.Object({
  ...members,
  last_used_at: Nullable(Timestamp, { description: 'To within a minute' }),
})
export type ToolKey = Static<typeof ToolKey>

export const ToolKeyList = Type.Object({ keys: Type.Array(ToolKey) })
export type ToolKeyList = Static<typeof ToolKeyList>
