import { Type, type Static } from 'typebox'
import { Dictionary, RecordId, Strict, Text } from './schema.ts'

export const ProxyBody = Strict({
  grant_id: Text({ maxLength: 100 }),
  method: Type.String({ minLength: 1, maxLength: 20 }),
  url: Type.String({ minLength: 1, maxLength: 8192, description: 'An https URL that the grant covers' }),
  headers: Type.Optional(Dictionary(Type.String(), { maxProperties: 100 })),
  body: Type.Optional(Type.Unknown({ description: 'A string is sent as it is, anything else as JSON' })),
})
export type ProxyBody = Static<typeof ProxyBody>

export const ProxyReply = Type.Object({
  status: Type.Integer({ description: "The upstream's status" }),
  headers: Dictionary(Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.Unknown(),
  body_encoding: Type.Enum(['json', 'text', 'base64']),
  redactions: Type.Integer({ description: 'How often a credential was taken out of the answer' }),
  dropped_headers: Type.Array(Type.String(), { description: "The call's headers that were not sent on" }),
  audit_id: RecordId('aud'),
})
export type ProxyReply = Static<typeof ProxyReply>
