import { Type, type Static } from 'typebox'
import { Nullable } from './schema.ts'

export const Mail = Type.Object({
  available: Type.Boolean({ description: 'Whether this service sends e-mail' }),
  address: Nullable(Type.String({ description: 'Where it goes; null: you have no address here, and get none' })),
  on: Type.Boolean({ description: 'Whether you want e-mail about new requests and refused calls' }),
})
export type Mail = Static<typeof Mail>
